/** The consumers in the diagnosis: all are judged and counted, the most urgent are listed. */
import { isSameConsumer, positionOf } from '../consumers/store.ts';
import { hasEnded } from '../hooks/store.ts';
import { CLIENT_CLOSED_REQUEST } from '../http/exchange.ts';
import { mayPoll } from '../leads/access.ts';
import { type Clock, toIso } from '../lib/clock.ts';
import { startOf } from './consumer-hooks.ts';
import {
  type ConsumerSources,
  type ConsumerState,
  consumerFactsOf,
  consumerPages,
  consumerStateOf,
  endedConsumerPages,
  isAutomation,
  isAwaited,
  isStuck,
  type ListedConsumer,
  leadHookOf,
  listedConsumerPages,
  MIN_POLLS,
  missedLeadsOf,
  pendingOf,
  pollsAsUsual,
  publicIdOf,
  waitMsOfLeadHook,
} from './consumer-states.ts';
import {
  type RemovedViewer,
  toDeletedViewer,
  toEndedViewer,
  toViewerSource,
  type ViewerSource,
} from './coverage-pieces.ts';
import {
  CONSUMER_PROBLEMS,
  type ConsumerProblem,
  type ConsumerStatus,
  type ConsumersStatus,
} from './report.ts';
import { MAX_PENDING_LEADS } from './sentences.ts';

const MAX_LISTED = 200;
/** A slow read is repeated only after ten times as long. */
const PAUSE_FACTOR = 10;

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const EXPIRES_SOON_MS = 7 * DAY_MS;
/** Of the lifetime: a token that was issued for a day is meant to expire. */
const EXPIRES_SOON_SHARE = 1 / 3;
const RATE_LIMITED = 429;
/** A lead is sent at once, and again after 5 s, 30 s and 2 min. */
const MAX_HOOK_PENDING_MS = 2 * 60_000;
/** Leads may be pending for an hour, and for longer if the consumer polls rarely. */
const MAX_PENDING_INTERVALS = 4;
const SKIPPED_MS = 7 * DAY_MS;

export const NO_CONSUMERS: ConsumersStatus = {
  recorded: false,
  ...{
    active: 0,
    activeWithoutInterval: 0,
    activeByWebhook: 0,
    notAllowed: 0,
    stale: 0,
    inactive: 0,
    subscribed: 0,
    removed: 0,
  },
  problems: noProblems(),
  ...{ behind: 0, longestWaitSeconds: 0, downtime: null, coverage: null, listed: [] },
};

function noProblems(): Record<ConsumerProblem, number> {
  const counts = CONSUMER_PROBLEMS.map((problem) => [problem, 0] as const);
  return Object.fromEntries(counts) as Record<ConsumerProblem, number>;
}

export interface ConsumersReaderOptions {
  readonly sources: ConsumerSources;
  readonly clock: Clock;
  /** Default: 1.5 times the usual interval of each consumer. */
  readonly staleAfterMs?: number | undefined;
  readonly slowReadMs: number;
}

export interface ReadConsumers {
  readonly status: ConsumersStatus;
  readonly viewers: readonly ViewerSource[];
}

/** Reads once for all calls that are made meanwhile. */
export class ConsumersReader {
  readonly #options: ConsumersReaderOptions;
  #running: Promise<ReadConsumers> | undefined;
  #last: ReadConsumers | undefined;
  #nextReadAt = 0;

  constructor(options: ConsumersReaderOptions) {
    this.#options = options;
  }

  async read(): Promise<ReadConsumers> {
    if (this.#last && performance.now() < this.#nextReadAt) return this.#last;
    // After a read that took too long for its page, the next page has the result before.
    if (this.#running && this.#last) return this.#last;
    this.#running ??= this.#readAll().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #readAll(): Promise<ReadConsumers> {
    const startedAt = performance.now();
    this.#last = await readConsumers(this.#options);
    const durationMs = performance.now() - startedAt;
    if (durationMs > this.#options.slowReadMs)
      this.#nextReadAt = performance.now() + PAUSE_FACTOR * durationMs;
    return this.#last;
  }
}

async function readConsumers({
  sources,
  clock,
  staleAfterMs,
}: ConsumersReaderOptions): Promise<ReadConsumers> {
  const now = clock();
  const counts = noCounts();
  const viewers: ViewerSource[] = [];
  let urgent: Judged[] = [];
  for await (const page of listedConsumerPages(sources, { maxPendingLeads: 1, now })) {
    for (const listed of page) {
      const judged = judge(listed, now, staleAfterMs);
      addTo(counts, judged);
      urgent.push(judged);
      viewers.push(toViewerSource(judged, now));
    }
    urgent = urgent.sort(compare).slice(0, MAX_LISTED);
  }
  const removed = await readRemoved(sources, { now });
  counts.removed = removed.length;
  viewers.push(...removed);
  const counted = await countPending(
    sources,
    urgent.map(({ listed }) => listed),
    now,
  );
  const listed = urgent.map((one) =>
    toStatus({ ...one, listed: counted.get(one.listed) ?? one.listed }, now, staleAfterMs),
  );
  return { status: { ...counts, listed }, viewers };
}

/** What consumers had received that are not listed any more. */
export async function readRemoved(
  sources: Pick<ConsumerSources, 'consumers'>,
  query: { readonly userId?: string; readonly now: number },
): Promise<readonly RemovedViewer[]> {
  const removed: RemovedViewer[] = [];
  for await (const page of consumerPages(sources, { ...query, maxPendingLeads: 1, areRevoked: true }))
    removed.push(...page.map(toEndedViewer));
  for await (const page of endedConsumerPages(sources, query)) removed.push(...page.map(toDeletedViewer));
  return removed;
}

export const toStatus = (
  { listed, problems }: Judged,
  now: number,
  staleAfterMs: number | undefined,
): ConsumerStatus => ({
  ...consumerFactsOf(listed, now, staleAfterMs),
  problems,
  key: publicIdOf(listed),
  isHeld: (listed.consumer?.heldUntil ?? 0) > now,
});

export interface Judged {
  readonly listed: ListedConsumer;
  readonly state: ConsumerState;
  /** Not one that was tried twice, yesterday. */
  readonly pollsAsUsual: boolean;
  /** How long the oldest lead has been pending. Null: none is. */
  readonly waitMs: number | null;
  /** The same. Null also if the consumer may not have it. */
  readonly pendingMs: number | null;
  readonly problems: readonly ConsumerProblem[];
}

export function judge(listed: ListedConsumer, now: number, staleAfterMs: number | undefined): Judged {
  const state = consumerStateOf(listed, now, staleAfterMs);
  const waitMs = waitMsOf(listed, now);
  const pendingMs = mayHavePending(listed) ? waitMs : null;
  const problems: ConsumerProblem[] = [];
  const pollProblem = pollProblemOf({ listed, state, pendingMs }, now, staleAfterMs);
  if (pollProblem) problems.push(pollProblem);
  if (state !== 'inactive' && hasSkipped(listed, now)) problems.push('leads-skipped');
  if (state !== 'inactive' && expiresSoon(listed, now)) problems.push('tokens-expiring');
  const hookState = listed.hook?.state ?? 'active';
  if (hookState === 'failing' || hookState === 'disabled') problems.push(`hooks-${hookState}`);
  const asUsual = pollsAsUsual(listed, now, staleAfterMs);
  return { listed, state, pollsAsUsual: asUsual, waitMs, pendingMs, problems };
}

function waitMsOf(listed: ListedConsumer, now: number): number | null {
  if (leadHookOf(listed)) return waitMsOfLeadHook(listed, now);
  const { consumer } = listed;
  const { pendingSince = null } = pendingOf(listed) ?? {};
  if (pendingSince === null || (consumer && positionOf(consumer) === null)) return null;
  // The time in which no poll could be answered does not count.
  return Math.max(0, now - Math.max(pendingSince, consumer?.downtime?.availableSince ?? 0));
}

function mayHavePending(listed: ListedConsumer): boolean {
  const user = pendingOf(listed)?.user;
  if (!user || !mayPoll(user)) return false;
  // If its events are not accepted, that is the problem.
  return listed.consumer !== undefined || !!leadHookOf(listed) || listed.hook?.state === 'active';
}

/** The most urgent one alone, so that the diagnosis names a consumer that does not poll as it should once. */
function pollProblemOf(
  { listed, state, pendingMs }: Pick<Judged, 'listed' | 'state' | 'pendingMs'>,
  now: number,
  staleAfterMs: number | undefined,
): ConsumerProblem | undefined {
  const { consumer } = listed;
  const lastStatus = consumer?.lastStatus ?? null;
  if (hasEnded(listed.hook?.state) && pendingOf(listed)?.pendingLeads) return 'token-revoked-in-use';
  if (leadHookOf(listed)) return leadHookProblemOf(listed, pendingMs);
  if (state === 'stale') return stoppedProblemOf(consumer);
  if (consumer?.tokenEnded && state === 'active') return 'token-revoked-in-use';
  if (isAwaited(listed, now, staleAfterMs)) return 'consumers-awaited';
  if (state === 'active' && lastStatus === RATE_LIMITED && pendingMs !== null) return 'consumers-limited';
  if (state !== 'inactive' && pendingMs !== null && pendingMs > maxPendingMsOf(listed))
    return 'leads-waiting';
  if (isStuck(listed, now, staleAfterMs)) return 'leads-waiting';
  return state === 'active' && isRefusal(lastStatus) ? 'consumers-refused' : undefined;
}

/** A token that was only tried, or whose user may not poll any more, is no error for ever. */
function stoppedProblemOf(consumer: ListedConsumer['consumer']): ConsumerProblem {
  if (!consumer || consumer.pendingSince === null) return 'consumers-stale';
  if (!mayPoll(consumer.user)) return 'consumers-refused';
  return isAutomation(consumer) ? 'consumers-stale' : 'leads-waiting';
}

/** While it is failing or disabled, that is its problem. */
function leadHookProblemOf({ announced, hook }: ListedConsumer, pendingMs: number | null) {
  if (announced?.pendingLeads && !mayPoll(announced.user)) return 'consumers-refused';
  return hook?.state === 'active' && (pendingMs ?? 0) > MAX_HOOK_PENDING_MS ? 'leads-waiting' : undefined;
}

/** One with a webhook subscription gets an event for each lead: its interval does not matter. */
function maxPendingMsOf({ consumer, hook }: ListedConsumer): number {
  if (hook || !consumer) return HOUR_MS;
  if (consumer.polls < MIN_POLLS) return Number.POSITIVE_INFINITY;
  return Math.max(HOUR_MS, MAX_PENDING_INTERVALS * (consumer.intervalMs ?? 0));
}

/** A client that disconnected before the response was not refused, and one that polls too often gets its leads later. */
export const isRefusal = (status: number | null): boolean =>
  status !== null &&
  status >= 400 &&
  status < 500 &&
  status !== CLIENT_CLOSED_REQUEST &&
  status !== RATE_LIMITED;

/**
 * Tokens that were issued here: an identity provider replaces its own. One that has ended is not expiring any more. A hook that sends
 * leads ends with its token in any case.
 */
function expiresSoon(listed: ListedConsumer, now: number): boolean {
  const { consumer } = listed;
  const leadHook = leadHookOf(listed);
  if (hasEnded(leadHook?.state)) return false;
  if (leadHook) return (leadHook.tokenExpiresAt ?? Number.POSITIVE_INFINITY) - now <= EXPIRES_SOON_MS;
  const { tokenIssuedAt: issuedAt = null, tokenExpiresAt: expiresAt = null, tokenEnded } = consumer ?? {};
  if (issuedAt === null || expiresAt === null || expiresAt <= now || tokenEnded) return false;
  return isInLastDays({ issuedAt, expiresAt }, now);
}

/** Whether a token ends within 7 days, or within the last third of its lifetime if that is shorter. */
export const isInLastDays = (
  { issuedAt, expiresAt }: { readonly issuedAt: number; readonly expiresAt: number },
  now: number,
): boolean => expiresAt - now <= Math.min(EXPIRES_SOON_MS, (expiresAt - issuedAt) * EXPIRES_SOON_SHARE);

/** Leads that were skipped count for a week, unless they are sent after all: by then a person has decided. */
function hasSkipped(listed: ListedConsumer, now: number): boolean {
  const { consumer } = listed;
  if (missedLeadsOf(listed).some((createdAt) => now - createdAt <= SKIPPED_MS)) return true;
  if (!consumer || consumer.skippedLeads === 0) return false;
  return consumer.gaps.some(({ isBeforeStart, through }) => !isBeforeStart && now - through <= SKIPPED_MS);
}

export type Counts = { -readonly [Name in keyof ConsumersStatus]: ConsumersStatus[Name] } & {
  readonly problems: Record<ConsumerProblem, number>;
};

export const noCounts = (): Counts => ({ ...NO_CONSUMERS, recorded: true, problems: noProblems() });

export function addTo(counts: Counts, { listed, state, pollsAsUsual, waitMs, problems }: Judged): void {
  const { consumer } = listed;
  counts[state] += 1;
  for (const problem of problems) counts.problems[problem] += 1;
  if (consumer?.downtime) {
    const { unavailableSince, availableSince } = consumer.downtime;
    counts.downtime = { from: toIso(unavailableSince), until: toIso(availableSince) };
  }
  if (state === 'active' && consumer && !pollsAsUsual) counts.activeWithoutInterval += 1;
  const leadHook = leadHookOf(listed);
  if (state === 'active' && leadHook) {
    counts.activeByWebhook += 1;
    if (!leadHook.isAllowed) counts.notAllowed += 1;
  }
  if (state === 'inactive') return;
  if ((pendingOf(listed)?.pendingSince ?? null) !== null) counts.behind += 1;
  counts.longestWaitSeconds = Math.max(counts.longestWaitSeconds, (waitMs ?? 0) / 1000);
}

/** They need no attention at once. */
const MINOR: readonly ConsumerProblem[] = ['consumers-refused', 'consumers-awaited', 'tokens-expiring'];
/** Those behind come before the others. A lead of a moment ago moves no row. */
export const MIN_BEHIND_MS = 5 * 60_000;
const RANKS: Readonly<Record<ConsumerState, number>> = { stale: 0, subscribed: 2, active: 3, inactive: 4 };

/** Those with a problem first, then those with a warning, then by name: an order in which rows do not move while all is well. */
function rankOf({ state, problems, pendingMs }: Judged): number {
  if (problems.some((problem) => !MINOR.includes(problem))) return 0;
  if (problems.some((problem) => problem !== 'consumers-awaited')) return 1;
  if (state !== 'inactive' && pendingMs !== null && pendingMs > MIN_BEHIND_MS) return 1.25;
  return problems.length > 0 ? 1.5 : RANKS[state];
}

/** As `localeCompare`, but made once: sorting 20,000 consumers would take a second. */
const { compare: compareText } = new Intl.Collator('en');
const sortName = ({ name, tokenId }: ListedConsumer): string => name ?? tokenId ?? '';

const compare = (a: Judged, b: Judged): number =>
  rankOf(a) - rankOf(b) ||
  compareText(sortName(a.listed), sortName(b.listed)) ||
  compareText(a.listed.userId, b.listed.userId);

/** Only for the listed consumers that have any: counting takes longer than all the rest. */
async function countPending(
  sources: ConsumerSources,
  listed: readonly ListedConsumer[],
  now: number,
): Promise<Map<ListedConsumer, ListedConsumer>> {
  const counted = new Map<ListedConsumer, ListedConsumer>();
  for (const one of listed)
    if (one.hook && one.announced?.pendingLeads) {
      const pending = { userId: one.userId, since: startOf(one.hook), maxPendingLeads: MAX_PENDING_LEADS };
      const announced = await sources.consumers.findPending(pending);
      counted.set(one, { ...one, announced });
    }
  const behind = listed.filter(
    ({ consumer }) => consumer && consumer.pendingLeads + consumer.skippedLeads > 0,
  );
  for (const userId of new Set(behind.map((one) => one.userId)))
    for await (const page of consumerPages(sources, { userId, maxPendingLeads: MAX_PENDING_LEADS, now }))
      for (const consumer of page) {
        const one = behind.find((other) => isSameConsumer(other, consumer));
        if (one) counted.set(one, { ...one, consumer });
      }
  return counted;
}
