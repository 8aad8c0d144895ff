/** Holds requests that were refused: written in batches. Their responses wait for the commit. */
import { hash } from 'node:crypto';
import type { LeadError } from '@leadtap/contract';
import type { VerifiedToken } from '../accounts/records.ts';
import { tokenKeyOf } from '../accounts/token-key.ts';
import type { ProblemError } from '../http/problems.ts';
import { waitFor } from '../lib/timeout.ts';
import type { AcceptedRequest, RefusedLeadStore, RefusedLeadWithBody, SenderKey } from './store.ts';

/** Of the body of a request that is held. */
export const MAX_HELD_BYTES = 64 * 1024;

export interface RefusedLeadOptions {
  readonly clock: () => number;
  /** Makes ids that sort by this time. */
  readonly createId: (now: number) => string;
  /** False: nothing is held. */
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
  readonly responses: readonly PendingResponse[];
}

interface PendingResponse {
  resolve(isHeld: boolean): void;
  reject(error: unknown): void;
}

const FLUSH_MS = 20;
/** By then, other instances have written what they refused before. */
const REMOVE_MS = 1000;
/** A database that hangs must not delay the stop. */
const MAX_CLOSE_MS = 2500;
/** What a row takes besides its body. */
const ROW_BYTES = 4096;
/** SQLite answers no poll meanwhile: some milliseconds. */
const MAX_BYTES_PER_TRANSACTION = 512 * 1024;
/** A further one is forgotten: its row stays. */
const MAX_ACCEPTED = 20_000;
const MAX_ACCEPTED_PER_TRANSACTION = 1000;
const HOUR_MS = 3_600_000;
const MAX_HELD_ERRORS = 50;
const MAX_DETAIL_LENGTH = 500;
/** A header that can be stored and read again. */
const MEDIA_TYPE = /^[ -~]{1,500}$/;

export class RefusedLeadRecorder {
  readonly #store: RefusedLeadStore;
  readonly #options: RefusedLeadOptions;
  /** By company, then by sender and body. */
  readonly #queued = new Map<string, Map<string, QueuedRequest>>();
  #accepted: AcceptedRequest[] = [];
  #timer: NodeJS.Timeout | undefined;
  #removal: NodeJS.Timeout | undefined;
  #pruning: NodeJS.Timeout | undefined;
  /** Writes run one after the other. */
  #lastWrite: Promise<void> = Promise.resolve();
  #hasFailed = false;
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

  /** Whether a body of this size may be held. Undefined: of unknown size. */
  mayHold(bytes: number | undefined): boolean {
    return this.#options.isOn && !this.#isClosed && (bytes ?? 0) <= MAX_HELD_BYTES;
  }

  /** Whether the request is held, after it is written. Rejects if the database cannot be written: then the sender must repeat it. */
  async hold({ companyId, token, body, mediaType }: SentRequest, problem: ProblemError): Promise<boolean> {
    if (body.length === 0 || !this.mayHold(body.length) || !MEDIA_TYPE.test(mediaType)) return false;
    const sender = { companyId, ...tokenKeyOf(token) };
    const ofCompany = this.#queued.get(companyId) ?? new Map<string, QueuedRequest>();
    this.#queued.set(companyId, ofCompany);
    const now = this.#options.clock();
    const bodyHash = hash('sha256', body);
    const key = keyOf({ ...sender, bodyHash });
    const known = ofCompany.get(key);
    const refused: RefusedLeadWithBody = {
      ...sender,
      client: token.client ?? null,
      id: known?.refused.id ?? this.#options.createId(now),
      source: token.source?.name ?? null,
      answerMap: token.source?.map ?? null,
      timeZone: token.timeZone ?? null,
      receivedAt: known?.refused.receivedAt ?? now,
      lastAt: now,
      times: (known?.refused.times ?? 0) + 1,
      code: problem.code,
      errors: heldErrors(problem),
      mediaType,
      body,
      bodyHash,
    };
    this.#schedule();
    return new Promise((resolve, reject) => {
      ofCompany.set(key, { refused, responses: [...(known?.responses ?? []), { resolve, reject }] });
    });
  }

  /** The leads of this request were written: an earlier attempt that was refused is not needed any more. */
  noteAccepted({ companyId, token, body }: SentRequest): void {
    if (this.#isClosed || body.length > MAX_HELD_BYTES || this.#accepted.length === MAX_ACCEPTED) return;
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

  /** Writes what is queued, and deletes what was accepted. Does not reject. */
  flush(): Promise<void> {
    return this.#enqueue(async () => {
      while (this.#queued.size > 0) await this.#writeBatch();
      await this.#removeAccepted();
    });
  }

  /** Flushes, for 2.5 seconds at most. */
  close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#removal);
    clearInterval(this.#pruning);
    return waitFor(MAX_CLOSE_MS, this.flush());
  }

  #schedule(): void {
    this.#timer ??= setTimeout(async () => {
      await this.#enqueue(() => this.#writeBatch());
      this.#timer = undefined;
      if (this.#queued.size > 0) this.#schedule();
    }, FLUSH_MS).unref();
  }

  #enqueue(work: () => Promise<void>): Promise<void> {
    this.#lastWrite = this.#lastWrite.then(async () => {
      try {
        await work();
        this.#hasFailed = false;
      } catch (error) {
        if (!this.#hasFailed)
          this.#options.log?.warn({ err: error }, 'held requests could not be deleted, and are tried again');
        this.#hasFailed = true;
      }
    });
    return this.#lastWrite;
  }

  /** Does not reject: the responses do. */
  async #writeBatch(): Promise<void> {
    const batch = this.#takeBatch();
    if (batch.length === 0) return;
    try {
      const held = await this.#store.record(batch.map(({ refused }) => refused));
      for (const { refused, responses } of batch)
        for (const { resolve } of responses) resolve(held.has(refused.id));
    } catch (error) {
      for (const { responses } of batch) for (const { reject } of responses) reject(error);
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
      const [first] = ofCompany;
      this.#queued.delete(companyId);
      if (!first) continue;
      const [key, queued] = first;
      ofCompany.delete(key);
      // Behind the other companies: the loop comes to it again.
      if (ofCompany.size > 0) this.#queued.set(companyId, ofCompany);
      batch.push(queued);
      bytes += queued.refused.body.length + ROW_BYTES;
    }
    return batch;
  }
}

/** Of a queue of one company. */
const keyOf = ({ userId, tokenId, bodyHash }: SenderKey & Pick<RefusedLeadWithBody, 'bodyHash'>): string =>
  `${userId}\0${tokenId ?? ''}\0${bodyHash}`;

/** Quoted texts in details are values of the body, or names that `field` has as well. */
const QUOTED = /"(?:[^"\\]|\\.)*"?/g;

/** The errors without values of the body: they are shown in lists. */
const heldErrors = ({ parts: { errors = [] } }: ProblemError): LeadError[] =>
  errors
    .slice(0, MAX_HELD_ERRORS)
    .flatMap((error) =>
      'index' in error
        ? [{ ...error, detail: error.detail.replace(QUOTED, '"…"').slice(0, MAX_DETAIL_LENGTH) }]
        : [],
    );

/** Whether a request with this problem can be held: a repetition would get it again. */
export const isHoldable = ({ code, statusCode }: ProblemError): boolean =>
  statusCode === 422 || code === 'token-expired' || code === 'insufficient-scope';
