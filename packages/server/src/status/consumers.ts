/** The consumers as the status page shows them: all are counted, the most urgent are listed. */
import { setImmediate } from 'node:timers/promises';
import type { Clock } from '../clock.ts';
import { CLIENT_CLOSED_REQUEST } from '../http/exchange.ts';
import {
  type ConsumerSources,
  type ConsumerState,
  consumerPages,
  consumerStateOf,
  type ListedConsumer,
  listedConsumerPages,
  toConsumerJson,
} from '../leads/consumers.ts';
import { type Consumer, isSameConsumer } from '../store/consumers.ts';
import type { ConsumerPolls } from './consumer-polls.ts';
import type { ConsumerStatus, ConsumersStatus } from './report.ts';

const MAX_LISTED = 200;
/** More pending leads are not counted, so that a consumer that stopped months ago does not slow down the page. */
export const MAX_PENDING_LEADS = 1000;
/** A slow read is repeated only after ten times as long. */
const PAUSE_FACTOR = 10;

const DAY_MS = 86_400_000;
const EXPIRES_SOON_MS = 7 * DAY_MS;
/** Of the lifetime: a token that was issued for a day is meant to expire. */
const EXPIRES_SOON_SHARE = 1 / 3;
const RATE_LIMITED = 429;

const RANKS: Readonly<Record<ConsumerState, number>> = { stale: 0, subscribed: 2, active: 3, inactive: 4 };
const RANK_OF_PROBLEM = 0;
const RANK_OF_WARNING = 1;

export interface ConsumersReaderOptions {
  readonly sources: ConsumerSources;
  readonly clock: Clock;
  readonly polls: ConsumerPolls;
  /** Default: 1.5 times the usual interval of each consumer. */
  readonly staleAfterMs?: number | undefined;
  readonly slowReadMs: number;
}

/** Reads once for all calls that are made meanwhile. */
export class ConsumersReader {
  readonly #options: ConsumersReaderOptions;
  #running: Promise<ConsumersStatus> | undefined;
  #last: ConsumersStatus | undefined;
  #nextReadAt = 0;

  constructor(options: ConsumersReaderOptions) {
    this.#options = options;
  }

  async read(): Promise<ConsumersStatus> {
    if (this.#last && performance.now() < this.#nextReadAt) return this.#last;
    // After a read that took too long for its page, the next page has the result before.
    if (this.#running && this.#last) return this.#last;
    this.#running ??= this.#readAll().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #readAll(): Promise<ConsumersStatus> {
    const startedAt = performance.now();
    const { sources, clock, polls, staleAfterMs, slowReadMs } = this.#options;
    const now = clock();
    const counts = {
      ...{ active: 0, activeWithoutInterval: 0, stale: 0, inactive: 0, subscribed: 0 },
      ...{ refused: 0, expiring: 0 },
    };
    let urgent: Ranked[] = [];
    for await (const page of listedConsumerPages(sources, { maxPendingLeads: 1, now })) {
      for (const listed of page) {
        const state = consumerStateOf(listed, now, staleAfterMs);
        counts[state] += 1;
        if (state === 'active' && listed.consumer?.intervalMs === null) counts.activeWithoutInterval += 1;
        const isRefused = state === 'active' && isRefusal(listed.consumer?.lastStatus ?? null);
        const isExpiring = state !== 'inactive' && expiresSoon(listed, now);
        if (isRefused) counts.refused += 1;
        if (isExpiring) counts.expiring += 1;
        const warningRank = isRefused || isExpiring ? RANK_OF_WARNING : RANKS[state];
        const rank = hasHookProblem(listed) ? RANK_OF_PROBLEM : Math.min(RANKS[state], warningRank);
        urgent.push({ listed, rank, name: listed.name ?? listed.tokenId ?? '' });
      }
      urgent = urgent.sort(compare).slice(0, MAX_LISTED);
      // SQLite answers nothing else while it reads.
      await setImmediate();
    }
    const counted = await countPending(
      sources,
      urgent.map(({ listed }) => listed),
      now,
    );
    const listed: ConsumerStatus[] = counted.map((one) => ({
      ...toConsumerJson(one, now, staleAfterMs),
      tokenExpiresSoon: expiresSoon(one, now),
      pollsByHour: polls.read(one),
    }));
    const durationMs = performance.now() - startedAt;
    if (durationMs > slowReadMs) this.#nextReadAt = performance.now() + PAUSE_FACTOR * durationMs;
    this.#last = { recorded: true, ...counts, listed };
    return this.#last;
  }
}

/** A client that disconnected before the response was not refused, and one that polls too often gets its leads later. */
export const isRefusal = (status: number | null): boolean =>
  status !== null &&
  status >= 400 &&
  status < 500 &&
  status !== CLIENT_CLOSED_REQUEST &&
  status !== RATE_LIMITED;

/** An expired token is not expiring any more: its consumer is stale. */
const expiresSoon = ({ consumer }: ListedConsumer, now: number): boolean => {
  const { tokenIssuedAt: issuedAt = null, tokenExpiresAt: expiresAt = null } = consumer ?? {};
  if (issuedAt === null || expiresAt === null || expiresAt <= now) return false;
  return expiresAt - now <= Math.min(EXPIRES_SOON_MS, (expiresAt - issuedAt) * EXPIRES_SOON_SHARE);
};

const hasHookProblem = ({ hook }: ListedConsumer): boolean => hook !== undefined && hook.state !== 'active';

interface Ranked {
  readonly listed: ListedConsumer;
  readonly rank: number;
  readonly name: string;
}

/** As `localeCompare`, but made once: sorting 20,000 consumers would take a second. */
const { compare: compareText } = new Intl.Collator('en');

/** Stale first, and those whose webhooks fail, then refused and expiring ones, then by name: an order in which rows do not move while all is well. */
const compare = (a: Ranked, b: Ranked): number =>
  a.rank - b.rank || compareText(a.name, b.name) || compareText(a.listed.userId, b.listed.userId);

/** Only for the listed consumers that have any: counting takes longer than all the rest. */
async function countPending(
  sources: ConsumerSources,
  listed: readonly ListedConsumer[],
  now: number,
): Promise<readonly ListedConsumer[]> {
  const behind = listed.filter(({ consumer }) => consumer && consumer.pendingLeads > 0);
  const counted: Consumer[] = [];
  for (const userId of new Set(behind.map((one) => one.userId))) {
    for await (const page of consumerPages(sources, { userId, maxPendingLeads: MAX_PENDING_LEADS, now }))
      counted.push(...page);
    await setImmediate();
  }
  return listed.map((one) => ({
    ...one,
    consumer: counted.find((other) => isSameConsumer(one, other)) ?? one.consumer,
  }));
}
