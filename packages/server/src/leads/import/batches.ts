import type { ParsedLine } from './line.ts';
import type { Sleep } from './sleep.ts';

/**
 * Large enough that many leads share the cost of a commit, small enough that no poll waits long for its lock: a tenth of a
 * second or two, for the largest. Those come only in an import that has come far, so that whoever stops it loses little.
 */
const MIN_BATCH_LINES = 1000;
const MAX_BATCH_LINES = 4000;
/** A batch is no larger than this part of what came before it. */
const GROWTH = 0.1;
/** Bounds the memory of a batch whose lines are all long. */
const MAX_BATCH_BYTES = 8 * 1024 * 1024;
/** Lines from a pipe that has been silent for so long are not kept waiting until their batch is full. */
const MAX_SILENCE_MS = 100;

type Lines = readonly ParsedLine[];

/** A reason of its own spares the stack that an abort would else have. */
const ARRIVED = 'arrived';

async function unlessSilent<T>(next: Promise<T>, sleep: Sleep): Promise<T | undefined> {
  const arrived = new AbortController();
  try {
    return await Promise.race([next, sleep(MAX_SILENCE_MS, arrived.signal).then(() => undefined)]);
  } finally {
    arrived.abort(ARRIVED);
  }
}

/** The lines as they arrive, and undefined each time the input falls silent. */
async function* withSilences(lines: AsyncIterable<Lines>, sleep: Sleep): AsyncGenerator<Lines | undefined> {
  const input = lines[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = input.next();
      let arrival = await unlessSilent(next, sleep);
      if (arrival === undefined) {
        yield undefined;
        arrival = await next;
      }
      if (arrival.done) return;
      yield arrival.value;
    }
  } finally {
    // Not awaited: an input that is being waited for would answer only with its next line.
    input.return?.().catch(() => {});
  }
}

class Batch {
  readonly lines: ParsedLine[] = [];
  readonly #maxLines: number;
  #bytes = 0;

  constructor(linesBefore: number) {
    const thousands = Math.floor((linesBefore * GROWTH) / MIN_BATCH_LINES);
    this.#maxLines = Math.min(Math.max(thousands, 1) * MIN_BATCH_LINES, MAX_BATCH_LINES);
  }

  add(line: ParsedLine): void {
    this.lines.push(line);
    this.#bytes += line.raw?.length ?? 0;
  }

  get isFull(): boolean {
    return this.lines.length >= this.#maxLines || this.#bytes >= MAX_BATCH_BYTES;
  }
}

/**
 * Gathers lines into batches. A batch ends when it is full, when the input falls silent, and when it ends. Once the
 * signal has fired, what was gathered is the last batch; an input that is still waiting then is expected to throw.
 */
export async function* inBatches(
  lines: AsyncIterable<Lines>,
  sleep: Sleep,
  signal: AbortSignal,
): AsyncGenerator<Lines> {
  let batch = new Batch(0);
  let linesBefore = 0;
  const next = () => {
    linesBefore += batch.lines.length;
    batch = new Batch(linesBefore);
  };
  try {
    for await (const arrived of withSilences(lines, sleep)) {
      for (const line of arrived ?? []) {
        batch.add(line);
        if (!batch.isFull) continue;
        yield batch.lines;
        next();
      }
      if (signal.aborted) break;
      if (arrived !== undefined || batch.lines.length === 0) continue;
      yield batch.lines;
      next();
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  if (batch.lines.length > 0) yield batch.lines;
}

/**
 * The same batches, each of them gathered while whoever asked for the one before still works on that. What goes wrong
 * while one is gathered is told when it is asked for.
 */
export async function* oneAhead<T>(batches: AsyncIterable<T>): AsyncGenerator<T> {
  const input = batches[Symbol.asyncIterator]();
  try {
    let next = input.next();
    for (;;) {
      const { done, value } = await next;
      if (done) return;
      next = input.next();
      next.catch(() => undefined);
      yield value;
    }
  } finally {
    // Not awaited: an input that is being waited for would answer only with its next line.
    input.return?.()?.catch(() => undefined);
  }
}
