/** The metrics that are read from the database: those of the diagnosis, and the figures behind it. */
import { setTimeout } from 'node:timers/promises';
import { Gauge, type Registry } from 'prom-client';
import { STATUS_TIMEOUTS, type StatusTimeouts } from '../status/read-status.ts';
import type { StatusReport } from '../status/report.ts';
import { RULES } from '../status/rules.ts';

export interface StatusMetricsOptions {
  /** Reads once for all calls that are made meanwhile. */
  readonly readStatus: () => Promise<StatusReport>;
  readonly hasConsumers: boolean;
  readonly hasHooks: boolean;
  readonly timeouts?: StatusTimeouts | undefined;
}

/** After a read that takes too long, the report before; undefined if there is none. */
function createRead({ readStatus, timeouts: { scrapeMs } = STATUS_TIMEOUTS }: StatusMetricsOptions) {
  let known: StatusReport | undefined;
  const read = async (): Promise<StatusReport> => {
    known = await readStatus();
    return known;
  };
  const giveUp = async (): Promise<StatusReport | undefined> => {
    await setTimeout(scrapeMs, undefined, { ref: false });
    return known;
  };
  return () => Promise.race([read(), giveUp()]);
}

/** What could not be read is NaN: 0 would look healthy, and a gauge must not fail the whole scrape. */
export function addStatusMetrics(registry: Registry, options: StatusMetricsOptions): void {
  const read = createRead(options);
  const gauge = <Label extends string>(
    name: string,
    help: string,
    labelNames: Label[],
    set: (gauge: Gauge<Label>, report: StatusReport | undefined) => void,
  ) =>
    new Gauge({
      ...{ name, help, labelNames, registers: [registry] },
      async collect() {
        set(this, await read());
      },
    });

  gauge(
    'leadtap_problem',
    'Whether the diagnosis finds this problem: 1 or 0, for each rule and level. The status page has its sentence and what to do.',
    ['name', 'level'],
    (metric, report) => {
      for (const { name, levels } of RULES)
        for (const level of levels) {
          const isFound = report?.problems.some(({ kind, severity }) => kind === name && severity === level);
          metric.set({ name, level }, isFound === undefined ? Number.NaN : Number(isFound));
        }
    },
  );
  gauge(
    'leadtap_stamps_ahead_seconds',
    'How far the newest createdAt of any company lies ahead of the clock after a burst.',
    [],
    (metric, report) => metric.set(report?.database.stampsAheadSeconds ?? Number.NaN),
  );
  if (options.hasHooks)
    gauge(
      'leadtap_hooks',
      'Webhook subscriptions. failing: the last request was not accepted. disabled: no event was for 3 days, or leads were answered with 410. The same on every instance.',
      ['state'],
      (metric, report) => {
        for (const state of ['active', 'failing', 'disabled'] as const)
          metric.set({ state }, report?.hooks?.[state] ?? Number.NaN);
      },
    );
  if (!options.hasConsumers) return;
  gauge(
    'leadtap_consumers',
    'Tokens that poll, and webhook subscriptions that send leads. stale: has not polled for 1.5 times its usual interval, or for LEADTAP_SILENT_AFTER, or is disabled. The same on every instance.',
    ['state'],
    (metric, report) => {
      for (const state of ['active', 'stale'] as const)
        metric.set({ state }, report?.consumers?.[state] ?? Number.NaN);
    },
  );
  gauge(
    'leadtap_leads_unseen',
    'Leads of the last 30 days that no automation may see. At most 1,000 of each place. The same on every instance.',
    [],
    (metric, report) => metric.set(report?.consumers?.coverage?.unseen ?? Number.NaN),
  );
  gauge(
    'leadtap_longest_lead_wait_seconds',
    'How long the oldest lead that an active or stale consumer has not got has been waiting. The same on every instance.',
    [],
    (metric, report) => metric.set(report?.consumers?.longestWaitSeconds ?? Number.NaN),
  );
}
