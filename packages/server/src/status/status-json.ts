/** `/status.json`: the facts, and in words what the status page shows of them. */
import {
  PHRASES,
  PROBLEMS,
  type ProblemCode,
  type ProblemEntry,
  type Refusal,
  type StatusJson,
  type SystemFact,
} from '@leadtap/contract';
import { formatBytes, formatDuration } from '../lib/formats.ts';
import type { Facts, StatusReport } from './report.ts';
import { LOW_FREE_BYTES, secondsSince } from './rules.ts';

/** Commands begin as the person began. */
export const withCommands = (text: string, invocation: string): string =>
  text.replaceAll('`leadtap ', () => `\`${invocation} `);

export const toStatusJson = (report: StatusReport, invocation: string): string =>
  JSON.stringify(toObject(report), (key, value: unknown) =>
    (key === 'fix' || key === 'text') && typeof value === 'string' ? withCommands(value, invocation) : value,
  );

function toObject({ connections, unread: _, ...report }: StatusReport): StatusJson {
  const { since, message, in: ins, out } = connections ?? { ...UNKNOWN, since: report.generatedAt };
  return {
    ...report,
    ...{ since, message, in: ins, out },
    refusals: report.refusals.map((one) => ({
      ...one,
      message: messageOf(one, report),
      fix: fixOf(one.code),
    })),
    system: [...systemFacts(report)],
  };
}

const UNKNOWN = { message: 'It is not known what was sent.', in: [], out: [] };

const agoOf = (moment: Pick<Facts, 'generatedAt'>, time: string): string =>
  `${formatDuration(secondsSince(moment, time))} ago`;

/** `4 requests, the last one 2 min ago` */
const messageOf = ({ count, lastAt }: Refusal, moment: Pick<Facts, 'generatedAt'>): string =>
  `${PHRASES.request(count)}, the last one ${agoOf(moment, lastAt)}`;

/** What to do about a refusal. */
export function fixOf(code: ProblemCode): string {
  const { operator, integrator }: ProblemEntry = PROBLEMS[code];
  return operator ?? `Tell the client: ${integrator}`;
}

function* systemFacts(report: Omit<StatusReport, 'connections' | 'unread'>): Generator<SystemFact> {
  const { database, latestLeadAt, backup, redis, disk, hookHosts } = report;
  const state = database.reachable ? `${database.engine}, reachable` : 'unreachable';
  yield { name: 'Database', text: state, isBad: !database.reachable };
  yield { name: 'Address', text: database.address };
  if (database.bytes !== null) yield { name: 'Size', text: formatBytes(database.bytes) };
  if (disk) {
    const text = `${formatBytes(disk.freeBytes)} free of ${formatBytes(disk.totalBytes)}`;
    yield { name: 'Disk', text, isBad: disk.freeBytes < LOW_FREE_BYTES };
  }
  yield { name: 'Last backup', text: backupOf(backup, report) };
  if (database.reachable)
    yield { name: 'Last lead', text: latestLeadAt === null ? 'none' : agoOf(report, latestLeadAt) };
  if (redis?.reachable) yield { name: 'Redis', text: 'reachable, limits are shared' };
  else if (redis) yield { name: 'Redis', text: 'unreachable, limits per instance', isBad: true };
  if (hookHosts === null) yield { name: 'Webhooks', text: 'switched off (LEADTAP_HOOKS)' };
  yield { name: 'Started', text: agoOf(report, report.startedAt) };
}

/** No alarm if there is none: operators have other means. */
function backupOf(backup: StatusReport['backup'], moment: Pick<Facts, 'generatedAt'>): string {
  if (backup === null) return 'not known here; PostgreSQL has its own';
  if (backup.lastAt !== null) return agoOf(moment, backup.lastAt);
  return 'none known; `leadtap backup FILE` makes one';
}
