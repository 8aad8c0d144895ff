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
import { type Following, Pace } from './pace.ts';
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
  /**
   * Get leads as they arrive: the service holds each request until there is a lead, for up to 50 seconds. Requests are spaced
   * so that they stay within the rate limits, however many leads arrive. A service that cannot wait is polled as usual.
   */
  readonly instant?: boolean | undefined;
  /** Called for every request that failed and will be retried, with the wait before the retry. */
  readonly onRetry?: ((error: LeadtapError, waitMs: number) => void) | undefined;
}

interface Loop {
  readonly connection: Connection;
  readonly store: CheckpointStore;
  readonly since: string | undefined;
  readonly signal: AbortSignal;
  readonly intervalMs: number;
  readonly isInstant: boolean;
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
    isInstant: readInstant(options.instant),
    onRetry: options.onRetry ?? (() => undefined),
  });
}

function readInstant(instant: unknown = false): boolean {
  if (typeof instant === 'boolean') return instant;
  throw new TypeError('instant must be true or false');
}

async function* follow(loop: Loop): AsyncGenerator<Lead, void, undefined> {
  const { connection, store, signal, intervalMs } = loop;
  const loaded = await loadCheckpoint(store);
  const position = new Position(loaded, loop.since);
  const pace = new Pace(intervalMs, connection.environment, Date.parse(loaded?.notBefore ?? '') || 0);
  const save = async () => {
    const checkpoint = position.checkpoint(pace.notBefore());
    if (checkpoint) await store.save(checkpoint);
  };
  let last: Answered | undefined;
  while (await isDue(pace, loop)) {
    const { since } = position;
    const page = await nextPage(loop, pace, position, last);
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
async function isDue(pace: Pace, { connection, signal }: Loop): Promise<boolean> {
  // Once more where a timer was early.
  for (let waitMs = pace.waitMs(); waitMs > 0 && !signal.aborted; waitMs = pace.waitMs())
    await connection.environment.sleep(Math.ceil(waitMs), signal);
  return !signal.aborted;
}

/** Undefined when the request failed and is to be retried. */
async function nextPage(
  { connection, signal, onRetry, isInstant }: Loop,
  pace: Pace,
  position: Position,
  last: Answered | undefined,
): Promise<Page | undefined> {
  const { since } = position;
  pace.sent();
  try {
    const request = { ...requestFor(since, last), signal };
    // An unchanged page has no leads, so that an ETag saves nothing: held requests do not send one.
    const held = { ...request, etag: undefined, waitS: pace.waitS };
    const page = await sendPoll(connection, isInstant && since !== undefined ? held : request);
    const hasNewLeads = since !== undefined && page.leads.some((lead) => position.isNew(lead));
    pace.answered(
      page,
      isInstant ? followingInstant(page, since, hasNewLeads) : following(page, hasNewLeads),
    );
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

const following = ({ isFull }: Page, hasNewLeads: boolean): Following =>
  isFull && hasNewLeads ? 'at-once' : 'after-interval';

/** The same for a loop that lets the service wait. An empty page that was not waited for comes from one that cannot. */
function followingInstant(page: Page, since: string | undefined, hasNewLeads: boolean): Following {
  if (page.isFull && hasNewLeads && isHalfLeft(page)) return 'at-once';
  return since === undefined || hasNewLeads || page.isWaitApplied ? 'spaced' : 'after-interval';
}

/** Whether half of each quota is left: then a backlog is read at once, and there is enough for the leads after it. */
const isHalfLeft = ({ rateLimits }: Page): boolean =>
  rateLimits.every(({ remaining, quota }) => quota !== undefined && remaining >= quota / 2);

function requestFor(since: string | undefined, last: Answered | undefined): Omit<PollRequest, 'signal'> {
  // To know where the feed is now, one lead will do.
  if (since === undefined) return { since, limit: 1, etag: undefined, waitS: 0 };
  const etag = last?.since === since ? last.etag : undefined;
  return { since, limit: MAX_LEADS_PER_PAGE, etag, waitS: 0 };
}
