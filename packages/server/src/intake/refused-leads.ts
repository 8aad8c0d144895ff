/** Keeps requests that were refused: queued in memory, written in batches. Their responses wait for the commit. */
import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LeadError } from '@leadtap/contract';
import type { VerifiedToken } from '../accounts/records.ts';
import { tokenKeyOf } from '../accounts/token-key.ts';
import type { ProblemError } from '../http/problems.ts';
import { waitFor } from '../lib/timeout.ts';
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
}

interface QueuedRequest {
  readonly refused: RefusedLeadWithBody;
  /** The responses that wait for it. */
  readonly onWritten: ((isWritten: boolean) => void)[];
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

export class RefusedLeadRecorder {
  readonly #store: RefusedLeadStore;
  readonly #options: RefusedLeadOptions;
  /** By company, then by sender and body. */
  readonly #queued = new Map<string, Map<string, QueuedRequest>>();
  readonly #bytesOfCompany = new Map<string, number>();
  #bytes = 0;
  #accepted: AcceptedRequest[] = [];
  #timer: NodeJS.Timeout | undefined;
  #removal: NodeJS.Timeout | undefined;
  #pruning: NodeJS.Timeout | undefined;
  /** Writes run one after the other. */
  #lastWrite: Promise<void> = Promise.resolve();
  #hasFailed = false;
  /** The last write of refused requests has failed. Reads may succeed meanwhile. */
  #isUnwritable = false;
  /** The rows of a transaction that is running. */
  #writing: readonly QueuedRequest[] = [];
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
   * Queues the request, and waits until it is written. Returns the problem for its response, which then says that it is kept. While the
   * database cannot be written it does not wait, and the response does not say so: the request is written later, or lost.
   */
  async keep(request: SentRequest, problem: ProblemError): Promise<ProblemError> {
    const queued = this.#add(request, problem);
    if (!queued) return problem;
    const isWritten =
      !this.#isUnwritable && (await new Promise<boolean>((resolve) => queued.onWritten.push(resolve)));
    return problem.asKept(isWritten ? KEPT_DETAIL : undefined);
  }

  #add({ companyId, token, body, mediaType }: SentRequest, problem: ProblemError): QueuedRequest | undefined {
    if (body.length === 0 || !this.mayKeep(body.length) || !MEDIA_TYPE.test(mediaType)) return undefined;
    const sender = { companyId, ...tokenKeyOf(token) };
    const ofCompany = this.#queued.get(companyId) ?? new Map<string, QueuedRequest>();
    const now = this.#options.clock();
    const bodyHash = hash('sha256', body);
    const key = keyOf({ ...sender, bodyHash });
    const known = ofCompany.get(key);
    if (!known && !this.#hasRoomFor(companyId, body.length)) return undefined;
    const refused: RefusedLeadWithBody = {
      ...sender,
      id: known?.refused.id ?? this.#options.createId(now),
      source: token.source?.name ?? null,
      answerMap: token.source?.map ?? null,
      timeZone: token.timeZone ?? null,
      receivedAt: known?.refused.receivedAt ?? now,
      lastAt: now,
      times: (known?.refused.times ?? 0) + 1,
      code: problem.code,
      errors: keptErrors(problem),
      mediaType,
      body,
      bodyHash,
    };
    const queued = { refused, onWritten: known?.onWritten ?? [] };
    ofCompany.set(key, queued);
    this.#queued.set(companyId, ofCompany);
    if (!known) this.#count(companyId, body.length + ROW_BYTES);
    this.#schedule(FLUSH_MS);
    return queued;
  }

  /** The leads of this request were written: an earlier attempt that was refused is not needed any more. */
  noteAccepted({ companyId, token, body }: SentRequest): void {
    if (this.#isClosed || body.length > MAX_KEPT_BYTES || this.#accepted.length === MAX_ACCEPTED) return;
    this.#accepted.push({
      companyId,
      userId: token.userId,
      source: token.source?.name ?? null,
      at: this.#options.clock(),
      bodyHash: hash('sha256', body),
    });
    this.#scheduleRemoval();
  }

  /** After what is queued, because it may have been refused before. */
  #scheduleRemoval(): void {
    this.#removal ??= setTimeout(async () => {
      await this.flush();
      this.#removal = undefined;
      if (this.#accepted.length > 0 && !this.#isClosed) this.#scheduleRemoval();
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
    const lastWriteAt = performance.now() + limitMs - MAX_WRITE_MS;
    await waitFor(Math.max(limitMs, MAX_WRITE_MS), this.#writeUntil(lastWriteAt));
    const queued = [...this.#queued.values()].flatMap((ofCompany) => [...ofCompany.values()]);
    return [...this.#writing, ...queued].map(({ refused }) => refused);
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

  #take(companyId: string, ofCompany: Map<string, QueuedRequest>): QueuedRequest | undefined {
    const [first] = ofCompany;
    if (!first) return undefined;
    const [key, queued] = first;
    ofCompany.delete(key);
    this.#queued.delete(companyId);
    // Behind the other companies.
    if (ofCompany.size > 0) this.#queued.set(companyId, ofCompany);
    this.#count(companyId, -queued.refused.body.length - ROW_BYTES);
    return queued;
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
    const batch = this.#takeBatch();
    if (batch.length === 0) return;
    this.#writing = batch;
    try {
      await this.#store.record(batch.map(({ refused }) => refused));
      this.#isUnwritable = false;
      answer(batch, true);
    } catch (error) {
      this.#isUnwritable = true;
      for (const { refused } of batch) this.#putBack(refused);
      // Those that are queued would wait for as long again.
      const queued = [...this.#queued.values()].flatMap((ofCompany) => [...ofCompany.values()]);
      answer([...batch, ...queued], false);
      throw error;
    } finally {
      this.#writing = [];
    }
  }

  async #removeAccepted(): Promise<void> {
    while (this.#accepted.length > 0) {
      const accepted = this.#accepted.slice(0, MAX_ACCEPTED_PER_TRANSACTION);
      await this.#store.removeAccepted(accepted);
      this.#accepted = this.#accepted.slice(accepted.length);
    }
  }

  /** The companies take turns. */
  #takeBatch(): QueuedRequest[] {
    const batch: QueuedRequest[] = [];
    let bytes = 0;
    for (const [companyId, ofCompany] of this.#queued) {
      if (bytes >= MAX_BYTES_PER_TRANSACTION) break;
      // The loop comes to the company again if it has more.
      const taken = this.#take(companyId, ofCompany);
      if (!taken) continue;
      batch.push(taken);
      bytes += taken.refused.body.length + ROW_BYTES;
    }
    return batch;
  }

  /** After a transaction that has failed. The same request may have been refused again meanwhile. */
  #putBack(refused: RefusedLeadWithBody): void {
    const { companyId, body, receivedAt, times } = refused;
    const ofCompany = this.#queued.get(companyId) ?? new Map<string, QueuedRequest>();
    const known = ofCompany.get(keyOf(refused));
    const merged = known && { ...known.refused, receivedAt, times: known.refused.times + times };
    ofCompany.set(keyOf(refused), { refused: merged ?? refused, onWritten: known?.onWritten ?? [] });
    this.#queued.set(companyId, ofCompany);
    if (!known) this.#count(companyId, body.length + ROW_BYTES);
  }
}

/** Of a queue of one company. */
const keyOf = ({ userId, tokenId, bodyHash }: SenderKey & Pick<RefusedLeadWithBody, 'bodyHash'>): string =>
  `${userId}\0${tokenId ?? ''}\0${bodyHash}`;

/** Responses that come later wait for a later write. */
function answer(requests: readonly QueuedRequest[], isWritten: boolean): void {
  for (const { onWritten } of requests) for (const resolve of onWritten.splice(0)) resolve(isWritten);
}

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
