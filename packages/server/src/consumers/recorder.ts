/** Records who polls and how far each has come, off the path of the polls: in memory, written in batches. */
import { setImmediate } from 'node:timers/promises';
import type { VerifiedToken } from '../accounts/records.ts';
import { MIN_TIME } from '../lib/clock.ts';
import type { EndedPoll, PollRecorder } from '../poll/store.ts';
import { isStorable } from '../sql/sql.ts';
import {
  type ConsumerKey,
  type ConsumerStore,
  consumerKeyOf,
  laterOf,
  MIN_DOWNTIME_MS,
  type PollSummary,
  storableExpiry,
} from './store.ts';

export interface RecorderOptions {
  readonly clock: () => number;
  /** Receives a line if polls cannot be recorded, at most once until they can be again. */
  readonly log?: { warn(line: object, message: string): void };
  /** At most this long after a poll, its consumer is written. */
  readonly flushMs?: number | undefined;
  /** Consumers in memory. Polls of further ones are not recorded until the next write. */
  readonly maxConsumers?: number;
}

/** The polls of a consumer. */
type Entry = { -readonly [Key in keyof Omit<PollSummary, 'sent' | 'writtenAt'>]: PollSummary[Key] } & {
  /** As in `PollSummary`, but from before all times instead of null. */
  sent: readonly { after: number; through: number }[];
};

const FLUSH_MS = 5000;
/** A database that hangs must not delay the stop. */
const MAX_CLOSE_MS = 2000;
/** About 25 MB. Only consumers that have polled within the last seconds are in memory. */
const MAX_CONSUMERS = 50_000;
/** Of refused tokens, whose ids any client can make up. */
const MAX_REFUSED_CONSUMERS = 1000;
/** Of an entry. Further ones count as not sent. */
const MAX_RANGES = 9;
/** One array for all entries: most polls are empty. */
const NOTHING_SENT: Entry['sent'] = [];
/** The database is tried so often after a 503. */
const RETRY_MS = 1000;
/** A transaction of this size takes about 3 ms, in which SQLite answers no poll; with ten gaps for each of them, up to 60 ms. */
const CONSUMERS_PER_TRANSACTION = 50;
/**
 * The share of the time that the writes take at most. Consumers that it is not enough for stay in memory until the next write. On
 * two cores it is enough for 1,400 consumers every 5 seconds: about 30,000 that poll every two minutes.
 */
const MAX_WRITE_SHARE = 0.01;
const MAX_USER_ID_LENGTH = 200;
const REFUSED = 401;
const HOUR_MS = 3_600_000;
const PRUNE_INTERVAL_MS = HOUR_MS;
/** A consumer that has not polled for this long is deleted. */
const KEEP_MS = 400 * 24 * HOUR_MS;

export class ConsumerRecorder implements PollRecorder {
  readonly #store: ConsumerStore;
  readonly #options: RecorderOptions;
  readonly #flushMs: number;
  readonly #maxConsumers: number;
  readonly #entries = new Map<string, Entry>();
  /** Those of a transaction that has failed, or is running. */
  #unwritten: readonly Entry[] = [];
  #timer: NodeJS.Timeout | undefined;
  /** The last write. Writes run one after the other: two at once would record the same entries. */
  #lastWrite: Promise<void> = Promise.resolve();
  #nextPruneAt = Number.NEGATIVE_INFINITY;
  #hasFailed = false;
  #isClosed = false;
  #refusedCount = 0;
  #isUnavailable = false;

  constructor(store: ConsumerStore, options: RecorderOptions) {
    this.#store = store;
    this.#options = options;
    this.#flushMs = options.flushMs ?? FLUSH_MS;
    this.#maxConsumers = options.maxConsumers ?? MAX_CONSUMERS;
  }

  recordPoll(token: VerifiedToken, { at, status, page }: EndedPoll): void {
    const entry = this.#entryOf(token, at, status);
    if (!entry) return;
    entry.polls += 1;
    entry.lastStatus = status;
    this.#verify(entry);
    if (page) addPage(entry, page);
  }

  recordRefusedToken(token: VerifiedToken, at: number): void {
    if (consumerKeyOf(token).tokenId === null) return;
    const entry = this.#entryOf(token, at, REFUSED, true);
    if (!entry) return;
    entry.polls += 1;
    entry.lastStatus = REFUSED;
  }

  recordUnavailable(at: number): void {
    if (this.#isUnavailable || this.#isClosed) return;
    this.#isUnavailable = true;
    const retry = async (): Promise<void> => {
      try {
        const now = this.#options.clock();
        // It is unavailable until it can be written that it was. A single failure is no downtime.
        if (now - at >= MIN_DOWNTIME_MS) await this.#store.recordDowntime(now, at);
        else await this.#store.list({ limit: 1, maxPendingLeads: 1, now });
        this.#isUnavailable = false;
      } catch {
        schedule();
      }
    };
    const schedule = (): void => {
      if (!this.#isClosed) setTimeout(() => void retry(), RETRY_MS).unref();
    };
    schedule();
  }

  /** Records that the service has started. Call it before the first poll, which is written later. */
  start(): void {
    const now = this.#options.clock();
    this.#lastWrite = this.#lastWrite
      .then(() => this.#store.recordDowntime(now))
      .catch((error: unknown) => {
        this.#options.log?.warn({ err: error }, 'the start could not be recorded');
      });
  }

  recordWait(token: VerifiedToken, at: number, until: number): void {
    const entry = this.#entryOf(token, at, 200);
    if (!entry) return;
    this.#verify(entry);
    entry.heldUntil = laterOf(entry.heldUntil, until);
  }

  /** Writes what has been recorded. Does not reject: a database that fails loses bookkeeping, never a poll. */
  flush(): Promise<void> {
    return this.#flush(Number.POSITIVE_INFINITY);
  }

  /** Writes the polls of one user, so that they are in the store when it is read next. Does not reject either. */
  flushUser(userId: string): Promise<void> {
    this.#lastWrite = this.#lastWrite.then(() => this.#write(Number.POSITIVE_INFINITY, userId));
    return this.#lastWrite;
  }

  /** Writes once more, and waits for it for 2 seconds at most. Polls that end later are not recorded. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    let limit: NodeJS.Timeout | undefined;
    const timeout = new Promise<void>((resolve) => {
      limit = setTimeout(resolve, MAX_CLOSE_MS);
    });
    await Promise.race([this.flush().then(() => this.#recordStop()), timeout]);
    clearTimeout(limit);
  }

  /** One of its polls in this batch has a valid token. */
  #verify(entry: Entry): void {
    if (!entry.mustBeIssued) return;
    entry.mustBeIssued = false;
    this.#refusedCount -= 1;
  }

  async #recordStop(): Promise<void> {
    // Like a crash: what was sent is not known.
    if (this.#entries.size + this.#unwritten.length > 0) return;
    try {
      await this.#store.recordStop(this.#options.clock());
    } catch {
      // The time of the last poll is then used instead.
    }
  }

  /** The entry of the consumer, which is new or has its last poll now. Undefined if there is no room for it. */
  #entryOf(token: VerifiedToken, at: number, status: number, mustBeIssued = false): Entry | undefined {
    const known = this.#entries.get(token.tokenId ?? '');
    if (known?.userId === token.userId) return repoll(known, token, at);
    const consumer = consumerKeyOf(token);
    const key = this.#entryKey(consumer);
    const other = this.#entries.get(key);
    if (other) return repoll(other, token, at);
    const tokenExpiresAt = storableExpiry(token);
    return this.#addEntry(key, { ...consumer, tokenExpiresAt, mustBeIssued }, at, status);
  }

  /** Token ids are unique, but an identity provider may give the same one to two users. */
  #entryKey({ userId, tokenId }: ConsumerKey): string {
    const key = tokenId ?? `\0${userId}`;
    const known = this.#entries.get(key);
    return known && known.userId !== userId ? `${tokenId}\0${userId}` : key;
  }

  #addEntry(
    key: string,
    {
      userId,
      tokenId,
      tokenExpiresAt,
      mustBeIssued,
    }: Pick<Entry, 'userId' | 'tokenId' | 'tokenExpiresAt' | 'mustBeIssued'>,
    at: number,
    status: number,
  ): Entry | undefined {
    const isFull = this.#entries.size + this.#unwritten.length >= this.#maxConsumers;
    if (isFull || this.#isClosed || !isUserId(userId)) return undefined;
    if (mustBeIssued) {
      if (this.#refusedCount >= MAX_REFUSED_CONSUMERS) return undefined;
      this.#refusedCount += 1;
    }
    // One literal: V8 takes several times as long for an object that is spread from several.
    const entry: Entry = {
      userId,
      tokenId,
      tokenExpiresAt,
      lastPollAt: at,
      lastStatus: status,
      mustBeIssued,
      polls: 0,
      heldUntil: null,
      confirmedThrough: null,
      deliveredThrough: null,
      sent: NOTHING_SENT,
    };
    this.#entries.set(key, entry);
    this.#schedule();
    return entry;
  }

  #schedule(): void {
    if (!this.#isClosed)
      this.#timer ??= setTimeout(
        () => void this.#flush(this.#flushMs * MAX_WRITE_SHARE),
        this.#flushMs,
      ).unref();
  }

  #flush(maxMs: number): Promise<void> {
    this.#lastWrite = this.#lastWrite.then(() => this.#write(maxMs));
    return this.#lastWrite;
  }

  /** At least one transaction, and further ones until the time is used up. */
  async #write(maxMs: number, userId?: string): Promise<void> {
    if (userId === undefined) {
      clearTimeout(this.#timer);
      this.#timer = undefined;
    }
    let spentMs = 0;
    try {
      while (spentMs <= maxMs && this.#take(userId)) {
        const startedAt = performance.now();
        const writtenAt = this.#options.clock();
        await this.#store.record(this.#unwritten.map((entry) => toSummary(entry, writtenAt)));
        spentMs += performance.now() - startedAt;
        this.#unwritten = [];
        // Polls that arrived meanwhile are answered first.
        await setImmediate();
      }
      await this.#pruneIfDue();
      this.#hasFailed = false;
    } catch (error) {
      if (!this.#hasFailed)
        this.#options.log?.warn({ err: error }, 'polls of consumers could not be recorded');
      this.#hasFailed = true;
    }
    if (this.#entries.size + this.#unwritten.length > 0) this.#schedule();
  }

  /** Takes the entries of the next transaction: those of one that has failed, or the oldest ones. False if there are none. */
  #take(userId?: string): boolean {
    if (this.#unwritten.length > 0) return true;
    const taken: Entry[] = [];
    for (const [key, entry] of this.#entries) {
      if (userId !== undefined && entry.userId !== userId) continue;
      taken.push(entry);
      this.#entries.delete(key);
      if (entry.mustBeIssued) this.#refusedCount -= 1;
      if (taken.length === CONSUMERS_PER_TRANSACTION) break;
    }
    this.#unwritten = taken;
    return taken.length > 0;
  }

  async #pruneIfDue(): Promise<void> {
    const now = this.#options.clock();
    if (now < this.#nextPruneAt) return;
    this.#nextPruneAt = now + PRUNE_INTERVAL_MS;
    await this.#store.prune(now, now - KEEP_MS);
  }
}

/** The last poll is now, and its token may be another one. */
function repoll(entry: Entry, token: VerifiedToken, at: number): Entry {
  entry.lastPollAt = at;
  entry.tokenExpiresAt = storableExpiry(token);
  return entry;
}

/** No user has another id: its polls are not recorded. */
const isUserId = (userId: string): boolean => userId.length <= MAX_USER_ID_LENGTH && isStorable(userId);

/** Without a spread, which takes longer than the rest of it. */
function toSummary(entry: Entry, writtenAt: number): PollSummary {
  return {
    userId: entry.userId,
    tokenId: entry.tokenId,
    tokenExpiresAt: entry.tokenExpiresAt,
    lastPollAt: entry.lastPollAt,
    writtenAt,
    lastStatus: entry.lastStatus,
    mustBeIssued: entry.mustBeIssued,
    polls: entry.polls,
    heldUntil: entry.heldUntil,
    confirmedThrough: entry.confirmedThrough,
    deliveredThrough: entry.deliveredThrough,
    sent: entry.sent.map(({ after, through }) => ({ after: after < MIN_TIME ? null : after, through })),
  };
}

function addPage(
  entry: Entry,
  { since, readAt, leads, isFull, isSent }: NonNullable<EndedPoll['page']>,
): void {
  if (since !== undefined && since >= MIN_TIME)
    entry.confirmedThrough = laterOf(entry.confirmedThrough, confirmedBy(since, readAt, leads.count));
  if (!isSent || leads.first === undefined || leads.last === undefined) return;
  const newest = since === undefined ? leads.first : leads.last;
  entry.deliveredThrough = laterOf(entry.deliveredThrough, newest);
  // Without `since`, the newest lead is first, and a page that is not full has all leads.
  const before = isFull ? leads.last - 1 : Number.NEGATIVE_INFINITY;
  addSent(entry, since ?? before, newest);
}

function addSent(entry: Entry, after: number, through: number): void {
  for (const range of entry.sent) {
    if (after > range.through || through < range.after) continue;
    range.after = Math.min(range.after, after);
    range.through = Math.max(range.through, through);
    return;
  }
  if (entry.sent.length < MAX_RANGES) entry.sent = [...entry.sent, { after, through }];
}

/**
 * How far a `since` confirms. Leads that are added later have stamps after those of the page, or after the time of the read if it
 * is empty (D3). So a `since` of the future confirms no lead that does not exist yet.
 */
const confirmedBy = (since: number, readAt: number, count: number): number =>
  count > 0 ? since : Math.min(since, readAt);
