/** Splits the lines of an import into batches. Each batch is written in one transaction. */
import { setTimeout } from 'node:timers/promises';
import type { ParsedLine } from './input-line.ts';

/** Large enough that many leads share the cost of a commit, small enough that a poll does not wait long for its lock. */
const MAX_BATCH_LINES = 1000;
/** Bounds the memory of a batch of long lines. */
const MAX_BATCH_BYTES = 8 * 1024 * 1024;
/** If a pipe pauses for longer, its lines are written before the batch is full. */
const MAX_PAUSE_MS = 100;

/** Resolves after the time, or when the signal aborts. Never rejects. */
export type Sleep = (ms: number, signal: AbortSignal) => Promise<void>;

export const systemSleep: Sleep = (ms, signal) =>
  setTimeout(ms, undefined, { signal }).catch(() => undefined);

type Lines = readonly ParsedLine[];

async function isPaused(next: Promise<unknown>, sleep: Sleep): Promise<boolean> {
  const arrived = new AbortController();
  const pause = sleep(MAX_PAUSE_MS, arrived.signal).then(() => true);
  try {
    return await Promise.race([next.then(() => false), pause]);
  } finally {
    arrived.abort();
  }
}

/**
 * A batch ends when it is full, when the input pauses, and at the end of the input. After an abort, the lines read so far
 * are the last batch; an input that is waiting for data must reject then.
 */
export async function* splitIntoBatches(
  lines: AsyncIterable<Lines>,
  sleep: Sleep,
  signal: AbortSignal,
): AsyncGenerator<Lines> {
  const input = lines[Symbol.asyncIterator]();
  let batch: ParsedLine[] = [];
  let bytes = 0;
  const takeBatch = (): Lines => {
    const full = batch;
    batch = [];
    bytes = 0;
    return full;
  };
  try {
    while (!signal.aborted) {
      const next = input.next();
      if (batch.length > 0 && (await isPaused(next, sleep))) yield takeBatch();
      const { done, value } = await next;
      if (done) break;
      for (const line of value) {
        batch.push(line);
        bytes += line.raw?.length ?? 0;
        if (batch.length >= MAX_BATCH_LINES || bytes >= MAX_BATCH_BYTES) yield takeBatch();
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    // Not awaited: an input that is waiting for data would answer only with its next line.
    input.return?.().catch(() => undefined);
  }
  if (batch.length > 0) yield batch;
}
