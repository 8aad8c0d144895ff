/** The consumers as the status page shows them: all are counted, the most urgent are listed. */
import { setImmediate } from 'node:timers/promises';
import { type Clock, toIso, toIsoOrNull } from '../clock.ts';
import { type Activity, activityOf, consumerPages } from '../leads/consumers.ts';
import type { Consumer, ConsumerKey } from '../store/consumers.ts';
import type { Store } from '../store/store.ts';
import type { ConsumerPolls } from './consumer-polls.ts';
import type { ConsumerStatus, ConsumersStatus } from './report.ts';

const MAX_LISTED = 200;
/** More pending leads are not counted, so that a consumer that stopped months ago does not slow down the page. */
export const MAX_PENDING_LEADS = 1000;
/** Reading 100,000 consumers takes a second or more. It is repeated only after ten times as long. */
const SLOW_READ_MS = 250;
const PAUSE_FACTOR = 10;

const RANKS: Readonly<Record<Activity, number>> = { stale: 0, active: 1, inactive: 2 };

export interface ConsumersReaderOptions {
  readonly store: Pick<Store, 'consumers'>;
  readonly clock: Clock;
  readonly polls: ConsumerPolls;
  /** Default: 1.5 times the usual interval of each consumer. */
  readonly staleAfterMs?: number | undefined;
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
    const { store, clock, polls, staleAfterMs } = this.#options;
    const now = clock();
    const stateOf = (consumer: Consumer) => activityOf(consumer, now, staleAfterMs);
    const counts = { active: 0, activeWithoutInterval: 0, stale: 0, inactive: 0 };
    let urgent: Ranked[] = [];
    for await (const page of consumerPages(store, { maxPendingLeads: 1, now })) {
      for (const consumer of page) {
        const activity = stateOf(consumer);
        counts[activity] += 1;
        if (activity === 'active' && consumer.intervalMs === null) counts.activeWithoutInterval += 1;
        urgent.push({ consumer, rank: RANKS[activity], name: consumer.name ?? consumer.tokenId ?? '' });
      }
      urgent = urgent.sort(compare).slice(0, MAX_LISTED);
      // SQLite answers nothing else while it reads.
      await setImmediate();
    }
    const consumers = urgent.map(({ consumer }) => consumer);
    const counted = await countPending(store, consumers, now);
    const listed = counted.map((consumer) => toStatus(consumer, stateOf(consumer), polls.read(consumer)));
    const durationMs = performance.now() - startedAt;
    if (durationMs > SLOW_READ_MS) this.#nextReadAt = performance.now() + PAUSE_FACTOR * durationMs;
    this.#last = { recorded: true, ...counts, listed };
    return this.#last;
  }
}

interface Ranked {
  readonly consumer: Consumer;
  readonly rank: number;
  readonly name: string;
}

/** As `localeCompare`, but made once: sorting 20,000 consumers would take a second. */
const { compare: compareText } = new Intl.Collator('en');

/** Stale first, then by name: an order in which rows do not move while all is well. */
const compare = (a: Ranked, b: Ranked): number =>
  a.rank - b.rank || compareText(a.name, b.name) || compareText(a.consumer.userId, b.consumer.userId);

const isSame = (a: ConsumerKey, b: ConsumerKey): boolean => a.userId === b.userId && a.tokenId === b.tokenId;

/** Only for the listed consumers that have any: counting takes longer than all the rest. */
async function countPending(
  store: Pick<Store, 'consumers'>,
  consumers: readonly Consumer[],
  now: number,
): Promise<readonly Consumer[]> {
  const behind = consumers.filter(({ pendingLeads }) => pendingLeads > 0);
  const counted: Consumer[] = [];
  for (const userId of new Set(behind.map((consumer) => consumer.userId))) {
    for await (const page of consumerPages(store, { userId, maxPendingLeads: MAX_PENDING_LEADS, now }))
      counted.push(...page);
    await setImmediate();
  }
  return consumers.map((consumer) => counted.find((other) => isSame(consumer, other)) ?? consumer);
}

const toStatus = (consumer: Consumer, state: Activity, pollsByHour: number[] | null): ConsumerStatus => ({
  tokenId: consumer.tokenId,
  name: consumer.name,
  userId: consumer.userId,
  companyId: consumer.user.companyId,
  state,
  lastPollAt: toIso(consumer.lastPollAt),
  lastStatus: consumer.lastStatus,
  usualIntervalSeconds: consumer.intervalMs === null ? null : consumer.intervalMs / 1000,
  confirmedThrough: toIsoOrNull(consumer.confirmedThrough),
  deliveredThrough: toIsoOrNull(consumer.deliveredThrough),
  waiting: consumer.pendingLeads,
  waitingSince: toIsoOrNull(consumer.pendingSince),
  pollsByHour,
});
