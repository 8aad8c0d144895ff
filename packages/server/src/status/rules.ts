/**
 * The diagnosis: one list of rules. The status page, `/status.json`, `leadtap doctor`, the metric `leadtap_problem` and the alert rules in
 * deploy/prometheus all use this list, so that they cannot disagree.
 */
import type { ProblemCode } from '@leadtap/contract';
import { toIso } from '../clock.ts';
import { isSameConsumer } from '../consumers/store.ts';
import { isRefusal } from './consumers.ts';
import { formatBytes, formatCount, formatDuration, formatValue } from './formats.ts';
import type {
  ConsumerProblem,
  ConsumerStatus,
  ConsumersStatus,
  StatusProblem,
  StatusReport,
} from './report.ts';
import {
  consumersCommand,
  countOf,
  describe,
  fixOf,
  issueCommand,
  listNames,
  revokeCommand,
  subjectOf,
} from './sentences.ts';

/** What the rules judge. */
export type Facts = Omit<StatusReport, 'healthy' | 'summary' | 'good' | 'note' | 'problems'>;

type Level = StatusProblem['severity'];
/** In words, and what to do. The level and the page of the documents are those of the rule if they are missing. */
type Found = Pick<StatusProblem, 'message' | 'fix'> & Partial<Pick<StatusProblem, 'severity' | 'docs'>>;

export interface Rule {
  readonly name: StatusProblem['kind'];
  /** `error`: leads are not picked up, or soon cannot be. `warning`: look into it. `unknown`: it cannot be said yet. The usual one first. */
  readonly levels: readonly [Level, ...Level[]];
  /** What is wrong, without names and numbers, for the alert and the documents. */
  readonly title: string;
  /** The page of the documents, with its section. */
  readonly docs: string;
  /** Undefined if there is no such problem. */
  find(facts: Facts): Found | undefined;
}

const DAY_S = 86_400;
/** Space for a few hundred thousand leads. */
export const LOW_FREE_BYTES = 256 * 1024 * 1024;
/** SQLite's write-ahead log alone grows by a few MiB between two checkpoints. */
const MIN_FREE_BYTES = 16 * 1024 * 1024;
const MAX_STAMPS_AHEAD_SECONDS = 60;
const FAILED_MINUTES = 5;
const MAX_BACKUP_AGE_DAYS = 7;

const CONSUMER_DOCS = 'docs/consumers.md#who-polls-and-who-has-stopped';
const HOOK_DOCS = 'docs/operations.md#webhooks-that-fail';
const PROXY_DOCS = 'docs/configuration.md#behind-a-proxy';

/** The most urgent first. */
export const RULES: readonly Rule[] = [
  {
    ...{ name: 'database-unreachable', levels: ['error'], docs: 'docs/faults.md' },
    title: 'The database is unreachable',
    find: ({ database }) =>
      database.reachable
        ? undefined
        : {
            message: 'The database is unreachable: polls are answered with 503.',
            fix: '`leadtap doctor` says what is wrong.',
          },
  },
  {
    ...{ name: 'consumers-unknown', levels: ['error'], docs: 'docs/faults.md' },
    title: 'The consumers cannot be read',
    find: ({ database, consumers }) =>
      database.reachable && consumers === null
        ? {
            message: 'The consumers could not be read within 3 seconds.',
            fix: 'If the next refresh does not show them, search the log for "the consumers could not be read".',
          }
        : undefined,
  },
  {
    ...{ name: 'leads-skipped', levels: ['error'], docs: 'docs/operations.md#problems' },
    title: 'A consumer has skipped leads: its position is past them, but they were never sent to it',
    find: (facts) => {
      const { consumers } = facts;
      const found = consumers?.listed.filter(({ hasSkipped }) => hasSkipped) ?? [];
      const [first] = found;
      if (!consumers || !first) return undefined;
      const usesSince = first.confirmedThrough !== null;
      const reason = usesSince ? 'it asked for what comes after' : 'more leads came than fit into its page';
      const message =
        consumers.skipping === 1
          ? `${subjectOf(first)} has skipped ${countOf(first.skipped, 'lead', 'leads')}: ${reason}, so ${first.skipped === 1 ? 'it was' : 'they were'} never sent to it.`
          : `${formatCount(consumers.skipping)} consumers have skipped leads: ${listNames(found, consumers.skipping, ({ skipped }) => `, ${formatCount(skipped)}`)}.`;
      // A page begins after its `since`.
      const since = toIso(Date.parse(first.skippedSince ?? facts.generatedAt) - 1);
      return {
        message,
        fix: `Let ${describe(first)} poll once with \`since=${since}\`: this returns them. ${usesSince ? 'It' : 'Without `since`, a poll returns only the newest leads: it'} must continue with the address in \`Link\`, or with the \`createdAt\` of the last lead that it has got, never with its own clock.`,
      };
    },
  },
  {
    ...{ name: 'token-revoked-in-use', levels: ['error'], docs: 'docs/errors.md#token-revoked' },
    title: 'A consumer still polls with a token that has ended: revoked, expired, or of a removed key',
    find: (facts) => {
      const found = consumersWith(facts, 'token-revoked-in-use');
      const [first] = found.listed;
      if (!first) return undefined;
      const message =
        found.count === 1
          ? `${subjectOf(first)} polls with a token that ${ENDINGS[first.tokenEnded ?? 'revoked']}: it is refused with 401.`
          : `${formatCount(found.count)} consumers poll with tokens that have ended: ${listNames(found.listed, found.count, ({ tokenEnded }) => `, ${tokenEnded ?? 'revoked'}`)}.`;
      return {
        message,
        fix: `Put the new token into the automation, or switch the automation off. To issue one: ${issueCommand(first)}.`,
        ...(first.tokenEnded === 'expired' && { docs: 'docs/errors.md#token-expired' }),
      };
    },
  },
  {
    ...{ name: 'consumers-stale', levels: ['error'], docs: CONSUMER_DOCS },
    title: 'A consumer has stopped polling',
    find: describeStale,
  },
  {
    ...{ name: 'leads-waiting', levels: ['error'], docs: 'docs/operations.md#problems' },
    title: 'Leads wait for a consumer for more than an hour and four of its usual intervals',
    find: describeWaiting,
  },
  {
    ...{
      name: 'consumers-limited',
      levels: ['warning', 'error'],
      docs: 'docs/errors.md#rate-limit-exceeded',
    },
    title: 'Leads wait for a consumer that is refused with 429',
    find: describeLimited,
  },
  {
    ...{ name: 'hooks-disabled', levels: ['error'], docs: HOOK_DOCS },
    title: 'A webhook subscription is disabled',
    find: (facts) =>
      describeHooks(
        facts,
        'disabled',
        'no event was accepted for 3 days',
        '`leadtap hooks list` shows what the receivers answered; `leadtap hooks send-test ID` enables one that accepts events again.',
      ),
  },
  {
    ...{ name: 'hooks-failing', levels: ['warning', 'error'], docs: HOOK_DOCS },
    title: 'The events of a webhook subscription are not accepted',
    find: (facts) => {
      const found = describeHooks(
        facts,
        'failing',
        'the last event was not accepted',
        'Events are sent again by themselves, and leads wait until the next poll. `leadtap hooks list` shows what the receivers answered.',
      );
      return found && { ...found, severity: (facts.hooks?.failingLong ?? 0) > 0 ? 'error' : 'warning' };
    },
  },
  {
    ...{ name: 'requests-failed', levels: ['error'], docs: 'docs/errors.md#internal-error' },
    title: 'Requests were answered with a 5xx',
    find: ({ history }) => {
      const failed = history.hour.failed
        .slice(-FAILED_MINUTES)
        .reduce<number>((sum, count) => sum + (count ?? 0), 0);
      return failed === 0
        ? undefined
        : {
            message: `${countOf(failed, 'request was', 'requests were')} answered with a 5xx in the last ${FAILED_MINUTES} minutes.`,
            fix: 'Search the log for a request id of the list "Last errors": its lines have the cause.',
          };
    },
  },
  {
    ...{ name: 'disk-low', levels: ['warning', 'error'], docs: 'docs/faults.md#sqlite' },
    title: 'The disk of the database is almost full',
    find: ({ disk }) =>
      disk && disk.freeBytes < LOW_FREE_BYTES
        ? {
            severity: disk.freeBytes < MIN_FREE_BYTES ? 'error' : 'warning',
            message: `Only ${formatBytes(disk.freeBytes)} are free on the disk of the database.`,
            fix: 'Delete other files from this disk. `leadtap doctor` checks the space again.',
          }
        : undefined,
  },
  {
    ...{ name: 'redis-unreachable', levels: ['warning'], docs: 'docs/faults.md#redis' },
    title: 'Redis is unreachable',
    find: ({ redis }) =>
      redis === null || redis.reachable
        ? undefined
        : {
            message: 'Redis is unreachable: each instance counts the rate limits by itself.',
            fix: 'The instance connects again by itself. `leadtap doctor` says why it cannot.',
          },
  },
  {
    ...{ name: 'stamps-ahead', levels: ['warning'], docs: 'docs/delivery.md#what-is-not-guaranteed' },
    title: 'The newest lead is dated more than a minute ahead of the clock',
    find: ({ database: { stampsAheadSeconds } }) =>
      (stampsAheadSeconds ?? 0) > MAX_STAMPS_AHEAD_SECONDS
        ? {
            message: `The newest lead is dated ${formatDuration(stampsAheadSeconds ?? 0)} ahead of the clock.`,
            fix: 'Check the clocks of this machine and of the database. After a large import, wait.',
          }
        : undefined,
  },
  {
    ...{ name: 'consumers-refused', levels: ['warning'], docs: 'docs/errors.md' },
    title: 'A consumer polls, but is refused',
    find: describeRefused,
  },
  {
    ...{ name: 'leads-silent', levels: ['warning'], docs: 'docs/getting-leads-in.md' },
    title: 'No new lead has come in for longer than usual',
    find: (facts) => {
      const { leads } = facts;
      return leads?.isSilent && leads.latestAt !== null
        ? {
            message: `No lead has come in for ${formatDuration(secondsSince(facts, leads.latestAt))}; usual at this time of the week: ${formatValue(leads.usualPerHour ?? 0)} per hour.`,
            fix: 'Check the programs that send leads, and their tokens. `leadtap leads list --limit 5` shows the last ones.',
          }
        : undefined;
    },
  },
  {
    ...{ name: 'tokens-expiring', levels: ['warning'], docs: 'docs/errors.md#token-expired' },
    title: 'A token that polls expires within 7 days',
    find: describeExpiring,
  },
  {
    ...{ name: 'backup-old', levels: ['warning'], docs: 'docs/operations.md#back-it-up' },
    title: `The last backup is older than ${MAX_BACKUP_AGE_DAYS} days`,
    find: (facts) => {
      const lastAt = facts.backup?.lastAt ?? null;
      const age = lastAt === null ? 0 : secondsSince(facts, lastAt);
      return age > MAX_BACKUP_AGE_DAYS * DAY_S
        ? {
            message: `The last backup is ${formatDuration(age)} old.`,
            fix: 'Check the job that makes backups, or make one now: `leadtap backup FILE`.',
          }
        : undefined;
    },
  },
  {
    ...{ name: 'proxy-not-trusted', levels: ['warning'], docs: PROXY_DOCS },
    title: 'A proxy for https is not trusted, so that links begin with http',
    find: ({ untrustedProxy }) =>
      untrustedProxy
        ? {
            message: `A proxy at ${untrustedProxy.address} passes on requests over https, but is not trusted: the addresses in \`Link\` begin with http.`,
            fix: `Set LEADTAP_TRUST_PROXY=${untrustedProxy.address} and LEADTAP_PUBLIC_URL, and start Leadtap again.`,
          }
        : undefined,
  },
  {
    ...{ name: 'consumers-awaited', levels: ['unknown'], docs: 'docs/operations.md#problems' },
    title: 'The service was unavailable, or the clock was set back, and consumers have not polled yet since',
    find: (facts) => {
      const { awaited = 0, downtime = null } = facts.consumers ?? {};
      if (awaited === 0) return undefined;
      const isAhead = consumersWith(facts, 'consumers-awaited').listed.some(
        ({ lastPollAt }) => lastPollAt !== null && secondsSince(facts, lastPollAt) < 0,
      );
      if (isAhead || !downtime)
        return {
          message: `The clock was set back since the last polls: waiting for ${countOf(awaited, 'consumer', 'consumers')} to poll.`,
          fix: 'Check the clock of this machine. If it is right, wait for the next polls.',
        };
      const duration = formatDuration((Date.parse(downtime.until) - Date.parse(downtime.from)) / 1000);
      return {
        message: `The service was down for ${duration}, until ${formatDuration(secondsSince(facts, downtime.until))} ago: waiting for ${countOf(awaited, 'consumer', 'consumers')} to poll.`,
        fix: 'Wait: a consumer that does not poll within one and a half of its usual intervals is then named.',
      };
    },
  },
];

const URGENCY: readonly Level[] = ['error', 'warning', 'unknown'];

/** The problems in these facts, the most urgent first. */
export const diagnose = (facts: Facts): StatusProblem[] =>
  RULES.flatMap(({ name, levels, docs, find }) => {
    const found = find(facts);
    return found ? [{ kind: name, severity: levels[0], docs, ...found }] : [];
  }).sort((a, b) => URGENCY.indexOf(a.severity) - URGENCY.indexOf(b.severity));

const ENDINGS = {
  revoked: 'was revoked',
  expired: 'has expired',
  'key-removed': 'was signed with a key that was removed',
} as const;

/** `now` of the facts. */
const secondsSince = ({ generatedAt }: Pick<Facts, 'generatedAt'>, time: string): number =>
  (Date.parse(generatedAt) - Date.parse(time)) / 1000;

/** Each consumer has at most one of these problems, so that it is named once. */
const COUNTS = {
  'token-revoked-in-use': 'ended',
  'consumers-awaited': 'awaited',
  'consumers-stale': 'stale',
  'consumers-limited': 'limited',
  'leads-waiting': 'waitingLong',
  'consumers-refused': 'refused',
} as const satisfies Record<ConsumerProblem, keyof ConsumersStatus>;

function consumersWith({ consumers }: Facts, problem: ConsumerProblem) {
  const listed = consumers?.listed.filter((one) => one.problem === problem) ?? [];
  return { listed, count: consumers?.[COUNTS[problem]] ?? 0 };
}

/** The most frequent code of the last hour that fits the status of the last poll. Only the instance that refused it knows it. */
const codeOf = ({ refusals }: Facts, consumer: ConsumerStatus): ProblemCode | undefined =>
  refusals.find(
    ({ status, consumers }) =>
      status === consumer.lastStatus && consumers.some((other) => isSameConsumer(other, consumer)),
  )?.code;

/** `403 professional-plan-required`, and what to do about it. Undefined if the last poll was not refused. */
function refusalOf(facts: Facts, consumer: ConsumerStatus) {
  if (!isRefusal(consumer.lastStatus)) return undefined;
  const code = codeOf(facts, consumer);
  return {
    text: `${consumer.lastStatus}${code ? ` ${code}` : ''}`,
    fix: code ? fixOf(code, consumer.userId) : 'The table of refusals has the codes.',
    docs: code ? `docs/errors.md#${code}` : 'docs/errors.md',
  };
}

const timeLeft = ({ generatedAt }: Facts, { tokenExpiresAt }: ConsumerStatus): number =>
  (Date.parse(tokenExpiresAt ?? '') - Date.parse(generatedAt)) / 1000;

const STOPPED_FIX =
  'Look in its platform whether the automation is switched on and what its last run says. If it was switched off for good, revoke its token';

function describeStale(facts: Facts): Found | undefined {
  const { listed, count } = consumersWith(facts, 'consumers-stale');
  const [first] = listed;
  if (!first) return undefined;
  const isExpired = timeLeft(facts, first) <= 0;
  const refusal = refusalOf(facts, first);
  const fix = isExpired
    ? `Issue a new token and put it into the automation: ${issueCommand(first)}.`
    : (refusal?.fix ?? `${STOPPED_FIX}: ${revokeCommand(first)}.`);
  const docs = isExpired ? 'docs/errors.md#token-expired' : (refusal?.docs ?? CONSUMER_DOCS);
  if (count === 1) {
    const interval = first.usualIntervalSeconds;
    const usual = interval === null ? '' : `; it usually polls every ${formatDuration(interval)}`;
    const reason = isExpired
      ? `; its token expired ${formatDuration(-timeLeft(facts, first))} ago`
      : refusal && `; its last poll was refused with ${refusal.text}`;
    const silence = formatDuration(secondsSince(facts, first.lastPollAt ?? ''));
    return { message: `${subjectOf(first)} has not polled for ${silence}${reason || usual}.`, fix, docs };
  }
  const reasonOf = (one: ConsumerStatus) =>
    timeLeft(facts, one) <= 0
      ? ', token expired'
      : isRefusal(one.lastStatus)
        ? `, refused with ${one.lastStatus}`
        : '';
  const all = formatCount(count + (facts.consumers?.active ?? 0));
  return {
    message: `${formatCount(count)} of ${all} consumers have stopped polling: ${listNames(listed, count, reasonOf)}.`,
    fix: `${fix} \`leadtap consumers --stale\` lists them.`,
    docs,
  };
}

function describeWaiting(facts: Facts): Found | undefined {
  const { listed, count } = consumersWith(facts, 'leads-waiting');
  const [first] = listed;
  if (!first) return undefined;
  const refusal = refusalOf(facts, first);
  const waitOf = ({ waitingSince, unconfirmedSince }: ConsumerStatus) =>
    formatDuration(secondsSince(facts, waitingSince ?? unconfirmedSince ?? facts.generatedAt));
  if (count > 1)
    return {
      message: `Leads wait for ${formatCount(count)} consumers: ${listNames(listed, count, (one) => `, for ${waitOf(one)}`)}.`,
      fix: '`leadtap consumers` shows how far each has come, and its last poll.',
    };
  const polled =
    first.lastPollAt === null
      ? 'it accepts webhook events, but has never polled'
      : refusal
        ? `its last poll was refused with ${refusal.text}`
        : first.isStuck
          ? 'it polls from the same place again and again'
          : `its last poll was ${formatDuration(secondsSince(facts, first.lastPollAt))} ago`;
  const hasStopped = first.state !== 'active';
  return {
    message: `${first.waiting === 0 ? 'Leads wait' : countOf(first.waiting, 'lead waits', 'leads wait')} for ${describe(first)}, the oldest for ${waitOf(first)}; ${polled}.`,
    fix:
      refusal?.fix ??
      (hasStopped
        ? `${STOPPED_FIX}: ${revokeCommand(first)}.`
        : `It polls, but does not get them: it must follow the address in \`Link\` until a page is empty. ${consumersCommand(first)} shows how far it has come.`),
    ...(refusal && { docs: refusal.docs }),
  };
}

function describeRefused(facts: Facts): Found | undefined {
  const { listed, count } = consumersWith(facts, 'consumers-refused');
  const [first] = listed;
  const refusal = first && refusalOf(facts, first);
  if (!refusal) return describeWithoutUser(facts);
  const names = () => listNames(listed, count, ({ lastStatus }) => `, ${lastStatus}`);
  const message =
    count === 1
      ? `${subjectOf(first)} polls, but is refused with ${refusal.text}.`
      : `${formatCount(count)} consumers poll, but are refused: ${names()}.`;
  return { message, fix: refusal.fix, docs: refusal.docs };
}

/** The tokens of removed users are no consumers any more. Only the instance that refuses them knows that they are used. */
function describeWithoutUser({ refusals, consumers }: Facts): Found | undefined {
  for (const { code, status, consumers: refused } of refusals) {
    if (code !== 'user-not-found' && code !== 'token-revoked') continue;
    const first = refused.find(
      (one) => one.lastHour > 0 && !consumers?.listed.some((other) => isSameConsumer(one, other)),
    );
    if (first)
      return {
        message: `${subjectOf(first)} polls, but is refused with ${status} ${code}.`,
        ...{ fix: fixOf(code, first.userId), docs: `docs/errors.md#${code}` },
      };
  }
  return undefined;
}

function describeLimited(facts: Facts): Found | undefined {
  const { listed, count } = consumersWith(facts, 'consumers-limited');
  const [first] = listed;
  if (!first) return undefined;
  const waitOf = ({ waitingSince }: ConsumerStatus) =>
    formatDuration(secondsSince(facts, waitingSince ?? facts.generatedAt));
  const message =
    count === 1
      ? `${subjectOf(first)} polls too often: its last poll was refused with 429, and leads have been waiting for ${waitOf(first)}.`
      : `${formatCount(count)} consumers poll too often and are refused with 429 while leads wait: ${listNames(listed, count, (one) => `, for ${waitOf(one)}`)}.`;
  return {
    severity: (facts.consumers?.limitedLong ?? 0) > 0 ? 'error' : 'warning',
    message,
    fix: `Let it poll less often, or with \`Prefer: wait=50\`. All tokens of a user share the limits: ${consumersCommand(first)} lists them.`,
  };
}

function describeExpiring(facts: Facts): Found | undefined {
  const { consumers } = facts;
  const left = (one: ConsumerStatus) => timeLeft(facts, one);
  const found = consumers?.listed.filter(({ tokenExpiresSoon }) => tokenExpiresSoon) ?? [];
  const [first] = found.toSorted((a, b) => left(a) - left(b));
  if (!consumers || !first) return undefined;
  const message =
    consumers.expiring === 1
      ? `The token of ${describe(first)} expires in ${formatDuration(left(first))}.`
      : `${formatCount(consumers.expiring)} tokens expire within 7 days: ${listNames(
          found.toSorted((a, b) => left(a) - left(b)),
          consumers.expiring,
          (one) => `, in ${formatDuration(left(one))}`,
        )}.`;
  const fix = `Issue a new token and put it into the automation: ${issueCommand(first)}. The automation keeps its position.`;
  return { message, fix };
}

function describeHooks(
  { hooks, consumers }: Facts,
  state: 'disabled' | 'failing',
  reason: string,
  fix: string,
): Found | undefined {
  if (!hooks || hooks[state] === 0) return undefined;
  const subject = countOf(hooks[state], 'webhook subscription is', 'webhook subscriptions are');
  const found = consumers?.listed.filter(({ hook }) => hook?.state === state) ?? [];
  const whose = found.length === 0 ? '' : ` Of ${listNames(found, found.length)}.`;
  return { message: `${subject} ${state}: ${reason}.${whose}`, fix };
}

export interface Conclusion {
  readonly healthy: StatusReport['healthy'];
  readonly good: string | null;
  readonly note: string | null;
}

/** The sentence at the top of the page: what is proven to be well, or why nothing can be said. */
export function conclude(
  { consumers }: Facts,
  problems: readonly StatusProblem[],
  staleAfterMs?: number,
): Conclusion {
  const has = (level: StatusProblem['severity']) => problems.some(({ severity }) => severity === level);
  if (has('error') || !consumers) return { healthy: false, good: null, note: null };
  const no = (note: string) => `No problem was found. ${note}`;
  if (!consumers.recorded)
    return { healthy: null, good: null, note: no('Consumers are not recorded (LEADTAP_CONSUMERS=off).') };
  if (has('unknown')) return { healthy: null, good: null, note: null };
  const { active, inactive } = consumers;
  if (problems.some(({ kind }) => kind === 'consumers-refused' || kind === 'consumers-limited'))
    return { healthy: true, good: null, note: null };
  if (active === 0) {
    const note = no(inactive === 0 ? 'No consumer has polled yet.' : 'No consumer polls at present.');
    return { healthy: true, good: null, note };
  }
  const leads = consumers.behind === 0 ? 'Every lead was picked up.' : 'No lead waits longer than usual.';
  return { healthy: true, good: `${leads} ${describeActive(consumers, staleAfterMs)}`, note: null };
}

/** What is known of the active consumers. One that has just begun to poll has no usual interval yet. */
function describeActive({ active, activeWithoutInterval }: ConsumersStatus, staleAfterMs?: number): string {
  const known = active - activeWithoutInterval;
  const subject = active === 1 ? 'The only consumer' : `All ${formatCount(active)} consumers`;
  if (known === 0)
    return `${subject} ${active === 1 ? 'is new: its usual interval is' : 'are new: their usual intervals are'} not known yet.`;
  if (staleAfterMs !== undefined)
    return `${subject} polled within the last ${formatDuration(staleAfterMs / 1000)}.`;
  if (known === active) return active === 1 ? `${subject} polls as usual.` : `${subject} poll as usual.`;
  const others = `${formatCount(known)} of ${formatCount(active)} consumers ${known === 1 ? 'polls' : 'poll'} as usual.`;
  return `${others} The usual interval of the ${activeWithoutInterval === 1 ? 'other one' : 'others'} is not known yet.`;
}
