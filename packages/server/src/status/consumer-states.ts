/** What the stored positions of consumers mean: who has a lead, and who has stopped polling. */
import { consumerIdOf, hookSubjectOf } from '../attempts/store.ts';
import {
  type Consumer,
  type ConsumerKey,
  type ConsumerPosition,
  type ConsumerQuery,
  type ConsumerStore,
  type Downtime,
  type EndedConsumer,
  type EndedQuery,
  type MissedQuery,
  type Pending,
  positionOf,
  type TokenEnd,
} from '../consumers/store.ts';
import { hasEnded } from '../hooks/store.ts';
import { mayPoll } from '../leads/access.ts';
import { MAX_CLOCK_SKEW_MS, toIso, toIsoOrNull } from '../lib/clock.ts';
import { takeTurn } from '../lib/event-loop.ts';
import { pagesOf } from '../lib/pages.ts';
import {
  type ConsumerHook,
  type HookSources,
  hasAccepted,
  readConsumerHooks,
  sendsLeads,
  startOf,
  toConsumerHookJson,
} from './consumer-hooks.ts';
import { last24hOf, type RecordedSubject } from './last-hours.ts';

/**
 * - `active`: polls within its usual interval
 * - `stale`: should have polled again: for ever while leads wait for it
 * - `inactive`: has not polled for so long that it no longer counts, or was only tried
 */
export type Activity = 'active' | 'stale' | 'inactive';

/** `subscribed`: has a webhook subscription and has not polled yet, or has not accepted a lead yet. */
export type ConsumerState = Activity | 'subscribed';

/** A token that polls, or that has a webhook subscription and has not polled yet, or a webhook subscription that sends leads. */
export interface ListedConsumer extends ConsumerKey {
  readonly name: string | null;
  readonly companyId: string;
  /** Undefined: it has not polled yet, or never polls because its hook sends leads. */
  readonly consumer: Consumer | undefined;
  /** Its pending leads then. Undefined for a hook that has sent all leads. */
  readonly announced?: Pending | undefined;
  readonly hook: ConsumerHook | undefined;
  /** Of a hook that sends leads, as in `Consumer`. */
  readonly missedLeads?: readonly number[];
  /** The same for all. */
  readonly downtimes: readonly Downtime[];
}

/** Its webhook subscription, if that sends leads. */
export const leadHookOf = ({ hook }: Pick<ListedConsumer, 'hook'>): ConsumerHook | undefined =>
  hook && sendsLeads(hook) ? hook : undefined;

/** The public id of a consumer. A webhook that sends leads is one by itself. */
export function publicIdOf(listed: ListedConsumer): string {
  const id = leadHookOf(listed)?.id;
  return id === undefined ? consumerIdOf(listed) : hookSubjectOf(id);
}

export const missedLeadsOf = ({ consumer, missedLeads = [] }: ListedConsumer): readonly number[] =>
  consumer?.missedLeads ?? missedLeads;

/** In `received_leads`. */
export const receivedKeyOf = (listed: Pick<ListedConsumer, 'userId' | 'tokenId' | 'hook'>): ConsumerKey => ({
  userId: listed.userId,
  tokenId: leadHookOf(listed)?.id ?? listed.tokenId,
});

/** For the leads after one time and up to another. */
export const missedQueryOf = (
  listed: Pick<ListedConsumer, 'userId' | 'tokenId' | 'hook' | 'consumer'>,
  after: number | null,
  through: number,
): MissedQuery => ({
  ...receivedKeyOf(listed),
  scopes: (listed.consumer ?? leadHookOf(listed))?.scopes ?? null,
  ...{ after, through },
});

export const pendingOf = ({ consumer, announced }: ListedConsumer): Pending | undefined =>
  consumer ?? announced;

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const STUCK_INTERVALS = 4;
/** A consumer that has stopped is noticed within two intervals. */
export const STALE_INTERVALS = 1.5;
/** Polls are written every 5 seconds, so that a short interval alone would be too strict. */
const MIN_DELAY_MS = 10_000;
/** A token that was tried for an hour does not count as stale for days. */
const STALE_SHARE = 10;
const MAX_STALE_MS = 7 * DAY_MS;
/** Fewer are a person who tries a token once: leads that come later do not wait for it. */
export const MIN_POLLS = 3;
/** In a shorter time, a person tries a token: it is stale only if leads wait for it for a day. */
const MIN_POLLING_MS = 10 * MINUTE_MS;

/** When the consumer last polled. One that waits for a lead (`Prefer: wait`) polls until its wait ends. */
const seenAt = ({ lastPollAt, heldUntil }: ConsumerPosition, now: number): number =>
  Math.max(lastPollAt, Math.min(heldUntil ?? lastPollAt, now));

/** What decides whether a consumer is late. */
type PollTimes = ConsumerPosition &
  Partial<Pick<Consumer, 'pendingSince' | 'unconfirmedSince' | 'downtime' | 'tokenEnded'>>;

/** It has polled as an automation does, not only as a person who tries a token. */
export const isAutomation = ({
  polls,
  firstPollAt,
  lastPollAt,
}: Pick<ConsumerPosition, 'polls' | 'firstPollAt' | 'lastPollAt'>): boolean =>
  polls >= MIN_POLLS && lastPollAt - firstPollAt >= MIN_POLLING_MS;

/** 1.5 usual intervals, and at least 10 s longer than usual, or a time that the operator has chosen. */
function staleAfterOf(consumer: PollTimes, chosenMs?: number): number {
  const intervalMs = consumer.intervalMs ?? 0;
  const usualMs = Math.max(intervalMs * STALE_INTERVALS, intervalMs + MIN_DELAY_MS);
  return isAutomation(consumer) ? (chosenMs ?? usualMs) : Math.max(usualMs, MIN_POLLING_MS);
}

/**
 * Since when the consumer has not polled. While the service was unavailable it could not: a consumer that was not late before has
 * its whole time again.
 */
function silentSince(consumer: PollTimes, now: number, chosenMs?: number): number {
  const seen = seenAt(consumer, now);
  const { downtime = null } = consumer;
  if (downtime === null || seen >= downtime.availableSince) return seen;
  const wasLate = downtime.unavailableSince - seen > staleAfterOf(consumer, chosenMs);
  return wasLate ? seen : Math.min(downtime.availableSince, now);
}

/**
 * How long the consumer has not polled although it should. One with a webhook subscription need not poll before there is a lead for it.
 */
export function silenceOf(listed: ListedConsumer, now: number, chosenMs?: number): number {
  const { consumer, hook } = listed;
  if (!consumer) return leadHookOf(listed) ? (waitMsOfLeadHook(listed, now) ?? 0) : 0;
  const silentFrom = silentSince(consumer, now, chosenMs);
  if (!hook) return now - silentFrom;
  const { pendingSince, user } = consumer;
  if (pendingSince === null || !mayPoll(user)) return 0;
  return now - Math.max(silentFrom, Math.min(pendingSince, now));
}

/** How long the oldest lead has been pending for a hook that sends leads. Null: none is. */
export function waitMsOfLeadHook({ announced, hook }: ListedConsumer, now: number): number | null {
  const { pendingSince = null } = announced ?? {};
  return !hook || pendingSince === null ? null : Math.max(0, now - Math.max(pendingSince, hook.createdAt));
}

/**
 * The service was unavailable, and the consumer has not polled since, but may still come in time: neither late nor known to poll.
 * Neither is one whose last poll is of the future: the clock was set back since.
 */
export const isAwaited = (listed: ListedConsumer, now: number, chosenMs?: number): boolean => {
  const { consumer } = listed;
  if (!consumer || !isAutomation(consumer)) return false;
  if (consumer.lastPollAt > now + MAX_CLOCK_SKEW_MS) return true;
  const silentFrom = silentSince(consumer, now, chosenMs);
  return silentFrom > seenAt(consumer, now) && consumerStateOf(listed, now, chosenMs) === 'active';
};

/** It may have polled since its last poll that is recorded. */
const isUnrecorded = (consumer: Consumer | undefined): boolean =>
  consumer?.downtime?.isUnrecorded === true && consumer.lastPollAt < consumer.downtime.availableSince;

/**
 * A consumer that should have polled is stale while leads wait for it, however long ago that was: only a poll, the end of its token or
 * `leadtap consumers forget` ends that. Without such leads it is stale for 10 times as long as it polled, but at most 7 days.
 */
export function activityOf(
  consumer: PollTimes,
  now: number,
  chosenMs?: number,
  silentMs = now - silentSince(consumer, now, chosenMs),
): Activity {
  const { firstPollAt, lastPollAt, polls, tokenEnded } = consumer;
  const staleAfterMs = staleAfterOf(consumer, chosenMs);
  if (silentMs <= staleAfterMs) return 'active';
  // Its client has stopped, as it should.
  if (tokenEnded === 'revoked') return 'inactive';
  const isBehind = (consumer.pendingSince ?? null) !== null || wasStuck(consumer);
  if (!isAutomation(consumer)) {
    if (!isBehind || positionOf(consumer) === null) return 'inactive';
    if (silentMs <= DAY_MS) return 'active';
    return polls < MIN_POLLS ? 'inactive' : 'stale';
  }
  const staleForMs = Math.min(MAX_STALE_MS, (lastPollAt - firstPollAt) * STALE_SHARE);
  return isBehind || silentMs <= staleAfterMs + staleForMs ? 'stale' : 'inactive';
}

/** It has an interval, and is not late. */
export function pollsAsUsual(listed: ListedConsumer, now: number, chosenMs?: number): boolean {
  const { consumer } = listed;
  if (!consumer || consumer.intervalMs === null) return false;
  return silenceOf(listed, now, chosenMs) <= staleAfterOf(consumer, chosenMs);
}

/** When it last polled, it had received leads for so long without confirming them that it was stuck. */
function wasStuck({ confirmedAt, unconfirmedSince = null, lastPollAt, intervalMs }: PollTimes): boolean {
  if (confirmedAt === null || unconfirmedSince === null) return false;
  return lastPollAt - Math.max(confirmedAt, unconfirmedSince) > maxUnconfirmedMs(intervalMs);
}

const maxUnconfirmedMs = (intervalMs: number | null): number =>
  Math.max(HOUR_MS, STUCK_INTERVALS * (intervalMs ?? 0));

export function consumerStateOf(listed: ListedConsumer, now: number, chosenMs?: number): ConsumerState {
  if (listed.consumer) return activityOf(listed.consumer, now, chosenMs, silenceOf(listed, now, chosenMs));
  const leadHook = leadHookOf(listed);
  if (leadHook?.state === 'disabled') return 'stale';
  if (hasEnded(leadHook?.state)) return listed.announced?.pendingLeads ? 'stale' : 'inactive';
  return leadHook && hasAccepted(leadHook) ? 'active' : 'subscribed';
}

/**
 * The client polls, and gets the same leads again and again: it has not sent a later `since` for an hour and four usual intervals.
 * One that always asks for the last day sends a later one each time.
 */
export function isStuck(listed: ListedConsumer, now: number, chosenMs?: number): boolean {
  const { consumer } = listed;
  const { confirmedAt = null, unconfirmedSince = null, intervalMs = null } = consumer ?? {};
  if (!consumer || confirmedAt === null || unconfirmedSince === null) return false;
  return (
    seenAt(consumer, now) - Math.max(confirmedAt, unconfirmedSince) > maxUnconfirmedMs(intervalMs) &&
    consumerStateOf(listed, now, chosenMs) === 'active'
  );
}

/** What every output says about a consumer. */
export function consumerFactsOf(listed: ListedConsumer, now: number, chosenMs?: number) {
  const { tokenId, name, userId, companyId, consumer, hook } = listed;
  const leadHook = leadHookOf(listed);
  const position = consumer ?? positionOfLeadHook(leadHook);
  const intervalMs = consumer?.intervalMs ?? null;
  return {
    ...{ tokenId, name, userId, companyId },
    state: consumerStateOf(listed, now, chosenMs),
    tokenExpiresAt: toIsoOrNull((consumer ?? leadHook)?.tokenExpiresAt ?? null),
    firstPollAt: toIsoOrNull(position?.firstPollAt ?? null),
    lastPollAt: toIsoOrNull(consumer?.lastPollAt ?? null),
    lastStatus: consumer?.lastStatus ?? null,
    usualIntervalSeconds: intervalMs === null ? null : intervalMs / 1000,
    confirmedThrough: toIsoOrNull(position?.confirmedThrough ?? null),
    deliveredThrough: toIsoOrNull(position?.deliveredThrough ?? null),
    pendingLeads: pendingOf(listed)?.pendingLeads ?? 0,
    pendingSince: toIsoOrNull(pendingOf(listed)?.pendingSince),
    skippedLeads: consumer?.skippedLeads ?? missedLeadsOf(listed).length,
    skippedSince: toIsoOrNull(consumer ? consumer.skippedSince : missedLeadsOf(listed).at(-1)),
    missedLeads: missedLeadsOf(listed).length,
    unconfirmedSince: toIsoOrNull(consumer?.unconfirmedSince ?? null),
    isStuck: isStuck(listed, now, chosenMs),
    tokenEnded: tokenEndOfHook(listed) ?? consumer?.tokenEnded ?? null,
    isAwaited: isAwaited(listed, now, chosenMs),
    isUnrecorded: isUnrecorded(consumer),
    hook: toConsumerHookJson(hook),
    last24h: last24hOf(recordedOf(listed), now, listed.downtimes),
  };
}

const recordedOf = ({ consumer, hook }: ListedConsumer): readonly RecordedSubject[] => [
  ...(consumer ? [{ hours: consumer.hours, lastAt: consumer.lastPollAt }] : []),
  ...(hook?.recorded ?? []),
];

/** With the names of `leadtap consumers --json` and `/status.json`, which outside programs rely on. */
export function toConsumerJson<F extends ReturnType<typeof consumerFactsOf>>(facts: F) {
  const { pendingLeads: waiting, pendingSince: waitingSince, skippedLeads: skipped, ...rest } = facts;
  return { ...rest, waiting, waitingSince, skipped };
}

function tokenEndOfHook({ hook }: ListedConsumer): TokenEnd | undefined {
  if (hook?.state === 'key-removed') return hook.state;
  return hook?.state === 'expired' && sendsLeads(hook) ? hook.state : undefined;
}

/** Accepted leads are confirmed. Those from before the subscription are not sent. */
export const positionOfLeadHook = (hook: ConsumerHook | undefined) =>
  hook && {
    firstPollAt: hook.createdAt,
    // Null: there was no lead in the company yet.
    confirmedThrough: hook.announcedThrough > 0 ? hook.announcedThrough : null,
    deliveredThrough: hook.announcedThrough > 0 ? hook.announcedThrough : null,
    gaps:
      hook.announcedSince === null
        ? []
        : [{ after: null, through: hook.announcedSince, isBeforeStart: true }],
  };

/** As the console needs them for `leadStateOf`: a lead that was moved and missed is a gap of its own. */
export function toGapsJson(listed: ListedConsumer) {
  const { gaps = [] } = listed.consumer ?? positionOfLeadHook(leadHookOf(listed)) ?? {};
  const missed = missedLeadsOf(listed).map((through) => ({
    after: through - 1,
    through,
    isBeforeStart: false,
  }));
  return [...gaps, ...missed].map(({ after, through, isBeforeStart }) => ({
    ...{ after: toIsoOrNull(after), through: toIso(through), isBeforeStart },
  }));
}

/** SQLite answers no poll while it reads a page: some milliseconds. */
const CONSUMERS_PER_PAGE = 100;

export interface ConsumerSources extends HookSources {
  readonly consumers: ConsumerStore;
}

/** All consumers, or those of a company or a user, page by page. */
export const consumerPages = (
  { consumers }: Pick<ConsumerSources, 'consumers'>,
  query: Omit<ConsumerQuery, 'limit' | 'after'>,
): AsyncGenerator<readonly Consumer[]> =>
  pagesOf(
    CONSUMERS_PER_PAGE,
    (after, limit) => consumers.list({ ...query, after, limit }),
    query.companyId ?? query.userId,
  );

/** Those that do not exist any more, page by page. */
export const endedConsumerPages = (
  { consumers }: Pick<ConsumerSources, 'consumers'>,
  query: Omit<EndedQuery, 'limit' | 'after'>,
): AsyncGenerator<readonly EndedConsumer[]> =>
  pagesOf(
    CONSUMERS_PER_PAGE,
    (after, limit) => consumers.listEnded({ ...query, after, limit }),
    query.userId,
  );

/** For each hook that sends leads: those since its subscription that it has missed. */
async function findMissedOfHooks(
  consumers: ConsumerStore,
  hooks: readonly ConsumerHook[],
  limit: number,
): Promise<Map<ConsumerHook, readonly number[]>> {
  const found = new Map<ConsumerHook, readonly number[]>();
  for (let start = 0; start < hooks.length; start += CONSUMERS_PER_PAGE) {
    const page = hooks.slice(start, start + CONSUMERS_PER_PAGE);
    const queries = page.map((hook) =>
      missedQueryOf({ ...hook, hook, consumer: undefined }, hook.announcedSince, hook.announcedThrough),
    );
    const missed = await consumers.findMissed(queries, limit);
    for (const [index, hook] of page.entries()) found.set(hook, missed[index] ?? []);
    // SQLite reads synchronously.
    await takeTurn(page[0]?.userId);
  }
  return found;
}

/** The same, with their webhook subscriptions. Tokens that have not polled yet, and hooks that send leads, are on the last page. */
export async function* listedConsumerPages(
  sources: ConsumerSources,
  query: Omit<ConsumerQuery, 'limit' | 'after'>,
): AsyncGenerator<readonly ListedConsumer[]> {
  const { consumers } = sources;
  await takeTurn(query.companyId ?? query.userId);
  const consumerHooks = await readConsumerHooks(sources, query);
  const downtimes = await consumers.listDowntimes();
  for await (const page of consumerPages({ consumers }, query))
    yield page.map((consumer) => {
      const { userId, tokenId, user } = consumer;
      const hook = consumerHooks.take(consumer);
      const name = hook?.name ?? consumer.name;
      return { userId, tokenId, name, companyId: user.companyId, consumer, hook, downtimes };
    });
  const others: ListedConsumer[] = [];
  const leadHooks = consumerHooks.sendingLeads.map(({ hook }) => hook);
  const missed = await findMissedOfHooks(consumers, leadHooks, query.maxPendingLeads);
  const subscribed = consumerHooks.rest().map((hook) => ({ hook, isPending: true }));
  for (const { hook, isPending } of [...subscribed, ...consumerHooks.sendingLeads]) {
    const { userId, tokenId, name, companyId } = hook;
    const { maxPendingLeads } = query;
    const announced = isPending
      ? await consumers.findPending({ userId, since: startOf(hook), maxPendingLeads })
      : undefined;
    const missedLeads = missed.get(hook) ?? [];
    const facts = { announced, hook, missedLeads, downtimes };
    others.push({ userId, tokenId, name, companyId, consumer: undefined, ...facts });
    // SQLite reads synchronously.
    await takeTurn(query.companyId ?? query.userId);
  }
  yield others;
}
