/** Records who polls and how far each has come, off the path of the polls: in memory, written in batches. */
import type { VerifiedToken } from '../accounts/records.ts';
import { TokenBatches } from '../accounts/token-batches.ts';
import { storableExpiry } from '../accounts/token-key.ts';
import type { LeadScope } from '../leads/record.ts';
import { laterOf, MIN_TIME } from '../lib/clock.ts';
import type { EndedPoll, PollFacts, PollPage, PollRecorder } from '../poll/store.ts';
import { addPollAttempt, addRefusal, NO_ATTEMPTS, type PollAttempts } from './poll-attempts.ts';
import { isSameScope } from './scopes.ts';
import {
  type ConsumerKey,
  type ConsumerStore,
  MIN_DOWNTIME_MS,
  type PollSummary,
  type SentPage,
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
type Entry = {
  -readonly [Key in
    | keyof Omit<PollSummary, 'sent' | 'sentPages' | 'writtenAt' | keyof PollAttempts>
    | 'polls']: PollSummary[Key];
} & PollAttempts & {
    mustBeIssued: boolean;
    /** As in `PollSummary`, but from before all times instead of null. */
    sent: readonly { after: number; through: number }[];
    sentPages: readonly SentPage[];
    /** What was sent before the access of the user was changed. */
    earlier: readonly Entry[];
  };

/** Of an entry. Further ones count as not sent. */
const MAX_RANGES = 9;
/** One array for all entries: most polls are empty. */
const NOTHING_SENT: Entry['sent'] = [];
const NO_PAGES: Entry['sentPages'] = [];
const NO_ENTRIES: Entry['earlier'] = [];
/** Of an entry. Moved leads of further ones count as not sent. */
const MAX_PAGES = 100;
/** The database is tried so often after a 503. */
const RETRY_MS = 1000;
const REFUSED = 401;

export class ConsumerRecorder implements PollRecorder {
  readonly #store: ConsumerStore;
  readonly #options: RecorderOptions;
  readonly #batches: TokenBatches<Entry>;
  #isUnavailable = false;

  constructor(store: ConsumerStore, options: RecorderOptions) {
    const { clock, log, flushMs, maxConsumers } = options;
    this.#store = store;
    this.#options = options;
    this.#batches = new TokenBatches({
      ...{ clock, flushMs, maxEntries: maxConsumers, create: createEntry },
      write: (entries) => {
        const writtenAt = clock();
        return store.record(
          entries.flatMap((entry) =>
            entry.earlier.length === 0
              ? toSummary(entry, writtenAt)
              : [...entry.earlier, entry].map((one) => toSummary(one, writtenAt)),
          ),
        );
      },
      prune: (now, before) => store.prune(now, before),
      onFailure: (err) => log?.warn({ err }, 'polls of consumers could not be recorded'),
    });
  }

  recordPoll(token: VerifiedToken, poll: EndedPoll): void {
    const { at, status, page } = poll;
    const entry = this.#batches.entryOf(token);
    if (!entry) return;
    repoll(entry, token, at);
    entry.polls += 1;
    entry.lastStatus = status;
    if (page) addPage(entry, page);
    addPollAttempt(entry, poll);
  }

  recordRefusedToken(token: VerifiedToken, at: number, facts?: PollFacts): void {
    const entry = this.#batches.entryOfRefused(token);
    if (!entry) return;
    repoll(entry, token, at);
    entry.polls += 1;
    entry.lastStatus = REFUSED;
    addRefusal(entry, at, REFUSED, facts);
  }

  recordUnavailable(at: number): void {
    if (this.#isUnavailable || this.#batches.isClosed) return;
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
      if (!this.#batches.isClosed) setTimeout(() => void retry(), RETRY_MS).unref();
    };
    schedule();
  }

  /** Records that the service has started. Call it before the first poll, which is written later. */
  start(): void {
    const now = this.#options.clock();
    this.#batches.beforeWrites(
      () => this.#store.recordDowntime(now),
      (err) => this.#options.log?.warn({ err }, 'the start could not be recorded'),
    );
  }

  recordWait(token: VerifiedToken, at: number, until: number, page: WaitingPage): void {
    const entry = this.#batches.entryOf(token);
    if (!entry) return;
    repoll(entry, token, at);
    entry.heldUntil = laterOf(entry.heldUntil, until);
    confirm(entry, page, 0);
  }

  /** Writes what has been recorded. Does not reject: a database that fails loses bookkeeping, never a poll. */
  flush(): Promise<void> {
    return this.#batches.flush();
  }

  /** Writes the polls of one user, so that they are in the store when it is read next. Does not reject either. */
  flushUser(userId: string): Promise<void> {
    return this.#batches.flushUser(userId);
  }

  /** Writes once more, and waits for it for 2 seconds at most. Polls that end later are not recorded. */
  close(): Promise<void> {
    return this.#batches.close(() => this.#recordStop());
  }

  async #recordStop(): Promise<void> {
    // Like a crash: what was sent is not known.
    if (this.#batches.size > 0) return;
    try {
      await this.#store.recordStop(this.#options.clock());
    } catch {
      // The time of the last poll is then used instead.
    }
  }
}

/** One literal: V8 takes several times as long for an object that is spread from several. */
const createEntry = ({ userId, tokenId }: ConsumerKey, mustBeIssued: boolean): Entry => ({
  userId,
  tokenId,
  tokenExpiresAt: null,
  lastPollAt: 0,
  lastStatus: 200,
  mustBeIssued,
  polls: 0,
  heldUntil: null,
  confirmedThrough: null,
  deliveredThrough: null,
  sent: NOTHING_SENT,
  sentPages: NO_PAGES,
  earlier: NO_ENTRIES,
  scope: undefined,
  attempts: NO_ATTEMPTS,
  firstEmptyAt: null,
});

/** The last poll is now, and its token may be another one. */
function repoll(entry: Entry, token: VerifiedToken, at: number): void {
  entry.lastPollAt = at;
  entry.tokenExpiresAt = storableExpiry(token);
}

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
    sentPages: entry.sentPages,
    attempts: entry.attempts,
    firstEmptyAt: entry.firstEmptyAt,
    scope: entry.scope,
  };
}

type WaitingPage = Pick<PollPage, 'scope' | 'since' | 'readAt'>;

function confirm(entry: Entry, { scope, since, readAt }: WaitingPage, count: number): void {
  if (entry.scope !== scope) setScope(entry, scope);
  if (since !== undefined && since >= MIN_TIME)
    entry.confirmedThrough = laterOf(entry.confirmedThrough, confirmedBy(since, readAt, count));
}

function addPage(entry: Entry, page: PollPage): void {
  const { scope, since, leads, isFull, isSent } = page;
  confirm(entry, page, leads.count);
  if (!isSent || leads.first === undefined || leads.last === undefined) return;
  const newest = since === undefined ? leads.first : leads.last;
  entry.deliveredThrough = laterOf(entry.deliveredThrough, newest);
  // Without `since`, the newest lead is first, and a page that is not full has all leads.
  const before = isFull ? leads.last - 1 : Number.NEGATIVE_INFINITY;
  addSent(entry, since ?? before, newest);
  addSentPage(entry, scope, leads.createdAt);
}

/** The pages of a summary have one scope. When the access of the user has changed, what was sent before is one of its own. */
function setScope(entry: Entry, scope: LeadScope): void {
  if (entry.scope && !isSameScope(entry.scope, scope)) {
    const before = { ...entry, polls: 0, attempts: NO_ATTEMPTS, firstEmptyAt: null, earlier: NO_ENTRIES };
    entry.earlier = [...entry.earlier, before];
    entry.sent = NOTHING_SENT;
    entry.sentPages = NO_PAGES;
  }
  entry.scope = scope;
}

function addSentPage(entry: Entry, scope: LeadScope, createdAt: readonly number[]): void {
  if (entry.sentPages.length === MAX_PAGES) return;
  // A client without `since` gets the same cached page again and again.
  if (entry.sentPages.at(-1)?.createdAt !== createdAt)
    entry.sentPages = [...entry.sentPages, { scope, createdAt }];
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
