/** Metrics about webhook events. */
import { Counter, type Registry } from 'prom-client';

/** Returns what counts an attempt to send an event. */
export function addHookMetrics(registry: Registry): (outcome: string) => void {
  const events = new Counter({
    name: 'leadtap_hook_events_total',
    help: 'Attempts to send a webhook event: accepted, refused, gone (410), timeout, unreachable, or not-allowed, which were not sent.',
    labelNames: ['outcome'],
    registers: [registry],
  });
  return (outcome) => events.inc({ outcome });
}
