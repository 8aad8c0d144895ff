/**
 * The diagnosis: one list of rules. The status page, `/status.json`, `leadtap doctor`, the list of consumers over HTTP, the metric
 * `leadtap_problem` and the alert rules in deploy/prometheus all use this list, so that they cannot disagree.
 */

import { formatBytes, formatCount, formatDuration } from '../formats.ts';
import {
  type ConsumerRow,
  type DescribeConsumer,
  describeAwaited,
  describeEnded,
  describeExpiring,
  describeHook,
  describeLimited,
  describeRefused,
  describeSkipped,
  describeStale,
  describeWaiting,
  type Found,
  findAwaited,
  findConsumers,
  findRefusedWithoutUser,
  type Moment,
} from './consumer-problems.ts';
import { MAX_ERRORS } from './instance.ts';
import type {
  ConsumerProblem,
  ConsumerStatus,
  ConsumersStatus,
  Diagnosis,
  Facts,
  StatusProblem,
} from './report.ts';
import { countOf, listNames, secondsSince } from './sentences.ts';

type Level = StatusProblem['severity'];

export interface Rule {
  readonly name: StatusProblem['kind'];
  /** `error`: leads are not picked up, or soon cannot be. `warning`: look into it. `unknown`: it cannot be said yet. The usual one first. */
  readonly levels: readonly [Level, ...Level[]];
  /** What is wrong, without names and numbers, for the alert and the documents. */
  readonly title: string;
  /** The page of the documents, with its section. */
  readonly docs: string;
  /** Undefined if there is no such problem. */
  readonly find: (facts: Facts) => Found | undefined;
  /** For the user of one consumer that has this problem. */
  readonly describe?: (consumer: ConsumerStatus, moment: Moment) => ConsumerRow;
}

/** A rule about single consumers, which `judge` has found. */
const consumerRule = ({
  sortKey,
  ...rule
}: Omit<Rule, 'find'> & {
  readonly name: ConsumerProblem;
  readonly describe: DescribeConsumer;
  readonly sortKey?: (consumer: ConsumerStatus) => string;
}): Rule => ({ ...rule, find: (facts) => findConsumers(facts, rule.name, rule.describe, sortKey) });

const DAY_S = 86_400;
/** Space for a few hundred thousand leads. */
export const LOW_FREE_BYTES = 256 * 1024 * 1024;
/** SQLite's write-ahead log alone grows by a few MiB between two checkpoints. */
const MIN_FREE_BYTES = 16 * 1024 * 1024;
const MAX_STAMPS_AHEAD_S = 60;
const FAILED_MINUTES = 5;
const MAX_BACKUP_AGE_DAYS = 7;

const HOOK_DOCS = 'docs/operations.md#webhooks-that-fail';

/** The lead that has been waiting longest comes first. */
const waitingSince = (consumer: ConsumerStatus): string =>
  consumer.waitingSince ?? consumer.unconfirmedSince ?? '';

/** The most urgent first. */
export const RULES: readonly Rule[] = [
  {
    name: 'database-unreachable',
    levels: ['error'],
    title: 'The database is unreachable',
    docs: 'docs/faults.md',
    find: ({ database }) =>
      database.reachable
        ? undefined
        : {
            message: 'The database is unreachable: polls are answered with 503.',
            fix: '`leadtap doctor` says what is wrong.',
          },
  },
  {
    name: 'consumers-unknown',
    levels: ['error'],
    title: 'The consumers cannot be read',
    docs: 'docs/faults.md',
    find: ({ database, consumers }) =>
      database.reachable && consumers === null
        ? {
            message: 'The consumers could not be read within 3 seconds.',
            fix: 'If the next refresh does not show them, search the log for "the consumers could not be read".',
          }
        : undefined,
  },
  consumerRule({
    name: 'leads-skipped',
    levels: ['error'],
    title: 'A consumer has skipped leads: its position is past them, but they were never sent to it',
    docs: 'docs/operations.md#problems',
    describe: describeSkipped,
  }),
  consumerRule({
    name: 'token-revoked-in-use',
    levels: ['error'],
    title: 'A consumer still polls with a token that has ended: revoked, expired, or of a removed key',
    docs: 'docs/errors.md#token-revoked',
    describe: describeEnded,
  }),
  consumerRule({
    name: 'consumers-stale',
    levels: ['error'],
    title: 'A consumer has stopped polling',
    docs: 'docs/consumers.md#who-polls-and-who-has-stopped',
    describe: describeStale,
  }),
  consumerRule({
    name: 'leads-waiting',
    levels: ['error'],
    title: 'Leads wait for a consumer for more than an hour and four of its usual intervals',
    docs: 'docs/operations.md#problems',
    describe: describeWaiting,
    sortKey: waitingSince,
  }),
  consumerRule({
    name: 'consumers-limited',
    levels: ['warning', 'error'],
    title: 'Leads wait for a consumer that is refused with 429',
    docs: 'docs/errors.md#rate-limit-exceeded',
    describe: describeLimited,
    sortKey: waitingSince,
  }),
  {
    name: 'hooks-disabled',
    levels: ['error'],
    title: 'A webhook subscription is disabled',
    docs: HOOK_DOCS,
    find: (facts) =>
      findHooks(
        facts,
        'disabled',
        'no event was accepted for 3 days',
        '`leadtap hooks list` shows what the receivers answered; `leadtap hooks send-test ID` enables one that accepts events again.',
      ),
    describe: describeHook,
  },
  {
    name: 'hooks-failing',
    levels: ['warning', 'error'],
    title: 'The events of a webhook subscription are not accepted',
    docs: HOOK_DOCS,
    find: (facts) => {
      const found = findHooks(
        facts,
        'failing',
        'the last event was not accepted',
        'Events are sent again by themselves, and leads wait until the next poll. `leadtap hooks list` shows what the receivers answered.',
      );
      return found && { ...found, severity: (facts.hooks?.failingLong ?? 0) > 0 ? 'error' : 'warning' };
    },
    describe: describeHook,
  },
  {
    name: 'requests-failed',
    levels: ['error'],
    title: 'Requests were answered with a 5xx',
    docs: 'docs/errors.md#internal-error',
    find: (facts) => {
      const failed = facts.errors.filter(({ at }) => secondsSince(facts, at) < FAILED_MINUTES * 60).length;
      if (failed === 0) return undefined;
      // Only the last ones are remembered.
      const count =
        failed === MAX_ERRORS
          ? `${failed} or more requests were`
          : countOf(failed, 'request was', 'requests were');
      return {
        message: `${count} answered with a 5xx in the last ${FAILED_MINUTES} minutes.`,
        fix: 'Search the log for a request id of the list "Last errors": its lines have the cause.',
      };
    },
  },
  {
    name: 'disk-low',
    levels: ['warning', 'error'],
    title: 'The disk of the database is almost full',
    docs: 'docs/faults.md#sqlite',
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
    name: 'redis-unreachable',
    levels: ['warning'],
    title: 'Redis is unreachable',
    docs: 'docs/faults.md#redis',
    find: ({ redis }) =>
      redis === null || redis.reachable
        ? undefined
        : {
            message: 'Redis is unreachable: each instance counts the rate limits by itself.',
            fix: 'The instance connects again by itself. `leadtap doctor` says why it cannot.',
          },
  },
  {
    name: 'stamps-ahead',
    levels: ['warning'],
    title: 'The newest lead is dated more than a minute ahead of the clock',
    docs: 'docs/delivery.md#what-is-not-guaranteed',
    find: ({ database: { stampsAheadSeconds } }) =>
      (stampsAheadSeconds ?? 0) > MAX_STAMPS_AHEAD_S
        ? {
            message: `The newest lead is dated ${formatDuration(stampsAheadSeconds ?? 0)} ahead of the clock.`,
            fix: 'Check the clocks of this machine and of the database. After a large import, wait.',
          }
        : undefined,
  },
  {
    name: 'consumers-refused',
    levels: ['warning'],
    title: 'A consumer polls, but is refused',
    docs: 'docs/errors.md',
    find: (facts) =>
      findConsumers(facts, 'consumers-refused', describeRefused) ?? findRefusedWithoutUser(facts),
    describe: describeRefused,
  },
  {
    name: 'leads-silent',
    levels: ['warning'],
    title: 'No new lead has come in for longer than usual',
    docs: 'docs/getting-leads-in.md',
    find: (facts) =>
      facts.leads.isSilent && facts.leads.latestAt !== null
        ? {
            message: `No lead has come in for ${formatDuration(secondsSince(facts, facts.leads.latestAt))}, which is unusual at this time of the week.`,
            fix: 'Check the programs that send leads, and their tokens. `leadtap leads list --limit 5` shows the last ones.',
          }
        : undefined,
  },
  consumerRule({
    name: 'tokens-expiring',
    levels: ['warning'],
    title: 'A token that polls expires within 7 days',
    docs: 'docs/errors.md#token-expired',
    describe: describeExpiring,
    sortKey: ({ tokenExpiresAt }) => tokenExpiresAt ?? '',
  }),
  {
    name: 'backup-old',
    levels: ['warning'],
    title: `The last backup is older than ${MAX_BACKUP_AGE_DAYS} days`,
    docs: 'docs/operations.md#back-it-up',
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
    name: 'proxy-not-trusted',
    levels: ['warning'],
    title: 'A proxy for https is not trusted, so that links begin with http',
    docs: 'docs/configuration.md#behind-a-proxy',
    find: ({ untrustedProxy: address }) =>
      address === null
        ? undefined
        : {
            message: `A proxy at ${address} passes on requests over https, but is not trusted: the addresses in \`Link\` begin with http.`,
            fix: `Set LEADTAP_TRUST_PROXY=${address} and LEADTAP_PUBLIC_URL, and start Leadtap again.`,
          },
  },
  {
    name: 'consumers-awaited',
    levels: ['unknown'],
    title: 'The service was unavailable, or the clock was set back, and consumers have not polled yet since',
    docs: 'docs/operations.md#problems',
    find: findAwaited,
    describe: describeAwaited,
  },
];

const URGENCY: readonly Level[] = ['error', 'warning', 'unknown'];

export function diagnose(facts: Facts, staleAfterMs?: number): Diagnosis {
  const problems = RULES.flatMap(({ name, levels, docs, find }): StatusProblem[] => {
    const found = find(facts);
    return found ? [{ kind: name, severity: levels[0], docs, ...found }] : [];
  }).sort((a, b) => URGENCY.indexOf(a.severity) - URGENCY.indexOf(b.severity));
  return { ...conclude(facts.consumers, problems, staleAfterMs), problems };
}

/** The most urgent problem of one consumer. */
export function findUrgent(
  consumer: ConsumerStatus,
  moment: Moment,
): (ConsumerRow & Pick<StatusProblem, 'kind' | 'severity'>) | undefined {
  const found = RULES.flatMap(({ name, levels, describe }) =>
    describe && consumer.problems.some((problem) => problem === name)
      ? [{ kind: name, severity: levels[0], ...describe(consumer, moment) }]
      : [],
  );
  return found.sort((a, b) => URGENCY.indexOf(a.severity) - URGENCY.indexOf(b.severity))[0];
}

/** The sentence at the top of the page: what is proven to be well, or why nothing can be said. */
export function conclude(
  consumers: ConsumersStatus | null,
  problems: readonly Pick<StatusProblem, 'kind' | 'severity'>[],
  staleAfterMs: number | undefined,
): Omit<Diagnosis, 'problems'> {
  const has = (level: Level) => problems.some(({ severity }) => severity === level);
  const nothingFound = (healthy: boolean | null, why: string) => ({
    ...{ healthy, good: null, note: `No problem was found. ${why}` },
  });
  if (has('error') || !consumers) return { healthy: false, good: null, note: null };
  if (!consumers.recorded) return nothingFound(null, 'Consumers are not recorded (LEADTAP_CONSUMERS=off).');
  if (has('unknown')) return { healthy: null, good: null, note: null };
  if (problems.some(({ kind }) => kind === 'consumers-refused' || kind === 'consumers-limited'))
    return { healthy: true, good: null, note: null };
  const { active, inactive, behind } = consumers;
  if (active === 0)
    return nothingFound(
      true,
      inactive === 0 ? 'No consumer has polled yet.' : 'No consumer polls at present.',
    );
  const leads = behind === 0 ? 'Every lead was picked up.' : 'No lead waits longer than usual.';
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

function findHooks(
  { hooks, consumers }: Facts,
  state: 'disabled' | 'failing',
  reason: string,
  fix: string,
): Found | undefined {
  if (!hooks || hooks[state] === 0) return undefined;
  const subject = countOf(hooks[state], 'webhook subscription is', 'webhook subscriptions are');
  const found = consumers?.listed.filter(({ problems }) => problems.includes(`hooks-${state}`)) ?? [];
  const whose = found.length === 0 ? '' : ` Of ${listNames(found)}.`;
  return { message: `${subject} ${state}: ${reason}.${whose}`, fix };
}
