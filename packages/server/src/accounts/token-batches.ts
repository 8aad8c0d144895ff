/** What is observed of tokens, off the path of their requests: in memory, written in batches. */
import { setImmediate } from 'node:timers/promises';
import { waitFor } from '../lib/timeout.ts';
import { isStorable } from '../sql/sql.ts';
import type { VerifiedToken } from './records.ts';
import { KEEP_UNUSED_TOKENS_MS, type TokenKey, tokenKeyOf } from './token-key.ts';

/** What was observed of one token since the last write. */
export interface TokenEntry extends TokenKey {
  /** All its requests were refused with 401: stored only if the token was issued here. */
  mustBeIssued: boolean;
}

export interface TokenBatchesOptions<Entry extends TokenEntry> {
  readonly clock: () => number;
  /** At most this long after a request, its entry is written. */
  readonly flushMs?: number | undefined;
  /** Entries in memory. Further ones are not recorded until the next write. */
  readonly maxEntries?: number | undefined;
  readonly create: (key: TokenKey, mustBeIssued: boolean) => Entry;
  /** In one transaction. */
  readonly write: (entries: readonly Entry[]) => Promise<unknown>;
  /** Deletes what was not used since `before`. */
  readonly prune: (now: number, before: number) => Promise<unknown>;
  /** After the first write that fails, until one succeeds again. */
  readonly onFailure: (error: unknown) => void;
}

const FLUSH_MS = 5000;
/** A database that hangs must not delay the stop. */
const MAX_CLOSE_MS = 2000;
/** About 25 MB. Only tokens that were used within the last seconds are in memory. */
const MAX_ENTRIES = 50_000;
/** A transaction of this size takes about 3 ms, in which SQLite answers no poll; with ten gaps for each consumer, up to 60 ms. */
const ENTRIES_PER_TRANSACTION = 50;
/**
 * The share of the time that the writes take at most. Entries that it is not enough for stay in memory until the next write. On
 * two cores it is enough for 1,400 consumers every 5 seconds: about 30,000 that poll every two minutes.
 */
const MAX_WRITE_SHARE = 0.01;
const MAX_USER_ID_LENGTH = 200;
const PRUNE_INTERVAL_MS = 3_600_000;

export class TokenBatches<Entry extends TokenEntry> {
  readonly #options: TokenBatchesOptions<Entry>;
  readonly #flushMs: number;
  readonly #maxEntries: number;
  readonly #entries = new Map<string, Entry>();
  /** Those of a transaction that has failed, or is running. */
  #unwritten: readonly Entry[] = [];
  #timer: NodeJS.Timeout | undefined;
  /** The last write. Writes run one after the other: two at once would record the same entries. */
  #lastWrite: Promise<void> = Promise.resolve();
  #nextPruneAt = Number.NEGATIVE_INFINITY;
  #hasFailed = false;
  #isClosed = false;

  constructor(options: TokenBatchesOptions<Entry>) {
    this.#options = options;
    this.#flushMs = options.flushMs ?? FLUSH_MS;
    this.#maxEntries = options.maxEntries ?? MAX_ENTRIES;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** The number of entries that are not written. */
  get size(): number {
    return this.#entries.size + this.#unwritten.length;
  }

  /** The entry of a token whose signature is valid. Undefined if there is no room for it. */
  entryOf(token: VerifiedToken): Entry | undefined {
    const entry = this.#find(token, false);
    if (entry) entry.mustBeIssued = false;
    return entry;
  }

  /** The entry of a token that was refused with 401: it counts only if it was issued here. */
  entryOfRefused(token: VerifiedToken): Entry | undefined {
    return tokenKeyOf(token).tokenId === null ? undefined : this.#find(token, true);
  }

  /** Does something before the next write. Does not reject. */
  beforeWrites(work: () => Promise<void>, onFailure: (error: unknown) => void): void {
    this.#lastWrite = this.#lastWrite.then(work).catch(onFailure);
  }

  /** Writes what has been recorded. Does not reject: a database that fails loses bookkeeping, never a request. */
  flush(): Promise<void> {
    return this.#flush(Number.POSITIVE_INFINITY);
  }

  /** Writes the entries of one user, so that they are in the store when it is read next. Does not reject either. */
  flushUser(userId: string): Promise<void> {
    this.#lastWrite = this.#lastWrite.then(() => this.#write(Number.POSITIVE_INFINITY, userId));
    return this.#lastWrite;
  }

  /** Writes once more, then does `last`, and waits for both for 2 seconds at most. Nothing is recorded any more. */
  async close(last: () => Promise<void> = async () => {}): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await waitFor(MAX_CLOSE_MS, this.flush().then(last));
  }

  #find(token: VerifiedToken, mustBeIssued: boolean): Entry | undefined {
    const known = this.#entries.get(token.tokenId ?? '');
    if (known?.userId === token.userId) return known;
    const key = tokenKeyOf(token);
    const mapKey = this.#mapKeyOf(key);
    return this.#entries.get(mapKey) ?? this.#add(mapKey, key, mustBeIssued);
  }

  /** Token ids are unique, but an identity provider may give the same one to two users. */
  #mapKeyOf({ userId, tokenId }: TokenKey): string {
    const key = tokenId ?? `\0${userId}`;
    const known = this.#entries.get(key);
    return known && known.userId !== userId ? `${tokenId}\0${userId}` : key;
  }

  #add(mapKey: string, key: TokenKey, mustBeIssued: boolean): Entry | undefined {
    if (this.size >= this.#maxEntries || this.#isClosed || !isUserId(key.userId)) return undefined;
    const entry = this.#options.create(key, mustBeIssued);
    this.#entries.set(mapKey, entry);
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
        await this.#options.write(this.#unwritten);
        spentMs += performance.now() - startedAt;
        this.#unwritten = [];
        // Requests that arrived meanwhile are answered first.
        await setImmediate();
      }
      await this.#pruneIfDue();
      this.#hasFailed = false;
    } catch (error) {
      if (!this.#hasFailed) this.#options.onFailure(error);
      this.#hasFailed = true;
    }
    if (this.size > 0) this.#schedule();
  }

  /** Takes the entries of the next transaction: those of one that has failed, or the oldest ones. False if there are none. */
  #take(userId?: string): boolean {
    if (this.#unwritten.length > 0) return true;
    const taken: Entry[] = [];
    for (const [key, entry] of this.#entries) {
      if (userId !== undefined && entry.userId !== userId) continue;
      taken.push(entry);
      this.#entries.delete(key);
      if (taken.length === ENTRIES_PER_TRANSACTION) break;
    }
    this.#unwritten = taken;
    return taken.length > 0;
  }

  async #pruneIfDue(): Promise<void> {
    const now = this.#options.clock();
    if (now < this.#nextPruneAt) return;
    this.#nextPruneAt = now + PRUNE_INTERVAL_MS;
    await this.#options.prune(now, now - KEEP_UNUSED_TOKENS_MS);
  }
}

/** No user has another id. */
const isUserId = (userId: string): boolean => userId.length <= MAX_USER_ID_LENGTH && isStorable(userId);
