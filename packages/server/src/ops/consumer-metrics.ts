/** Metrics about consumers. Every instance reports all consumers of the database, so take the maximum over the instances. */
import { setTimeout } from 'node:timers/promises';
import type { FastifyBaseLogger } from 'fastify';
import { Gauge, type Registry } from 'prom-client';
import type { Clock } from '../clock.ts';
import { type ConsumerSources, type ConsumerSummary, summarizeConsumers } from '../leads/consumers.ts';
import { STATUS_TIMEOUTS, type StatusTimeouts } from '../status/timeouts.ts';

export interface ConsumerMetricsOptions {
  readonly sources: ConsumerSources;
  readonly clock: Clock;
  /** Default: 1.5 times the usual interval of each consumer. */
  readonly staleAfterMs?: number | undefined;
  readonly log: Pick<FastifyBaseLogger, 'error'>;
  readonly timeouts?: StatusTimeouts | undefined;
}

/** The gauges of one scrape share a read. Positions are up to 5 seconds old anyway. */
const MIN_AGE_MS = 1000;
/** With 100,000 consumers a read takes seconds: at most a tenth of the time is spent on it. */
const MAX_SHARE = 10;
/** 0 would look healthy, and a gauge must not fail the whole scrape. */
const UNKNOWN: ConsumerSummary = { active: Number.NaN, stale: Number.NaN, longestWaitMs: Number.NaN };

/** Reads the consumers at most so often. */
function createSummarize({
  sources,
  clock,
  staleAfterMs,
  log,
  timeouts: { scrapeMs } = STATUS_TIMEOUTS,
}: ConsumerMetricsOptions): () => Promise<ConsumerSummary> {
  let last: { readonly at: number; readonly summary: Promise<ConsumerSummary> } | undefined;
  let validForMs = 0;
  /** Of the last read that has ended. */
  let known = UNKNOWN;
  const read = async (now: number): Promise<ConsumerSummary> => {
    const startedAt = performance.now();
    try {
      known = await summarizeConsumers(sources, now, staleAfterMs);
    } catch (error) {
      log.error({ err: error }, 'the consumers could not be read for the metrics');
      known = UNKNOWN;
    }
    validForMs = Math.max(MIN_AGE_MS, MAX_SHARE * (performance.now() - startedAt));
    return known;
  };
  const share = (): Promise<ConsumerSummary> => {
    const now = clock();
    // The distance, since the clock may have been set back.
    if (last && Math.abs(now - last.at) < validForMs) return last.summary;
    // Until it is known how long this read takes, further scrapes share it.
    validForMs = Number.POSITIVE_INFINITY;
    last = { at: now, summary: read(now) };
    return last.summary;
  };
  const giveUp = async (): Promise<ConsumerSummary> => {
    await setTimeout(scrapeMs, undefined, { ref: false });
    return known;
  };
  return () => Promise.race([share(), giveUp()]);
}

export function addConsumerMetrics(registry: Registry, options: ConsumerMetricsOptions): void {
  const summarize = createSummarize(options);
  const registers = [registry];

  new Gauge({
    name: 'leadtap_consumers',
    help: 'Tokens that poll. stale: has not polled for 1.5 times its usual interval, or for LEADTAP_STALE_AFTER. The same on every instance.',
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
