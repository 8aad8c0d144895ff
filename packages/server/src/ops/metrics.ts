import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { IntakeObservation, IntakeObserver } from '../intake/endpoint.ts';
import type { WatchReserved } from '../lib/reserved.ts';
import type { PollObservation, PollObserver } from '../poll/endpoint.ts';

export interface Metrics extends PollObserver, IntakeObserver {
  readonly registry: Registry;
  readonly watchReserved: WatchReserved;
  countDroppedConnection(): void;
}

/** The state of the rate limits that instances share over Redis. */
interface SharedLimitsState {
  readonly isUp: boolean;
  readonly fallbacks: number;
}

let processRegistry: Registry | undefined;

/** Once in a process: the observers behind them cannot be removed. Includes nodejs_eventloop_lag_seconds and its quantiles. */
function processMetrics(): Registry {
  if (!processRegistry) {
    processRegistry = new Registry();
    collectDefaultMetrics({ register: processRegistry });
    // These gauges have names of counters, which `promtool check metrics` reports. The same without `_total` is there by type.
    for (const name of ['handles', 'requests', 'resources'])
      processRegistry.removeSingleMetric(`nodejs_active_${name}_total`);
  }
  return processRegistry;
}

const DURATION_BUCKETS_S = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

export function makeMetrics(sharedLimits?: SharedLimitsState): Metrics {
  const registry = new Registry();
  const registers = [registry];
  const counter = <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
    new Counter({ name, help, labelNames, registers });
  const polls = counter(
    'leadtap_polls_total',
    'Requests to the endpoint, by the status of their answer.',
    'status',
  );
  const duration = new Histogram({
    name: 'leadtap_poll_duration_seconds',
    help: 'From the arrival of a request to the last byte of its answer, without the time that it waited for a lead.',
    labelNames: ['status'],
    buckets: DURATION_BUCKETS_S,
    registers,
  });
  const leads = counter('leadtap_leads_delivered_total', 'Leads sent in answers, repeated ones included.');
  const refusals = counter(
    'leadtap_rate_limit_refusals_total',
    'Requests refused with 429, by the limit that was reached.',
    'policy',
  );
  const feedLag = new Histogram({
    name: 'leadtap_feed_lag_seconds',
    help: 'How long the oldest lead of a page had been waiting for a client that polls with since.',
    buckets: [1, 5, 15, 30, 60, 120, 180, 300, 600, 1800, 3600, 21_600, 86_400],
    registers,
  });
  const unlocked = counter(
    'leadtap_polls_unlocked_total',
    'Polls answered without the lock because a writer held it for too long.',
  );
  const intakeRequests = counter(
    'leadtap_intake_requests_total',
    'Requests that send leads, by the status of their answer.',
    'status',
  );
  const intakeDuration = new Histogram({
    name: 'leadtap_intake_duration_seconds',
    help: 'From the arrival of a request that sends leads to the last byte of its answer.',
    labelNames: ['status'],
    buckets: DURATION_BUCKETS_S,
    registers,
  });
  const received = counter(
    'leadtap_leads_received_total',
    'Leads stored by requests that send leads, by result: added or updated.',
    'result',
  );
  const dropped = counter(
    'leadtap_connections_dropped_total',
    'Connections closed at once because as many are open as the limit of open files allows.',
  );
  const waiting = new Gauge({
    name: 'leadtap_waiting_polls',
    help: 'Requests that wait for a lead now (Prefer: wait).',
    registers,
  });
  const reserved = new Map<string, () => number>();
  new Gauge({
    name: 'leadtap_reserved',
    help: 'What requests and webhook events have reserved of a limited resource; 0 while nothing is under way.',
    labelNames: ['resource'],
    registers,
    collect() {
      for (const [resource, read] of reserved) this.set({ resource }, read());
    },
  });
  if (sharedLimits) addSharedLimits(registry, sharedLimits);

  /** The metrics of a status, whose labels are looked up once. */
  const byStatus = new Map<number, ReturnType<typeof ofStatus>>();
  const ofStatus = (status: number) => ({
    polls: polls.labels(String(status)),
    duration: duration.labels(String(status)),
  });

  const observeRefusal = (violatedPolicies: readonly string[]) => {
    for (const policy of violatedPolicies) refusals.inc({ policy });
  };

  return {
    registry: Registry.merge([processMetrics(), registry]),
    countDroppedConnection: () => dropped.inc(),
    observeWaiting: (count) => waiting.set(count),
    watchReserved: (resource, read) => reserved.set(resource, read),
    observeRefusal,
    observe(observation: PollObservation) {
      const { status, durationMs, waitedMs, feedLagMs } = observation;
      const metrics = byStatus.get(status) ?? ofStatus(status);
      byStatus.set(status, metrics);
      metrics.polls.inc();
      metrics.duration.observe((durationMs - waitedMs) / 1000);
      if (observation.leads > 0) leads.inc(observation.leads);
      if (feedLagMs !== undefined) feedLag.observe(feedLagMs / 1000);
      if (observation.unlocked) unlocked.inc();
      observeRefusal(observation.violatedPolicies);
    },
    observeIntake({ status, durationMs, added, updated, violatedPolicies }: IntakeObservation) {
      intakeRequests.inc({ status });
      intakeDuration.observe({ status }, durationMs / 1000);
      if (added > 0) received.inc({ result: 'added' }, added);
      if (updated > 0) received.inc({ result: 'updated' }, updated);
      observeRefusal(violatedPolicies);
    },
  };
}

/** Only with Redis: a 0 would otherwise raise an alarm where no Redis is configured. */
function addSharedLimits(registry: Registry, state: SharedLimitsState): void {
  new Gauge({
    name: 'leadtap_shared_limits_up',
    help: '1 while the limits are shared over Redis, 0 while each instance limits by itself.',
    registers: [registry],
    collect() {
      this.set(state.isUp ? 1 : 0);
    },
  });
  new Counter({
    name: 'leadtap_limits_fallback_total',
    help: 'Requests limited from the memory of this process because Redis was unreachable.',
    registers: [registry],
    collect() {
      this.reset();
      this.inc(state.fallbacks);
    },
  });
}
