import type { ClientVerdict } from '../../packages/testing/delivery-trial/judge/clients.ts';
import type { Verdict } from '../../packages/testing/delivery-trial/judge/judge.ts';
import type { BulkResult, Waits } from './bulk.ts';

const MAX_SENTENCES = 10;
const LABEL_WIDTH = 44;

const count = (number: number): string => number.toLocaleString('en');
const row = (label: string, ...cells: readonly string[]): string =>
  label.padEnd(LABEL_WIDTH) + cells.map((cell) => cell.padStart(12)).join('');
const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

function describeClients(clients: readonly ClientVerdict[]): string[] {
  const profiles = [...new Set(clients.map(({ client }) => client.profile))];
  return [
    row('clients by profile', 'clients', 'pages', 'received', 'lost', 'doubled'),
    ...profiles.map((profile) => {
      const own = clients.filter(({ client }) => client.profile === profile);
      return row(
        `  ${profile}`,
        count(own.length),
        count(sum(own.map(({ polls }) => polls))),
        count(sum(own.map(({ received }) => received))),
        count(sum(own.map(({ lost }) => lost.length))),
        count(sum(own.map(({ doubled }) => doubled.length))),
      );
    }),
  ];
}

const VERDICT: readonly (readonly [
  keyof Verdict & ('lost' | 'doubled' | 'stale' | 'missing' | 'broken' | 'complaints'),
  string,
])[] = [
  ['lost', 'lost (never delivered, or not stored)'],
  ['doubled', 'doubled'],
  ['stale', 'stale (deleted, old or foreign in a page)'],
  ['missing', 'missing from a page when it was served'],
  ['broken', 'promises D1 to D5 broken'],
  ['complaints', 'refused, failed or unreadable'],
];

export function describeVerdict(verdict: Verdict, counts: ReadonlyMap<string, number>): string {
  return [
    row('what ran', 'how many'),
    ...[...counts]
      .sort(([a], [b]) => a.localeCompare(b))
      .map(([what, times]) => row(`  ${what}`, count(times))),
    row('  leads', count(verdict.leads)),
    '',
    ...describeClients(verdict.clients),
    '',
    row('verdict', 'how many'),
    ...VERDICT.flatMap(([name, label]) => [
      row(`  ${label}`, count(verdict[name].length)),
      ...verdict[name].slice(0, MAX_SENTENCES).map((sentence) => `      ${sentence}`),
    ]),
  ].join('\n');
}

const describeWaits = (who: string, { polls, medianMs, slowestMs }: Waits): string =>
  row(`  ${who}`, `${count(polls)} polls`, `${medianMs.toFixed(1)} ms`, `${slowestMs.toFixed(0)} ms max`);

export function describeBulk(
  title: string,
  { seconds, waits, unlocked, aheadSeconds, doctor, verdict }: BulkResult,
): string {
  const warned = doctor.split('\n').find((line) => line.includes('ahead of the clock'));
  return [
    `${title}: ${seconds.toFixed(1)} s`,
    describeWaits('other company, before', waits.othersBefore),
    describeWaits('other company, meanwhile', waits.others),
    describeWaits('this company, meanwhile', waits.loading),
    `  ${count(unlocked)} polls answered without the lock; stamps ${aheadSeconds.toFixed(1)} s ahead afterwards`,
    `  doctor: ${warned?.trim() ?? 'no warning'}`,
    ...describeClients(verdict.clients),
  ].join('\n');
}
