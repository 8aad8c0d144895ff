import { KINDS, type Kind } from '../packages/server/test/delivery/trial/seats.ts';
import type { KindVerdict, Verdict } from '../packages/server/test/delivery/trial/verdict.ts';
import type { BulkResult, Waits } from './bulk.ts';

const REMEMBERS: Record<Kind, string> = { lastLead: 'last createdAt', date: 'Date', link: 'Link' };
const ROWS: readonly (keyof KindVerdict)[] = ['polls', 'received', 'lost', 'repeated'];
const MOST_SENTENCES = 5;

const count = (number: number): string => number.toLocaleString('en');
const row = (label: string, cells: readonly string[]): string =>
  label.padEnd(28) + cells.map((cell) => cell.padStart(16)).join('');

export function describeVerdict({ leads, undone, transactions, kinds, broken }: Verdict): string {
  const sentences = broken.slice(0, MOST_SENTENCES).map((sentence) => `  ${sentence}`);
  return [
    `${count(leads)} leads committed, ${count(undone)} undone; transactions: ${count(transactions.committed)} committed, ${count(transactions.rolledBack)} rolled back, ${count(transactions.cutOff)} cut off, ${count(transactions.refused)} refused`,
    '',
    row(
      'a client that remembers',
      KINDS.map((kind) => REMEMBERS[kind]),
    ),
    ...ROWS.map((name) =>
      row(
        `  ${name}`,
        KINDS.map((kind) => count(kinds[kind][name])),
      ),
    ),
    '',
    `${count(broken.length)} other promises broken`,
    ...sentences,
  ].join('\n');
}

const describeWaits = (who: string, { polls, medianMs, slowestMs }: Waits): string =>
  row(`  ${who}`, [
    `${count(polls)} polls`,
    `${medianMs.toFixed(1)} ms median`,
    `${slowestMs.toFixed(0)} ms slowest`,
  ]);

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
    ...KINDS.map((kind) =>
      row(`  ${REMEMBERS[kind]}`, [
        `${count(verdict.kinds[kind].received)} received`,
        `${count(verdict.kinds[kind].lost)} lost`,
        `${count(verdict.kinds[kind].repeated)} repeated`,
      ]),
    ),
  ].join('\n');
}

/** Nobody lost anything, and whoever goes on from the last lead got nothing twice. */
export const isFlawless = ({ kinds, broken }: Verdict): boolean =>
  broken.length === 0 &&
  KINDS.every((kind) => kinds[kind].lost === 0) &&
  kinds.lastLead.repeated === 0 &&
  kinds.link.repeated === 0;
