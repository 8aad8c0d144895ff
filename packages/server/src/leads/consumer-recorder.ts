/** Records who polls and how far each has come, off the path of the polls: in memory, written in batches. */
import { setImmediate } from 'node:timers/promises';
import { toUSVString } from 'node:util';
import { type ConsumerKey, type ConsumerStore, laterOf, type PollSummary } from '../store/consumers.ts';
import type { Bearer } from '../store/store.ts';
import type { RenderedLeads } from './render.ts';

/** A poll that has ended. */
export interface EndedPoll {
  readonly at: number;
  readonly status: number;
  /** The page that answered it; absent if a check failed or the page could not be read. */
  readonly page?: {
    readonly since: number | undefined;
    readonly readAt: number;
    readonly leads: Pick<RenderedLeads, 'count' | 'first' | 'last'>;
    /** The client got the whole body, or has it already (304). */
    readonly isSent: boolean;
  };
}

/** Receives the polls of the endpoint. */
export interface PollRecorder {
  recordPoll(token: Bearer, poll: EndedPoll): void;
  /** The poll waits for a lead until this time at most. */
  recordWait(token: Bearer, at: number, until: number): void;
}

export interface RecorderOptions {
  readonly clock: () => number;
  /** Receives a line if polls cannot be recorded, at most once until they can be again. */
  readonly log?: { warn(line: object, message: string): void };
  /** Receives the polls of a consumer after they were written. */
  readonly onWritten?: (polls: PollSummary) => void;
  /** At most this long after a poll, its consumer is written. */
  readonly flushMs?: number | undefined;
  /** Consumers in memory. Polls of further ones are not recorded until the next write. */
  readonly maxConsumers?: number;
}

type Entry = { -readonly [Key in keyof PollSummary]: PollSummary[Key] };

const FLUSH_MS = 5000;
/** A database that hangs must not delay the stop. */
const MAX_CLOSE_MS = 2000;
/** About 15 MB. Only consumers that have polled within the last seconds are in memory. */
const MAX_CONSUMERS = 50_000;
/** A transaction of this size takes a few milliseconds, in which SQLite answers no poll. */
const CONSUMERS_PER_TRANSACTION = 500;
/**
 * The share of the time that the writes take at most. Consumers that it is not enough for stay in memory until the next write. On
 * two cores it is enough for some thousand consumers every 5 seconds: 50,000 or more that poll every two minutes.
 */
const MAX_WRITE_SHARE = 0.01;
/** Identity providers may issue others, which not every database can store. Such tokens count as tokens without an id. */
const TOKEN_ID = /^[ -~]{1,200}$/;
const MAX_USER_ID_LENGTH = 200;
/** The times that every database can store. */
export const MIN_TIME = Date.parse('0001-01-01T00:00:00.000Z');
const MAX_TIME = Date.parse('9999-12-31T23:59:59.999Z');
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

  constructor(store: ConsumerStore, options: RecorderOptions) {
    this.#store = store;
    this.#options = options;
    this.#flushMs = options.flushMs ?? FLUSH_MS;
    this.#maxConsumers = options.maxConsumers ?? MAX_CONSUMERS;
  }

  recordPoll(token: Bearer, { at, status, page }: EndedPoll): void {
    const entry = this.#entryOf(token, at, status);
    if (!entry) return;
    entry.polls += 1;
    entry.lastStatus = status;
    if (page) addPage(entry, page);
  }

  recordWait(token: Bearer, at: number, until: number): void {
    const entry = this.#entryOf(token, at, 200);
    if (entry) entry.heldUntil = laterOf(entry.heldUntil, until);
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
    await Promise.race([this.flush(), timeout]);
    clearTimeout(limit);
  }

  /** The entry of the consumer, which is new or has its last poll now. Undefined if there is no room for it. */
  #entryOf(token: Bearer, at: number, status: number): Entry | undefined {
    const consumer = consumerKeyOf(token);
    const tokenExpiresAt = storableExpiry(token);
    const key = this.#entryKey(consumer);
    const known = this.#entries.get(key);
    if (!known) return this.#addEntry(key, { ...consumer, tokenExpiresAt }, at, status);
    known.lastPollAt = at;
    known.tokenExpiresAt = tokenExpiresAt;
    return known;
  }

  /** Token ids are unique, but an identity provider may give the same one to two users. */
  #entryKey({ userId, tokenId }: ConsumerKey): string {
    const key = tokenId ?? `\0${userId}`;
    const known = this.#entries.get(key);
    return known && known.userId !== userId ? `${tokenId}\0${userId}` : key;
  }

  #addEntry(
    key: string,
    { userId, tokenId, tokenExpiresAt }: Pick<Entry, 'userId' | 'tokenId' | 'tokenExpiresAt'>,
    at: number,
    status: number,
  ): Entry | undefined {
    const isFull = this.#entries.size + this.#unwritten.length >= this.#maxConsumers;
    if (isFull || this.#isClosed || !isStorable(userId)) return undefined;
    // One literal: V8 takes several times as long for an object that is spread from several.
    const entry: Entry = {
      userId,
      tokenId,
      tokenExpiresAt,
      lastPollAt: at,
      lastStatus: status,
      polls: 0,
      heldUntil: null,
      confirmedThrough: null,
      deliveredThrough: null,
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
        const keys = await this.#store.record(this.#unwritten.map((entry) => ({ ...entry, writtenAt })));
        spentMs += performance.now() - startedAt;
        const written = this.#unwritten;
        this.#unwritten = [];
        for (const [index, polls] of written.entries())
          this.#options.onWritten?.({ ...polls, ...keys[index] });
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

/** The consumer that a token belongs to. */
export const consumerKeyOf = ({ userId, tokenId = '' }: Bearer): ConsumerKey => ({
  userId,
  tokenId: TOKEN_ID.test(tokenId) ? tokenId : null,
});

/** `exp` may have a fraction (RFC 7519), which no column of times can store. */
export const storableExpiry = ({ expiresAt = MAX_TIME }: Bearer): number | null =>
  expiresAt < MAX_TIME ? Math.floor(expiresAt) : null;

/** A user id that does not exist anyway is not recorded. */
const isStorable = (userId: string): boolean =>
  userId.length <= MAX_USER_ID_LENGTH && !userId.includes('\0') && toUSVString(userId) === userId;

function addPage(entry: Entry, { since, readAt, leads, isSent }: NonNullable<EndedPoll['page']>): void {
  if (since !== undefined && since >= MIN_TIME)
    entry.confirmedThrough = laterOf(entry.confirmedThrough, confirmedBy(since, readAt, leads.count));
  if (!isSent) return;
  const newest = since === undefined ? leads.first : leads.last;
  entry.deliveredThrough = laterOf(entry.deliveredThrough, newest ?? null);
}

/**
 * How far a `since` confirms. Leads that are added later have stamps after those of the page, or after the time of the read if it
 * is empty (D3). So a `since` of the future confirms no lead that does not exist yet.
 */
const confirmedBy = (since: number, readAt: number, count: number): number =>
  count > 0 ? since : Math.min(since, readAt);
