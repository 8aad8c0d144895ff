/** Records who sends leads, off the path of the requests: in memory, written in batches. */
import type { LeadError, ProblemCode } from '@leadtap/contract';
import type { VerifiedToken } from '../accounts/records.ts';
import { TokenBatches, type TokenEntry } from '../accounts/token-batches.ts';
import { storableExpiry, type TokenKey } from '../accounts/token-key.ts';
import { HOUR_MS, type HourCounts, hourOf } from '../attempts/hours.ts';
import { addAttempt, attempt, isFailure, type PendingAttempt } from '../attempts/merge-attempts.ts';
import { CLIENT_CLOSED_REQUEST_CODE } from '../attempts/store.ts';
import { shownNames } from '../leads/shown-names.ts';
import type { Clock } from '../lib/clock.ts';
import { dayOf, toDay } from './merge-senders.ts';
import type { SenderRefusal, SenderStore, SenderSummary } from './sender-store.ts';

export interface SenderRecorderOptions {
  readonly clock: Clock;
  /** Receives a line if senders cannot be recorded, at most once until they can be again. */
  readonly log?: { warn(line: object, message: string): void };
  /** At most this long after a request, its sender is written. */
  readonly flushMs?: number | undefined;
  /** Senders in memory. Requests of further ones are not recorded until the next write. */
  readonly maxSenders?: number;
}

/** Why a request was refused. */
export interface RefusedLeads {
  readonly code: ProblemCode;
  readonly errors?: readonly LeadError[] | undefined;
  /** Whether the request is held. */
  readonly isHeld: boolean;
}

/** A request that sends leads, and has ended. */
export interface EndedRequest {
  readonly status: number;
  /** Those that were added. Undefined: the request did not succeed. */
  readonly leads: number | undefined;
  /** Those that were there before: a repeated request adds nothing. */
  readonly updated: number;
  readonly refused: RefusedLeads | undefined;
  readonly durationMs?: number;
}

/** The requests of a sender. */
interface Entry extends TokenEntry {
  /** Undefined: it is not known. */
  tokenExpiresAt: number | null | undefined;
  source: string | null | undefined;
  lastRequestAt: number;
  lastAcceptedAt: number | null;
  lastRefusal: SenderRefusal | null;
  lastUnkeptAt: number | null;
  readonly hours: Map<number, HourEntry>;
  readonly attempts: PendingAttempt[];
}

interface HourEntry {
  accepted: number;
  refused: number;
  unkept: number;
  /** As the log counts them: also of limits, and failures of the service. */
  failed: number;
}

const EXPIRED: ProblemCode = 'token-expired';
/** The sender has to send it again, and most do. */
const DISCONNECTED = 499;
const REPEATED = [429, DISCONNECTED];

export class SenderRecorder {
  readonly #options: SenderRecorderOptions;
  readonly #batches: TokenBatches<Entry>;

  constructor(store: SenderStore, options: SenderRecorderOptions) {
    const { clock, log, flushMs, maxSenders } = options;
    this.#options = options;
    this.#batches = new TokenBatches({
      ...{ clock, flushMs, maxEntries: maxSenders, create: createEntry },
      write: (entries) => {
        const writtenAt = clock();
        return store.record(entries.map((entry) => toSummary(entry, writtenAt)));
      },
      prune: (now, before) => store.prune(now, before),
      onFailure: (err) => log?.warn({ err }, 'senders could not be recorded'),
    });
  }

  /** Records a request. A token that was refused with 401 counts if it has expired, or was issued here. */
  recordRequest(token: VerifiedToken, request: EndedRequest): void {
    const { status, leads, refused } = request;
    const isUnknown = status === 401 && refused?.code !== EXPIRED;
    const entry = isUnknown ? this.#batches.entryOfRefused(token) : this.#batches.entryOf(token);
    if (!entry) return;
    const at = this.#options.clock();
    entry.lastRequestAt = at;
    entry.tokenExpiresAt = storableExpiry(token);
    const logged = toAttempt(at, request);
    if (logged) addAttempt(entry.attempts, logged);
    if (logged && isFailure(logged)) hourEntryOf(entry, at).failed += 1;
    if (status !== 401) entry.source = token.source?.name ?? null;
    if (leads !== undefined) {
      entry.lastAcceptedAt = at;
      hourEntryOf(entry, at).accepted += leads;
    } else if (refused && status < 500 && !REPEATED.includes(status)) {
      const { code, errors, isHeld } = refused;
      entry.lastRefusal = {
        at,
        status,
        code,
        fields: shownNames((errors ?? []).map(({ field }) => field)),
      };
      const hour = hourEntryOf(entry, at);
      hour.refused += 1;
      if (isHeld) return;
      hour.unkept += 1;
      entry.lastUnkeptAt = at;
    }
  }

  /** The number of senders that are not written. */
  get size(): number {
    return this.#batches.size;
  }

  /** Writes what has been recorded. Does not reject: a database that fails loses bookkeeping, never a lead. */
  flush(): Promise<void> {
    return this.#batches.flush();
  }

  /** Writes the requests of one user, so that they are in the store when it is read next. Does not reject either. */
  flushUser(userId: string): Promise<void> {
    return this.#batches.flushUser(userId);
  }

  /** Writes once more, and waits for it for 2 seconds at most. Requests that end later are not recorded. */
  close(): Promise<void> {
    return this.#batches.close();
  }
}

const createEntry = ({ userId, tokenId }: TokenKey, mustBeIssued: boolean): Entry => ({
  userId,
  tokenId,
  mustBeIssued,
  tokenExpiresAt: undefined,
  source: undefined,
  lastRequestAt: 0,
  lastAcceptedAt: null,
  lastRefusal: null,
  lastUnkeptAt: null,
  hours: new Map(),
  attempts: [],
});

/** Undefined: a request with a known key has changed nothing. Without a spread, as `attempt`. */
function toAttempt(
  at: number,
  { status, leads, updated, refused, durationMs: exactMs = 0 }: EndedRequest,
): PendingAttempt | undefined {
  const durationMs = Math.round(exactMs);
  if (leads !== undefined)
    return leads + updated > 0 ? attempt('leads', at, { status, durationMs, leads, updated }) : undefined;
  // Also after a 400 or 408 of the HTTP parser: the rest of the body never came.
  if (status === DISCONNECTED) return attempt('failed', at, { durationMs, code: CLIENT_CLOSED_REQUEST_CODE });
  if (!refused) return undefined;
  const { code, errors = [] } = refused;
  const fields = shownNames(errors.map(({ field }) => field));
  return attempt(status < 500 ? 'refused' : 'failed', at, { status, durationMs, code, fields });
}

function hourEntryOf({ hours }: Entry, at: number): HourEntry {
  const hour = hourOf(at);
  const known = hours.get(hour);
  if (known) return known;
  const added = { accepted: 0, refused: 0, unkept: 0, failed: 0 };
  hours.set(hour, added);
  return added;
}

const toSummary = ({ hours, ...entry }: Entry, writtenAt: number): SenderSummary => ({
  ...entry,
  writtenAt,
  // Hours of a day are added up when they are stored.
  days: [...hours]
    .filter(([, { accepted, refused, unkept }]) => accepted + refused + unkept > 0)
    .map(([hour, { accepted, refused, unkept }]) => toDay(dayOf(hour * HOUR_MS), accepted, refused, unkept)),
  hours: [...hours]
    .map(([hour, { accepted, failed }]): HourCounts => [hour, accepted, failed])
    .filter(([, accepted, failed]) => accepted + failed > 0),
});
