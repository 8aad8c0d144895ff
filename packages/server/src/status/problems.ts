/** What the operator should know first, in sentences, and what to do about it. */
import { PROBLEMS, type ProblemCode, type ProblemEntry } from '@leadtap/contract';
import { quoteForShell } from '../escape.ts';
import { isSameConsumer } from '../store/consumers.ts';
import type { HookCounts } from '../store/hooks.ts';
import { isRefusal } from './consumers.ts';
import { formatBytes, formatCount, formatDuration, formatValue } from './formats.ts';
import type { ConsumerStatus, ConsumersStatus, StatusProblem, StatusReport } from './report.ts';

type Facts = Pick<
  StatusReport,
  'database' | 'redis' | 'disk' | 'leads' | 'consumers' | 'hooks' | 'refusals' | 'history'
>;

/** Space for a few hundred thousand leads. */
export const LOW_FREE_BYTES = 256 * 1024 * 1024;
/** As in the alert rules. */
const MAX_STAMPS_AHEAD_SECONDS = 60;
const FAILED_MINUTES = 5;
const MAX_NAMES = 5;

/** The most urgent first. */
export function findProblems(facts: Facts, now: number): StatusProblem[] {
  return [...findErrors(facts, now), ...findWarnings(facts, now)];
}

function findErrors({ database, redis, disk, consumers, hooks, history }: Facts, now: number) {
  const problems: StatusProblem[] = [];
  const add = (kind: StatusProblem['kind'], message: string, fix: string, docs: string) =>
    void problems.push({ kind, severity: 'error', message, fix, docs });
  if (!database.reachable)
    add(
      'database-unreachable',
      'The database is unreachable: polls are answered with 503.',
      '`leadtap doctor` says what is wrong.',
      'docs/faults.md',
    );
  else if (consumers === null)
    add(
      'consumers-unknown',
      'The consumers could not be read within 3 seconds.',
      'If the next refresh does not show them, search the log for "the consumers could not be read".',
      'docs/faults.md',
    );
  if (consumers && consumers.stale > 0) problems.push(describeStale(consumers, now));
  if (hooks && hooks.disabled > 0)
    add('hooks-disabled', describeHooks('disabled', hooks, consumers), HOOK_FIXES.disabled, HOOK_DOCS);
  if (hooks && hooks.failing > 0)
    add('hooks-failing', describeHooks('failing', hooks, consumers), HOOK_FIXES.failing, HOOK_DOCS);
  const failed = history.hour.failed
    .slice(-FAILED_MINUTES)
    .reduce<number>((sum, count) => sum + (count ?? 0), 0);
  if (failed > 0)
    add(
      'requests-failed',
      `${failed === 1 ? 'One request was' : `${formatCount(failed)} requests were`} answered with a 5xx in the last ${FAILED_MINUTES} minutes.`,
      'Search the log for a request id of the list "Last errors": its lines have the cause.',
      'docs/errors.md#internal-error',
    );
  if (disk && disk.freeBytes < LOW_FREE_BYTES)
    add(
      'disk-low',
      `Only ${formatBytes(disk.freeBytes)} are free on the disk of the database.`,
      'Delete other files from this disk. `leadtap doctor` checks the space again.',
      'docs/faults.md#sqlite',
    );
  if (redis && !redis.reachable)
    add(
      'redis-unreachable',
      'Redis is unreachable: each instance counts the rate limits by itself.',
      'The instance connects again by itself. `leadtap doctor` says why it cannot.',
      'docs/faults.md#redis',
    );
  if (database.stampsAheadSeconds !== null && database.stampsAheadSeconds > MAX_STAMPS_AHEAD_SECONDS)
    add(
      'stamps-ahead',
      `The newest lead is dated ${formatDuration(database.stampsAheadSeconds)} ahead of the clock.`,
      'Check the clocks of this machine and of the database. After a large import, wait.',
      'docs/delivery.md#what-is-not-guaranteed',
    );
  return problems;
}

/** The service works, but an automation does not, or soon will not. */
function findWarnings({ leads, consumers, refusals }: Facts, now: number): StatusProblem[] {
  const problems: StatusProblem[] = [];
  const add = (kind: StatusProblem['kind'], message: string, fix: string, docs: string) =>
    void problems.push({ kind, severity: 'warning', message, fix, docs });
  if (consumers && consumers.refused > 0) {
    const found = consumers.listed.filter(
      ({ state, lastStatus }) => state === 'active' && isRefusal(lastStatus),
    );
    const [first] = found;
    const code = first && codeOf(first, refusals);
    const names = listNames(found, consumers.refused, ({ lastStatus }) => `, ${lastStatus}`);
    const message =
      first && consumers.refused === 1
        ? `${subjectOf(first)} polls, but is refused with ${first.lastStatus}${code ? ` ${code}` : ''}.`
        : `${formatCount(consumers.refused)} consumers poll, but are refused: ${names}.`;
    const fix = first && code ? fixOf(code, first.userId) : 'The table of refusals has the codes.';
    add('consumers-refused', message, fix, code ? `docs/errors.md#${code}` : 'docs/errors.md');
  }
  if (leads?.isSilent && leads.latestAt !== null)
    add(
      'leads-silent',
      `No lead has come in for ${formatDuration((now - Date.parse(leads.latestAt)) / 1000)}; usual at this time of the week: ${formatValue(leads.usualPerHour ?? 0)} per hour.`,
      'Check the programs that send leads, and their tokens. `leadtap leads list --limit 5` shows the last ones.',
      'docs/getting-leads-in.md',
    );
  if (consumers && consumers.expiring > 0) {
    const found = consumers.listed
      .filter(({ tokenExpiresSoon }) => tokenExpiresSoon)
      .sort((a, b) => timeLeft(a, now) - timeLeft(b, now));
    const left = (consumer: ConsumerStatus) => formatDuration(timeLeft(consumer, now) / 1000);
    const [first] = found;
    const message =
      first && consumers.expiring === 1
        ? `The token of ${describe(first)} expires in ${left(first)}.`
        : `${formatCount(consumers.expiring)} tokens expire within 7 days: ${listNames(found, consumers.expiring, (one) => `, in ${left(one)}`)}.`;
    const fix = `Issue a new token and put it into the automation: \`${first ? issueCommand(first) : ''}\`. The automation keeps its position.`;
    add('tokens-expiring', message, fix, 'docs/errors.md#token-expired');
  }
  return problems;
}

const timeLeft = ({ tokenExpiresAt }: ConsumerStatus, now: number): number =>
  Date.parse(tokenExpiresAt ?? '') - now;

/** The most frequent code of the last hour that fits the status of the last poll. Only this instance knows it. */
function codeOf(consumer: ConsumerStatus, refusals: Facts['refusals']): ProblemCode | undefined {
  return refusals.find(
    ({ status, consumers }) =>
      status === consumer.lastStatus && consumers.some((other) => isSameConsumer(other, consumer)),
  )?.code;
}

/** What to do about a refusal, for one user if it is known. */
export function fixOf(code: ProblemCode, userId?: string): string {
  const { operator, integrator }: ProblemEntry = PROBLEMS[code];
  if (operator === undefined) return `Tell the client: ${integrator}`;
  return userId === undefined || !isPlain(userId)
    ? operator
    : operator.replace(/(--user|user set) ID\b/g, (_, before) => `${before} ${quoteForShell(userId)}`);
}

/** What is well, in a sentence or two. Null if there is an error, or a consumer is refused. */
export function describeConsumers(
  problems: readonly StatusProblem[],
  consumers: ConsumersStatus | null,
  staleAfterMs?: number,
): string | null {
  const hasErrors = problems.some(({ severity }) => severity === 'error');
  if (hasErrors || !consumers || consumers.refused > 0) return null;
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

const MAX_NAME_LENGTH = 60;

/** In one line of a sentence: without control characters and those that change the direction of the text, and cut. */
const inSentence = (text: string): string => {
  const characters = [...text.replace(/\p{C}+/gu, ' ').trim()];
  const isCut = characters.length > MAX_NAME_LENGTH;
  return isCut ? `${characters.slice(0, MAX_NAME_LENGTH).join('').trim()}…` : characters.join('');
};

/** Whether it can be part of a command that a person copies. */
const isPlain = (text: string): boolean => text.length <= MAX_NAME_LENGTH && !/[\p{C}`\\]/u.test(text);

/** The name of the token, or else its id; the user is known as well. */
export const nameOf = ({ name, tokenId }: Pick<ConsumerStatus, 'name' | 'tokenId'>): string =>
  name || (tokenId === null ? 'tokens without an id' : `token ${tokenId}`);

const describe = (consumer: ConsumerStatus, more = ''): string =>
  `${inSentence(nameOf(consumer))} (user ${inSentence(consumer.userId)}${more})`;

/** At the begin of a sentence. */
function subjectOf(consumer: ConsumerStatus): string {
  const text = describe(consumer);
  return consumer.name ? text : text.charAt(0).toUpperCase() + text.slice(1);
}

/** At most five, and the number of the others. */
function listNames(
  found: readonly ConsumerStatus[],
  count: number,
  more: (consumer: ConsumerStatus) => string = () => '',
): string {
  const names = found.slice(0, MAX_NAMES).map((consumer) => describe(consumer, more(consumer)));
  const others = count - names.length;
  return others > 0 ? `${names.join(', ')} and ${formatCount(others)} more` : names.join(', ');
}

/** Placeholders stand for what cannot be copied safely. */
function issueCommand({ userId, name }: ConsumerStatus): string {
  const user = isPlain(userId) ? quoteForShell(userId) : 'ID';
  const flag = name === null ? '' : ` --name ${isPlain(name) ? quoteForShell(name) : 'NAME'}`;
  return `leadtap token issue --user ${user}${flag}`;
}

const HOOK_DOCS = 'docs/operations.md#webhooks-that-fail';
const HOOK_REASONS = {
  disabled: 'no event was accepted for 3 days',
  failing: 'the last event was not accepted',
} as const;
const HOOK_FIXES = {
  disabled:
    '`leadtap hooks list` shows what the receivers answered; `leadtap hooks send-test ID` enables one that accepts events again.',
  failing:
    'Events are sent again by themselves, and leads wait until the next poll. `leadtap hooks list` shows what the receivers answered.',
} as const;

function describeHooks(
  state: keyof typeof HOOK_REASONS,
  { [state]: count }: HookCounts,
  consumers: ConsumersStatus | null,
): string {
  const found = consumers?.listed.filter(({ hook }) => hook?.state === state) ?? [];
  const subject =
    count === 1 ? '1 webhook subscription is' : `${formatCount(count)} webhook subscriptions are`;
  const whose = found.length === 0 ? '' : ` Of ${listNames(found, found.length)}.`;
  return `${subject} ${state}: ${HOOK_REASONS[state]}.${whose}`;
}

const STALE_DOCS = 'docs/consumers.md#who-polls-and-who-has-stopped';
const STALE_FIX =
  'Look in its platform whether the automation is switched on and what its last run says. If it was switched off for good, revoke its token.';

function describeStale({ stale, active, listed }: ConsumersStatus, now: number): StatusProblem {
  const found = listed.filter(({ state }) => state === 'stale');
  const hasExpired = (consumer: ConsumerStatus) => timeLeft(consumer, now) <= 0;
  const expired = found.find(hasExpired);
  const problem = { kind: 'consumers-stale', severity: 'error' } as const;
  const fix = expired
    ? `Issue a new token and put it into the automation: \`${issueCommand(expired)}\`.`
    : STALE_FIX;
  const docs = expired ? 'docs/errors.md#token-expired' : STALE_DOCS;
  const [first] = found;
  if (first && stale === 1) {
    const silence = formatDuration((now - Date.parse(first.lastPollAt ?? '')) / 1000);
    const interval = first.usualIntervalSeconds;
    const usual = interval === null ? '' : `; it usually polls every ${formatDuration(interval)}`;
    const expiry = expired ? `; its token expired ${formatDuration(-timeLeft(first, now) / 1000)} ago` : '';
    const message = `${subjectOf(first)} has not polled for ${silence}${expiry || usual}.`;
    return { ...problem, message, fix, docs };
  }
  const names = listNames(found, stale, (one) => (hasExpired(one) ? ', token expired' : ''));
  const message = `${formatCount(stale)} of ${formatCount(stale + active)} consumers have stopped polling: ${names}.`;
  return {
    ...problem,
    message,
    fix: expired ? fix : `${STALE_FIX} \`leadtap consumers --stale\` lists them.`,
    docs,
  };
}
