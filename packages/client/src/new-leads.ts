import {
  type Checkpoint,
  type CheckpointStore,
  isCheckpoint,
  memoryCheckpoint,
  Position,
} from './checkpoint.ts';
import { type Lead, MAX_LEADS_PER_PAGE } from './contract.ts';
import { LeadtapError } from './errors.ts';
import {
  type Connection,
  type ConnectionOptions,
  readConnection,
  readDuration,
  readSince,
} from './options.ts';
import { Pace } from './pace.ts';
import type { Page } from './page.ts';
import { type PollRequest, sendPoll } from './send-poll.ts';

export interface NewLeadsOptions extends ConnectionOptions {
  /**
   * Where to begin when there is no checkpoint yet: leads created after it. Default: now, which is
   * behind the newest lead that the service has when the first answer is made.
   */
  readonly since?: string | Date | undefined;
  /** Where to remember which leads were taken. Default: in memory. */
  readonly checkpoint?: CheckpointStore | undefined;
  /** Ends the loop after the current lead was taken. */
  readonly signal?: AbortSignal | undefined;
  /** How long to wait when no more leads are there. Default: 2 minutes, as the service recommends. */
  readonly intervalMs?: number | undefined;
  /** Called for every request that failed and will be retried, with the wait before the retry. */
  readonly onRetry?: ((error: LeadtapError, waitMs: number) => void) | undefined;
}

interface Following {
  readonly connection: Connection;
  readonly store: CheckpointStore;
  readonly since: string | undefined;
  readonly signal: AbortSignal;
  readonly intervalMs: number;
  readonly onRetry: (error: LeadtapError, waitMs: number) => void;
}

/** The request that the last page answered. */
interface Answered {
  readonly since: string | undefined;
  readonly etag: string | undefined;
}

/**
 * Every new lead, once, oldest first, for ever.
 *
 * ```js
 * for await (const lead of newLeads({ baseUrl, token, checkpoint: fileCheckpoint('leads.json') })) {
 *   await handle(lead);
 * }
 * ```
 *
 * A lead is taken when the loop asks for the next one; then the checkpoint is saved. A consumer that leaves the loop by
 * `break`, `return` or an error has not taken its current lead: that one is delivered again. End the loop with `signal`.
 */
export function newLeads(options: NewLeadsOptions): AsyncGenerator<Lead, void, undefined> {
  return follow({
    connection: readConnection(options),
    store: options.checkpoint ?? memoryCheckpoint(),
    since: readSince(options.since),
    signal: options.signal ?? new AbortController().signal,
    intervalMs: readDuration('intervalMs', options.intervalMs, 120_000),
    onRetry: options.onRetry ?? (() => undefined),
  });
}

async function* follow(following: Following): AsyncGenerator<Lead, void, undefined> {
  const { connection, store, signal, intervalMs } = following;
  const loaded = await loadCheckpoint(store);
  const position = new Position(loaded, following.since);
  const pace = new Pace(intervalMs, connection.environment, Date.parse(loaded?.notBefore ?? '') || 0);
  const save = async () => {
    const checkpoint = position.checkpoint(pace.notBefore());
    if (checkpoint) await store.save(checkpoint);
  };
  let last: Answered | undefined;
  while (await isDue(pace, following)) {
    const { since } = position;
    const page = await nextPage(following, pace, position, last);
    // What the service asked for holds for the next run too.
    if (pace.notBefore() !== undefined) await save();
    if (!page) continue;
    last = { since, etag: page.etag };
    if (since === undefined) {
      position.startAfter(page);
      await save();
      continue;
    }
    for (const lead of page.leads) {
      if (!position.isNew(lead)) continue;
      yield lead;
      position.take(lead);
      await save();
      if (signal.aborted) return;
    }
  }
}

async function loadCheckpoint(store: CheckpointStore): Promise<Checkpoint | undefined> {
  const loaded = (await store.load()) ?? undefined;
  if (loaded === undefined || isCheckpoint(loaded)) return loaded;
  throw new TypeError('the checkpoint store gave something that is not a checkpoint');
}

/** Waits; false when it is time to end instead. */
async function isDue(pace: Pace, { connection, signal }: Following): Promise<boolean> {
  // Once more where a timer was early.
  for (let waitMs = pace.waitMs(); waitMs > 0 && !signal.aborted; waitMs = pace.waitMs())
    await connection.environment.sleep(Math.ceil(waitMs), signal);
  return !signal.aborted;
}

/** Undefined when the request failed and is to be retried. */
async function nextPage(
  { connection, signal, onRetry }: Following,
  pace: Pace,
  position: Position,
  last: Answered | undefined,
): Promise<Page | undefined> {
  const hasBegun = position.since !== undefined;
  pace.sent();
  try {
    const page = await sendPoll(connection, { ...requestFor(position.since, last), signal });
    pace.answered(page, hasBegun && page.isFull && page.leads.some((lead) => position.isNew(lead)));
    return page;
  } catch (error) {
    if (signal.aborted) return undefined;
    if (!(error instanceof LeadtapError) || !error.isTransient) throw error;
    // Before the address has ever worked, it is more likely wrong than under maintenance.
    if (error.code === 'not-leads' && !last && !position.isResumed) throw error;
    onRetry(error, pace.failed(error));
    return undefined;
  }
}

function requestFor(since: string | undefined, last: Answered | undefined): Omit<PollRequest, 'signal'> {
  // To know where the feed is now, one lead will do.
  if (since === undefined) return { since, limit: 1, etag: undefined };
  return { since, limit: MAX_LEADS_PER_PAGE, etag: last?.since === since ? last.etag : undefined };
}
