/** `/status.json`: the facts, and in words what the status page shows of them. */
import type { ConnectionsOfAll, StatusJson, SystemFact } from '@leadtap/contract';
import { formatBytes, formatCount } from '../lib/formats.ts';
import { toConsumerJson } from './consumer-states.ts';
import type { ConsumersStatus, Refusal, SenderStatus, StatusReport } from './report.ts';
import { diagnoseRow } from './row-diagnosis.ts';
import { LOW_FREE_BYTES } from './rules.ts';
import { listFields } from './sender-problems.ts';
import { stateOf } from './senders-endpoint.ts';
import { agoOf, fixOf, nameOf } from './sentences.ts';

/** Commands begin as the person began. */
export const toStatusJson = (
  report: StatusReport,
  connections: ConnectionsOfAll,
  invocation: string,
): string =>
  JSON.stringify(toObject(report, connections), (key, value: unknown) =>
    TEXTS.has(key) && typeof value === 'string'
      ? value.replaceAll('`leadtap ', () => `\`${invocation} `)
      : value,
  );

/** The fields with commands. */
const TEXTS: ReadonlySet<string> = new Set(['fix', 'hint', 'text']);

const toObject = (report: StatusReport, connections: ConnectionsOfAll): StatusJson => ({
  ...report,
  ...connections,
  problems: report.problems.map(({ subjects: _, hasMoreSubjects: __, ...problem }) => problem),
  consumers: report.consumers && {
    ...report.consumers,
    hint: hintOf(report.consumers),
    listed: report.consumers.listed.map((consumer) => {
      const { key: id, isHeld: _, ...facts } = consumer;
      return { id, ...toConsumerJson(facts), ...diagnoseRow(consumer, report, 'operator') };
    }),
  },
  senders: report.senders && {
    ...report.senders,
    listed: report.senders.listed.map((sender) => {
      const state = stateOf(sender, report);
      return { ...sender, ...state, message: `${state.message}${questionsOf(sender)}` };
    }),
  },
  refusals: report.refusals.map((refusal) => ({
    ...refusal,
    message: messageOf(refusal, report),
    fix: fixOf(refusal.code, onlyUserOf(refusal)),
  })),
  system: [...systemFacts(report)],
});

/** The page is private: alerts and users do not have them. */
const questionsOf = ({ refused }: SenderStatus): string =>
  refused === null || refused.questions.length === 0 ? '' : `: ${listFields(refused.questions)}`;

/** What to know about the list of consumers. Null: nothing. */
function hintOf({
  recorded,
  listed,
  active,
  stale,
  inactive,
  removed,
  subscribed,
}: ConsumersStatus): string | null {
  if (!recorded)
    return 'Consumers are not recorded, because `LEADTAP_CONSUMERS=off`. Set it to `on` and start Leadtap again to see who polls.';
  if (listed.length === 0)
    return `No consumer ${removed === 0 ? 'has polled yet' : 'polls at present'}. Each token appears here a few seconds after its first poll.`;
  const more = active + stale + inactive + subscribed - listed.length;
  return more > 0 ? `${formatCount(more)} more: \`leadtap connections\` lists all of them.` : null;
}

/** `4 requests, the last one 2 min ago: make (user starter) 3, others 1` */
function messageOf(refusal: Refusal, report: StatusReport): string {
  const { count, lastAt, consumers } = refusal;
  const others = countOthers(refusal);
  const counts = consumers.map(
    (consumer) => `${nameOf(consumer)} (user ${consumer.userId}) ${formatCount(consumer.count)}`,
  );
  if (others > 0) counts.push(`${counts.length === 0 ? 'not known' : 'others'} ${formatCount(others)}`);
  const requests = count === 1 ? '1 request' : `${formatCount(count)} requests`;
  return `${requests}, the last one ${agoOf(report, lastAt)}: ${counts.join(', ')}`;
}

const countOthers = ({ count, consumers }: Refusal): number =>
  consumers.reduce((others, consumer) => others - consumer.count, count);

/** Of the only consumer, for a command that can be pasted. */
const onlyUserOf = (refusal: Refusal): string | undefined =>
  refusal.consumers.length === 1 && countOthers(refusal) === 0 ? refusal.consumers[0]?.userId : undefined;

function* systemFacts(report: StatusReport): Generator<SystemFact> {
  const { database, leads, backup, redis, disk, hooks, hookHosts } = report;
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
    yield { name: 'Last lead', text: leads.latestAt === null ? 'none' : agoOf(report, leads.latestAt) };
  if (redis?.reachable) yield { name: 'Redis', text: 'reachable, limits are shared' };
  else if (redis) yield { name: 'Redis', text: 'unreachable, limits per instance', isBad: true };
  const states = (['active', 'failing', 'disabled'] as const).filter((one) => hooks && hooks[one] > 0);
  if (hooks && states.length > 0) {
    const counts = states.map((one) => `${formatCount(hooks[one])} ${one}`).join(', ');
    const text = hookHosts === null ? `${counts}, switched off (LEADTAP_HOOKS)` : counts;
    yield { name: 'Webhooks', text, isBad: hooks.failing + hooks.disabled > 0 };
  }
  yield { name: 'Started', text: agoOf(report, report.startedAt) };
}

/** No alarm if there is none: operators have other means. */
function backupOf(backup: StatusReport['backup'], report: StatusReport): string {
  if (backup === null) return 'not known here; PostgreSQL has its own';
  if (backup.lastAt !== null) return agoOf(report, backup.lastAt);
  return 'none known; `leadtap backup FILE` makes one';
}
