/** Metrics about consumers. Every instance reports all consumers of the database, so take the maximum over the instances. */
import type { FastifyBaseLogger } from 'fastify';
import { Gauge, type Registry } from 'prom-client';
import type { Clock } from '../clock.ts';
import { type ConsumerSummary, summarizeConsumers } from '../leads/consumers.ts';
import type { Store } from '../store/store.ts';

export interface ConsumerMetricsOptions {
  readonly store: Pick<Store, 'consumers'>;
  readonly clock: Clock;
  readonly log: Pick<FastifyBaseLogger, 'error'>;
}

/** The gauges of one scrape share a read. Positions are up to 5 seconds old anyway. */
const MAX_AGE_MS = 1000;

export function addConsumerMetrics(registry: Registry, { store, clock, log }: ConsumerMetricsOptions): void {
  let last: { readonly at: number; readonly summary: Promise<ConsumerSummary> } | undefined;
  /** All values are NaN if the store fails: 0 would look healthy, and a gauge must not fail the whole scrape. */
  const summarize = (): Promise<ConsumerSummary> => {
    const now = clock();
    if (last && Math.abs(now - last.at) < MAX_AGE_MS) return last.summary;
    const summary = summarizeConsumers(store, now).catch((error: unknown) => {
      log.error({ err: error }, 'the consumers could not be read for the metrics');
      return { active: Number.NaN, stale: Number.NaN, longestWaitMs: Number.NaN };
    });
    last = { at: now, summary };
    return summary;
  };
  const registers = [registry];

  new Gauge({
    name: 'leadtap_consumers',
    help: 'Tokens that poll. stale: has not polled for 1.5 times its usual interval. The same on every instance.',
    labelNames: ['state'],
    registers,
    async collect() {
      const { active, stale } = await summarize();
      this.set({ state: 'active' }, active);
      this.set({ state: 'stale' }, stale);
    },
  });
  new Gauge({
    name: 'leadtap_longest_lead_wait_seconds',
    help: 'How long the oldest lead that an active or stale consumer has not got has been waiting. The same on every instance.',
    registers,
    async collect() {
      this.set((await summarize()).longestWaitMs / 1000);
    },
  });
}
