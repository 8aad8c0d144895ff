/** Keeps requests that were refused, off the path of the requests: in memory, written in batches. */
import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LeadError } from '@leadtap/contract';
import type { VerifiedToken } from '../accounts/records.ts';
import { tokenKeyOf } from '../accounts/token-key.ts';
import type { ProblemError } from '../http/problems.ts';
import { hashKey } from './idempotency.ts';
import type { AcceptedRequest, RefusedLeadStore, RefusedLeadWithBody, SenderKey } from './store.ts';

/** Of the body of a request that is kept. */
export const MAX_KEPT_BYTES = 64 * 1024;

/** At the end of the `detail` of a problem. */
export const KEPT_DETAIL =
  'This request is kept for 30 days: the operator can accept it with `leadtap leads refused`.';

export interface RefusedLeadOptions {
  readonly clock: () => number;
  /** Makes ids that sort by this time. */
  readonly createId: (now: number) => string;
  /** False: nothing is kept. */
  readonly isOn: boolean;
  readonly log?: { warn(line: object, message: string): void };
}

/** A request as it was sent. */
export interface SentRequest {
  readonly companyId: string;
  readonly token: VerifiedToken;
  readonly body: Buffer;
  /** The header `Content-Type`. */
  readonly mediaType: string;
  readonly idempotencyKey: string | undefined;
}

const FLUSH_MS = 20;
/** By then, other instances have written what they refused before. */
const REMOVE_MS = 1000;
/** After a transaction that has failed. */
const RETRY_MS = 1000;
/** Longer than a write waits for the lock of the database. One that hangs must not delay the stop. */
const MAX_WRITE_MS = 2500;
/** At the stop, when a write has failed. */
const RETRY_AT_CLOSE_MS = 100;
/** Of all companies, and of one. What is refused beyond is not kept. */
const MAX_QUEUED_BYTES = 16 * 1024 * 1024;
const MAX_QUEUED_BYTES_OF_COMPANY = 4 * 1024 * 1024;
/** What a row takes besides its body, in the queue. */
const ROW_BYTES = 4096;
/** SQLite answers no poll meanwhile: some milliseconds. */
const MAX_BYTES_PER_TRANSACTION = 512 * 1024;
/** A further one is forgotten: its row stays. */
const MAX_ACCEPTED = 20_000;
const MAX_ACCEPTED_PER_TRANSACTION = 1000;
const HOUR_MS = 3_600_000;
const MAX_KEPT_ERRORS = 50;
const MAX_DETAIL_LENGTH = 500;
/** A header that can be stored and read again. */
const MEDIA_TYPE = /^[ -~]{1,500}$/;

const senderText = ({ companyId, userId, tokenId }: SenderKey): string =>
  `${companyId}\0${userId}\0${tokenId ?? ''}`;

export class RefusedLeadRecorder {
  readonly #store: RefusedLeadStore;
  readonly #options: RefusedLeadOptions;
  /** By company, then by sender and body. */
  readonly #queued = new Map<string, Map<string, RefusedLeadWithBody>>();
  readonly #bytesOfCompany = new Map<string, number>();
  #bytes = 0;
  #accepted: AcceptedRequest[] = [];
  /** Of the bodies in it. */
  #acceptedBytes = 0;
  #timer: NodeJS.Timeout | undefined;
  #removal: NodeJS.Timeout | undefined;
  #pruning: NodeJS.Timeout | undefined;
  /** Writes run one after the other. */
  #lastWrite: Promise<void> = Promise.resolve();
  #hasFailed = false;
  /** The last write of refused requests has failed. Reads may succeed meanwhile. */
  #isUnwritable = false;
  /** The rows of a transaction that is running. */
  #writing: readonly RefusedLeadWithBody[] = [];
  #isClosed = false;

  constructor(store: RefusedLeadStore, options: RefusedLeadOptions) {
    this.#store = store;
    this.#options = options;
  }

  /** Deletes rows that are too old, now and every hour. */
  start(): void {
    const prune = () =>
      this.#enqueue(async () => {
        await this.#store.prune(this.#options.clock());
      });
    prune();
    this.#pruning = setInterval(prune, HOUR_MS).unref();
  }

  /** Whether a body of this size may be kept. Undefined: of unknown size. */
  mayKeep(bytes: number | undefined): boolean {
    return this.#options.isOn && !this.#isClosed && (bytes ?? 0) <= MAX_KEPT_BYTES;
  }

  /**
   * Takes the request into the queue. Returns the problem for its response, which says so, unless the database cannot be written at
   * present: the request may be lost then.
   */
  keep(request: SentRequest, problem: ProblemError): ProblemError {
    if (!this.#add(request, problem)) return problem;
    return problem.asKept(this.#isUnwritable ? undefined : KEPT_DETAIL);
  }

  #add({ companyId, token, body, mediaType, idempotencyKey }: SentRequest, problem: ProblemError): boolean {
    if (body.length === 0 || !this.mayKeep(body.length) || !MEDIA_TYPE.test(mediaType)) return false;
    const sender = { companyId, ...tokenKeyOf(token) };
    const ofCompany = this.#queued.get(companyId) ?? new Map<string, RefusedLeadWithBody>();
    const now = this.#options.clock();
    const bodyHash = hash('sha256', body);
    const key = `${senderText(sender)}\0${bodyHash}`;
    const known = ofCompany.get(key);
    if (!known && !this.#hasRoomFor(companyId, body.length)) return false;
    const added: RefusedLeadWithBody = {
      ...sender,
      id: known?.id ?? this.#options.createId(now),
      source: token.source?.name ?? null,
      answerMap: token.source?.map ?? null,
      timeZone: token.timeZone ?? null,
      receivedAt: known?.receivedAt ?? now,
      lastAt: now,
      times: (known?.times ?? 0) + 1,
      code: problem.code,
      errors: keptErrors(problem),
      mediaType,
      body,
      bodyHash,
      keyHash:
        idempotencyKey === undefined ? (known?.keyHash ?? null) : hashKey(companyId, token, idempotencyKey),
    };
    ofCompany.set(key, added);
    this.#queued.set(companyId, ofCompany);
    if (!known) this.#count(companyId, body.length + ROW_BYTES);
    this.#schedule(FLUSH_MS);
    return true;
  }

  /** The leads of this request were written: an earlier attempt that was refused is not needed any more. */
  noteAccepted({ companyId, token, body, mediaType, idempotencyKey }: SentRequest): void {
    if (this.#isClosed || body.length > MAX_KEPT_BYTES) return;
    const keyHash = idempotencyKey === undefined ? null : hashKey(companyId, token, idempotencyKey);
    const isCompared = keyHash !== null && this.#acceptedBytes + body.length <= MAX_QUEUED_BYTES;
    const accepted: AcceptedRequest = {
      companyId,
      userId: token.userId,
      source: token.source?.name ?? null,
      at: this.#options.clock(),
      bodyHash: hash('sha256', body),
      keyHash,
      sent: isCompared ? { mediaType, body } : undefined,
    };
    for (const [key, refused] of this.#queued.get(companyId) ?? [])
      if (isSuperseded(refused, accepted)) this.#take(companyId, key);
    if (this.#accepted.length < MAX_ACCEPTED) {
      this.#accepted.push(accepted);
      this.#acceptedBytes += bytesOf(accepted);
    }
    this.#removal ??= setTimeout(() => {
      this.#removal = undefined;
      void this.#enqueue(() => this.#removeAccepted());
    }, REMOVE_MS).unref();
  }

  /** Writes what is queued. Does not reject. */
  flush(): Promise<void> {
    return this.#enqueue(() => this.#writeAll());
  }

  /** Writes what is queued, and tries it again for this time. Returns what could not be written. */
  async close(limitMs = MAX_WRITE_MS): Promise<readonly RefusedLeadWithBody[]> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#removal);
    clearInterval(this.#pruning);
    let limit: NodeJS.Timeout | undefined;
    const timeout = new Promise<void>((resolve) => {
      limit = setTimeout(resolve, Math.max(limitMs, MAX_WRITE_MS));
    });
    await Promise.race([this.#writeUntil(performance.now() + limitMs - MAX_WRITE_MS), timeout]);
    clearTimeout(limit);
    return [...this.#writing, ...[...this.#queued.values()].flatMap((ofCompany) => [...ofCompany.values()])];
  }

  /** No write begins after this time, but the first. */
  async #writeUntil(time: number): Promise<void> {
    await this.flush();
    while (this.#bytes > 0 && performance.now() < time) {
      await sleep(RETRY_AT_CLOSE_MS);
      await this.flush();
    }
  }

  #hasRoomFor(companyId: string, bytes: number): boolean {
    const added = bytes + ROW_BYTES;
    const ofCompany = this.#bytesOfCompany.get(companyId) ?? 0;
    return this.#bytes + added <= MAX_QUEUED_BYTES && ofCompany + added <= MAX_QUEUED_BYTES_OF_COMPANY;
  }

  #count(companyId: string, bytes: number): void {
    this.#bytes += bytes;
    const ofCompany = (this.#bytesOfCompany.get(companyId) ?? 0) + bytes;
    if (ofCompany > 0) this.#bytesOfCompany.set(companyId, ofCompany);
    else this.#bytesOfCompany.delete(companyId);
  }

  #take(companyId: string, key: string): RefusedLeadWithBody | undefined {
    const ofCompany = this.#queued.get(companyId);
    const taken = ofCompany?.get(key);
    if (!ofCompany || !taken) return undefined;
    ofCompany.delete(key);
    if (ofCompany.size === 0) this.#queued.delete(companyId);
    this.#count(companyId, -taken.body.length - ROW_BYTES);
    return taken;
  }

  #schedule(ms: number): void {
    if (this.#isClosed) return;
    this.#timer ??= setTimeout(() => {
      void this.#enqueue(() => this.#writeBatch()).then(() => {
        this.#timer = undefined;
        if (this.#bytes > 0) this.#schedule(this.#hasFailed ? RETRY_MS : FLUSH_MS);
      });
    }, ms).unref();
  }

  #enqueue(work: () => Promise<void>): Promise<void> {
    this.#lastWrite = this.#lastWrite.then(async () => {
      try {
        await work();
        this.#hasFailed = false;
      } catch (error) {
        if (!this.#hasFailed) this.#options.log?.warn({ err: error }, 'refused requests could not be kept');
        this.#hasFailed = true;
      }
    });
    return this.#lastWrite;
  }

  async #writeAll(): Promise<void> {
    while (this.#bytes > 0) await this.#writeBatch();
    await this.#removeAccepted();
  }

  async #writeBatch(): Promise<void> {
    const refused = this.#takeBatch();
    if (refused.length === 0) return;
    this.#writing = refused;
    try {
      await this.#store.record(refused);
      this.#isUnwritable = false;
    } catch (error) {
      this.#isUnwritable = true;
      for (const one of refused) this.#putBack(one);
      throw error;
    } finally {
      this.#writing = [];
    }
  }

  /** Nearly always, no row is kept at all. */
  async #removeAccepted(): Promise<void> {
    while (this.#accepted.length > 0) {
      const accepted = this.#accepted.slice(0, MAX_ACCEPTED_PER_TRANSACTION);
      if (!(await this.#store.isEmpty())) await this.#store.removeAccepted(accepted);
      this.#accepted = this.#accepted.slice(accepted.length);
      for (const one of accepted) this.#acceptedBytes -= bytesOf(one);
    }
  }

  /** The companies take turns: one that still has requests is moved to the end, where the loop comes to it again. */
  #takeBatch(): RefusedLeadWithBody[] {
    const batch: RefusedLeadWithBody[] = [];
    let bytes = 0;
    for (const [companyId, ofCompany] of this.#queued) {
      if (bytes >= MAX_BYTES_PER_TRANSACTION) break;
      const [key = ''] = ofCompany.keys();
      const taken = this.#take(companyId, key);
      if (!taken) continue;
      batch.push(taken);
      bytes += taken.body.length + ROW_BYTES;
      if (ofCompany.size === 0) continue;
      this.#queued.delete(companyId);
      this.#queued.set(companyId, ofCompany);
    }
    return batch;
  }

  /** After a transaction that has failed. The same request may have been refused again meanwhile, or accepted. */
  #putBack(refused: RefusedLeadWithBody): void {
    const { companyId, bodyHash, body } = refused;
    const isAccepted = this.#accepted.some((accepted) => isSuperseded(refused, accepted));
    if (isAccepted) return;
    const ofCompany = this.#queued.get(companyId) ?? new Map<string, RefusedLeadWithBody>();
    const key = `${senderText(refused)}\0${bodyHash}`;
    const known = ofCompany.get(key);
    const merged = known && { ...known, receivedAt: refused.receivedAt, times: known.times + refused.times };
    ofCompany.set(key, merged ?? refused);
    this.#queued.set(companyId, ofCompany);
    if (!known) this.#count(companyId, body.length + ROW_BYTES);
  }
}

const bytesOf = ({ sent }: AcceptedRequest): number => sent?.body.length ?? 0;

/** Whether the same body was accepted since. Keys are compared when the row is written: a sender may use one for all. */
const isSuperseded = (refused: RefusedLeadWithBody, accepted: AcceptedRequest): boolean =>
  refused.companyId === accepted.companyId &&
  refused.lastAt <= accepted.at &&
  refused.bodyHash === accepted.bodyHash &&
  refused.userId === accepted.userId &&
  refused.source === accepted.source;

/** Quoted texts in details are values of the body, or names that `field` has as well. */
const QUOTED = /"(?:[^"\\]|\\.)*"?/g;

/** The errors without values of the body: they are shown in lists. */
const keptErrors = ({ parts: { errors = [] } }: ProblemError): LeadError[] =>
  errors
    .slice(0, MAX_KEPT_ERRORS)
    .flatMap((error) =>
      'index' in error
        ? [{ ...error, detail: error.detail.replace(QUOTED, '"…"').slice(0, MAX_DETAIL_LENGTH) }]
        : [],
    );

/** Whether a request with this problem is kept: a repetition would get it again. */
export const isKeptProblem = ({ code, statusCode }: ProblemError): boolean =>
  statusCode === 422 || code === 'token-expired' || code === 'insufficient-scope';
