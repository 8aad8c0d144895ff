/** What the operator should know first, in sentences. */
import { formatBytes, formatCount, formatDuration } from './formats.ts';
import type { ConsumerStatus, ConsumersStatus, StatusProblem, StatusReport } from './report.ts';

type Facts = Pick<StatusReport, 'database' | 'redis' | 'disk' | 'consumers' | 'history'>;

/** Space for a few hundred thousand leads. */
export const LOW_FREE_BYTES = 256 * 1024 * 1024;
/** As in the alert rules. */
const MAX_STAMPS_AHEAD_SECONDS = 60;
const FAILED_MINUTES = 5;
const MAX_NAMES = 5;

/** The most urgent first. */
export function findProblems(facts: Facts, now: number): StatusProblem[] {
  const { database, redis, disk, consumers, history } = facts;
  const problems: StatusProblem[] = [];
  const add = (kind: StatusProblem['kind'], message: string) => void problems.push({ kind, message });
  if (!database.reachable)
    add(
      'database-unreachable',
      'The database is unreachable: polls are answered with 503. Run `leadtap doctor`.',
    );
  else if (consumers === null)
    add(
      'consumers-unknown',
      'The consumers could not be read within 3 seconds. If the next refresh does not show them, the log has the cause.',
    );
  if (consumers && consumers.stale > 0) add('consumers-stale', describeStale(consumers, now));
  const failed = history.hour.failed
    .slice(-FAILED_MINUTES)
    .reduce<number>((sum, count) => sum + (count ?? 0), 0);
  if (failed > 0)
    add(
      'requests-failed',
      `${failed === 1 ? 'One request was' : `${failed} requests were`} answered with a 5xx in the last ${FAILED_MINUTES} minutes. The log has the causes.`,
    );
  if (disk && disk.freeBytes < LOW_FREE_BYTES)
    add('disk-low', `Only ${formatBytes(disk.freeBytes)} are free on the disk of the database.`);
  if (redis && !redis.reachable)
    add('redis-unreachable', 'Redis is unreachable: each instance counts the rate limits by itself.');
  if (database.stampsAheadSeconds !== null && database.stampsAheadSeconds > MAX_STAMPS_AHEAD_SECONDS)
    add(
      'stamps-ahead',
      `The newest lead is dated ${formatDuration(database.stampsAheadSeconds)} ahead of the clock.`,
    );
  return problems;
}

/** One sentence or more. */
export function summarise(
  problems: readonly StatusProblem[],
  consumers: ConsumersStatus | null,
  staleAfterMs?: number,
): string {
  if (problems.length > 0 || consumers === null) return problems.map(({ message }) => message).join(' ');
  if (!consumers.recorded) return 'No problem was found. Consumers are not recorded (LEADTAP_CONSUMERS=off).';
  const { active, inactive } = consumers;
  if (active === 0)
    return `No problem was found. ${inactive === 0 ? 'No consumer has polled yet.' : 'No consumer polls at present.'}`;
  return describeActive(consumers, staleAfterMs);
}

/** What is known of the active consumers. One that has just begun to poll has no usual interval yet. */
function describeActive({ active, activeWithoutInterval }: ConsumersStatus, staleAfterMs?: number): string {
  const known = active - activeWithoutInterval;
  const subject = active === 1 ? 'The only consumer' : `All ${formatCount(active)} consumers`;
  if (known === 0)
    return `No problem was found. ${subject} ${active === 1 ? 'is new: its usual interval is' : 'are new: their usual intervals are'} not known yet.`;
  if (staleAfterMs !== undefined)
    return `${subject} polled within the last ${formatDuration(staleAfterMs / 1000)}.`;
  if (known === active) return active === 1 ? `${subject} polls as usual.` : `${subject} poll as usual.`;
  const others = `${formatCount(known)} of ${formatCount(active)} consumers ${known === 1 ? 'polls' : 'poll'} as usual.`;
  return `${others} The usual interval of the ${activeWithoutInterval === 1 ? 'other one' : 'others'} is not known yet.`;
}

/** The name of the token, or else its id; the user is known as well. */
export const nameOf = ({ name, tokenId }: ConsumerStatus): string =>
  name || (tokenId === null ? 'tokens without an id' : `token ${tokenId}`);

function describeStale({ stale, active, listed }: ConsumersStatus, now: number): string {
  const found = listed.filter(({ state }) => state === 'stale');
  const [first] = found;
  if (first && stale === 1) {
    const silence = formatDuration((now - Date.parse(first.lastPollAt)) / 1000);
    const interval = first.usualIntervalSeconds;
    const usual = interval === null ? '' : `; it usually polls every ${formatDuration(interval)}`;
    const name = nameOf(first);
    const subject = first.name ? name : name.charAt(0).toUpperCase() + name.slice(1);
    return `${subject} (user ${first.userId}) has not polled for ${silence}${usual}.`;
  }
  const names = found.slice(0, MAX_NAMES).map((consumer) => `${nameOf(consumer)} (user ${consumer.userId})`);
  const others = stale - names.length;
  const list = others > 0 ? `${names.join(', ')} and ${formatCount(others)} more` : names.join(', ');
  return `${formatCount(stale)} of ${formatCount(stale + active)} consumers have stopped polling: ${list}.`;
}
