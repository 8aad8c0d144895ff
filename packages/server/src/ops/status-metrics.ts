/** The metrics that are read from the database: problems of the installation, and the figures of all connections. */
import { setTimeout } from 'node:timers/promises';
import { DOOR_ID, UNASSIGNED_ID } from '@leadtap/contract';
import { Gauge, type Registry } from 'prom-client';
import type { Report } from '../connections/report.ts';
import { LEVELS } from '../connections/sentence.ts';
import { STATUS_TIMEOUTS, type StatusTimeouts } from '../status/read-status.ts';
import type { StatusReport } from '../status/report.ts';
import { isUnread, RULES } from '../status/rules.ts';

export interface StatusMetricsOptions {
  /** Reads once for all calls that are made meanwhile. */
  readonly readStatus: () => Promise<StatusReport>;
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
    'Whether the installation has this problem: 1 or 0, for each rule and level. The status page has its sentence and what to do.',
    ['name', 'level'],
    (metric, report) => {
      for (const rule of RULES)
        for (const level of rule.levels) {
          const { name } = rule;
          const isKnown = report !== undefined && !isUnread(rule, report);
          const isFound = report?.problems.some((one) => one.kind === name && one.level === level);
          metric.set({ name, level }, isKnown ? Number(isFound) : Number.NaN);
        }
    },
  );
  gauge(
    'leadtap_stamps_ahead_seconds',
    'How far the newest createdAt of any company lies ahead of the clock after a burst.',
    [],
    (metric, report) => metric.set(report?.database.stampsAheadSeconds ?? Number.NaN),
  );
  gauge(
    'leadtap_connections',
    'Rows of the list of connections, by direction (in: they send leads, out: leads go to them) and level. The same on every instance.',
    ['direction', 'level'],
    (metric, report) => {
      for (const direction of ['in', 'out'] as const)
        for (const level of LEVELS) {
          const rows = report?.connections?.[direction];
          const count = rows?.filter((row) => row.level === level).length;
          metric.set({ direction, level }, count ?? Number.NaN);
        }
    },
  );
  for (const [name, help, read] of FIGURES)
    gauge(name, `${help} The same on every instance.`, [], (metric, report) =>
      metric.set(report?.connections ? read(report.connections, Date.parse(report.generatedAt)) : Number.NaN),
    );
}

const sum = (counts: readonly number[]): number => counts.reduce((all, count) => all + count, 0);
const automations = ({ out }: Report) => out.filter(({ id }) => id !== UNASSIGNED_ID);
const senders = ({ in: ins }: Report) => ins.filter(({ id }) => id !== DOOR_ID);

const FIGURES: readonly (readonly [string, string, (connections: Report, now: number) => number])[] = [
  [
    'leadtap_leads_waiting',
    'Leads that wait for a connection, once for each of them.',
    (report) => sum(automations(report).map(({ waiting }) => waiting)),
  ],
  [
    'leadtap_leads_missed',
    'Leads that a connection missed, once for each of them, until they are sent or marked as handled.',
    (report) => sum(automations(report).map(({ missed }) => missed)),
  ],
  [
    'leadtap_leads_unassigned',
    'Leads that no automation gets, until they are sent or marked as handled.',
    ({ out }) => sum(out.map(({ id, waiting }) => (id === UNASSIGNED_ID ? waiting : 0))),
  ],
  [
    'leadtap_requests_held',
    'Refused requests that are kept until they are accepted or deleted.',
    (report) => sum(senders(report).map(({ held }) => held)),
  ],
  [
    'leadtap_requests_lost',
    'Refused requests of known senders that are not kept, until they are marked as handled.',
    (report) => sum(senders(report).map(({ lost }) => lost)),
  ],
  [
    'leadtap_longest_lead_wait_seconds',
    'How long the oldest lead that waits for a connection has been waiting.',
    (report, now) =>
      automations(report).reduce(
        (longest, { waitingSince }) =>
          waitingSince === null ? longest : Math.max(longest, (now - Date.parse(waitingSince)) / 1000),
        0,
      ),
  ],
];
