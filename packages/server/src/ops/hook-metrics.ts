/** Metrics about webhook subscriptions. */
import type { FastifyBaseLogger } from 'fastify';
import { Counter, Gauge, type Registry } from 'prom-client';
import type { HookCounts, HookStore } from '../store/hooks.ts';

/** 0 would look healthy, and a gauge must not fail the whole scrape. */
const UNKNOWN: HookCounts = { active: Number.NaN, failing: Number.NaN, disabled: Number.NaN };

/** Returns what counts an attempt to send an event. */
export function addHookMetrics(
  registry: Registry,
  store: Pick<HookStore, 'countByState'>,
  log: Pick<FastifyBaseLogger, 'error'>,
): (outcome: string) => void {
  const registers = [registry];
  new Gauge({
    name: 'leadtap_hooks',
    help: 'Webhook subscriptions. failing: the last event was not accepted. disabled: none was for 3 days. The same on every instance.',
    labelNames: ['state'],
    registers,
    async collect() {
      const counts = await store.countByState().catch((error: unknown) => {
        log.error({ err: error }, 'the webhook subscriptions could not be read for the metrics');
        return UNKNOWN;
      });
      for (const [state, count] of Object.entries(counts)) this.set({ state }, count);
    },
  });
  const events = new Counter({
    name: 'leadtap_hook_events_total',
    help: 'Attempts to send a webhook event: accepted, refused, gone (410), timeout, unreachable, or not-allowed, which were not sent.',
    labelNames: ['outcome'],
    registers,
  });
  return (outcome) => events.inc({ outcome });
}
