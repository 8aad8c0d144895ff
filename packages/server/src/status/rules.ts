/**
 * The diagnosis: one list of rules. The status page, `/status.json`, `leadtap doctor`, the list of consumers over HTTP, the metric
 * `leadtap_problem`, `LEADTAP_ALERT_URL` and the alert rules in deploy/prometheus all use this list, so that they cannot disagree.
 */

import { NO_COMPANY } from '../accounts/no-company.ts';
import { formatBytes, formatCount, formatDuration } from '../lib/formats.ts';
import {
  type ConsumerRow,
  type DescribeConsumer,
  describeAwaited,
  describeEnded,
  describeExpiring,
  describeHook,
  describeLimited,
  describePending,
  describeRefused,
  describeSkipped,
  describeStale,
  type Found,
  findAwaited,
  findConsumers,
  findRefusedWithoutUser,
  type Moment,
} from './consumer-problems.ts';
import { describeCoverage, findUnseen, isReachedKnown, OF_USER } from './coverage-sentences.ts';
import { MAX_ERRORS } from './instance.ts';
import type {
  ConsumerProblem,
  ConsumerStatus,
  ConsumersStatus,
  Diagnosis,
  Facts,
  SenderProblem,
  StatusProblem,
} from './report.ts';
import { findSenders } from './sender-problems.ts';
import { countOf, secondsSince } from './sentences.ts';

type Level = StatusProblem['severity'];

export interface Rule {
  readonly name: StatusProblem['kind'];
  /** `error`: leads are not picked up, or soon cannot be. `warning`: look into it. `unknown`: it cannot be said yet. The usual one first. */
  readonly levels: readonly [Level, ...Level[]];
  /** What is wrong, without names and numbers, for the alert and the documents. */
  readonly title: string;
  /** What it means and what to do, for every subject: for docs/problems.md and the page at `/docs`. Markdown with code spans only. */
  readonly guide: string;
  /** Undefined if there is no such problem. */
  readonly find: (facts: Facts) => Found | undefined;
  /** What is said of a subject that no longer has this problem, after its name. Default: the title. */
  readonly ended?: string;
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
}): Rule => ({
  ...rule,
  find: (facts) => {
    const { name: problem, levels, describe } = rule;
    return findConsumers(facts, { problem, severity: levels[0], describe, sortKey });
  },
});

/** A rule about single senders. */
const senderRule = (rule: Omit<Rule, 'find'> & { readonly name: SenderProblem }): Rule => ({
  ...rule,
  find: (facts) => findSenders(facts, rule.name, rule.levels[0]),
});

const HOUR_S = 3600;
const DAY_S = 86_400;
/** Space for a few hundred thousand leads. */
export const LOW_FREE_BYTES = 256 * 1024 * 1024;
/** SQLite's write-ahead log alone grows by a few MiB between two checkpoints. */
const MIN_FREE_BYTES = 16 * 1024 * 1024;
const MAX_STAMPS_AHEAD_S = 60;
const FAILED_MINUTES = 5;
const MAX_BACKUP_AGE_DAYS = 7;

/** The lead that has been pending longest comes first. */
const pendingSinceOf = (consumer: ConsumerStatus): string =>
  consumer.pendingSince ?? consumer.unconfirmedSince ?? '';

/** The most urgent first. */
export const RULES: readonly Rule[] = [
  {
    name: 'database-unreachable',
    levels: ['error'],
    title: 'The database is unreachable',
    guide:
      'Polls are answered with 503, and clients retry: no lead is lost. `leadtap doctor` says what is wrong. The service connects again by itself.',
    find: ({ database }) =>
      database.reachable
        ? undefined
        : {
            message: 'The database is unreachable: polls are answered with 503.',
            fix: '`leadtap doctor` says what is wrong.',
          },
  },
  {
    name: 'no-company',
    levels: ['unknown'],
    title: 'There is no company yet',
    guide: `${NO_COMPANY.fix} If there were companies, the database is another one: check \`LEADTAP_DATABASE_URL\` and the current folder.`,
    find: ({ database }) => (database.isEmpty ? NO_COMPANY : undefined),
  },
  {
    name: 'consumers-unknown',
    levels: ['error'],
    title: 'The consumers cannot be read',
    guide:
      'The database is slow, so it is not known who polls. Polls are answered as usual. If it lasts, search the log for "the consumers could not be read".',
    find: ({ database, consumers }) =>
      database.reachable && consumers === null
        ? {
            message: 'The consumers could not be read within 3 seconds.',
            fix: 'If the next refresh does not show them, search the log for "the consumers could not be read".',
          }
        : undefined,
  },
  senderRule({
    name: 'leads-refused',
    levels: ['error'],
    title: 'A sender has refused requests: their leads are not stored',
    guide:
      'The status page has the code and the names of the fields, and `{base_url}/docs#problems` explains each code. Correct the sender, or give it a new token if that has ended. `leadtap leads refused list` shows the requests that are kept, and `leadtap leads refused accept ID` stores their leads. It is found until they are accepted, deleted, or repeated with success. A request is not kept if it was answered with 400, 404, 405, 413 or 415, or has a token that was revoked or whose user was removed, or with `LEADTAP_KEEP_REFUSED=off`; after 30 days, or when more were refused than are kept, it is deleted. The sender must send such a request again. It is found for 7 days, whatever the sender sends later, or until `leadtap leads refused delete --all --connection NAME`.',
    ended: 'has no refused request that is kept, and no other one of the last 7 days',
  }),
  senderRule({
    name: 'intake-off',
    levels: ['warning'],
    title: 'The intake is switched off, and a token has sent leads within the last 30 days',
    guide:
      'With `LEADTAP_INTAKE=off`, what it sends is answered with 404 and not kept. Set `LEADTAP_INTAKE=on`, or revoke the token when its sender is switched off: `leadtap token revoke ID`.',
    ended: 'may send leads again, or has not sent any for 30 days',
  }),
  senderRule({
    name: 'senders-expired',
    levels: ['error'],
    title: 'The token of a sender has expired: what it sends is refused',
    guide:
      'It sent leads within the last 30 days, and no other token with the same user, source and name has sent since. Issue a new token (`leadtap token issue --user ID --scope leads:write`, or with `--source`) and put it into the sender. If the sender is no longer needed, revoke the old one: `leadtap token revoke ID`.',
    ended: 'has another token, or has not sent for 30 days',
  }),
  consumerRule({
    name: 'leads-skipped',
    levels: ['error'],
    title:
      'A consumer has skipped leads: it has later leads, but these were never sent to it, or not since it may see them',
    guide:
      'For example, a client polls with the time of its own clock, or without `since` while more leads come than fit into its page. Or a lead was assigned to its branch after it had got later leads: assign the branch before you add a lead. Let it poll once with the `since` that the status page names, and then continue with the address in `Link`. It is found for 7 days, or until then.',
    ended: 'has no skipped leads any more',
    describe: describeSkipped,
  }),
  consumerRule({
    name: 'token-revoked-in-use',
    levels: ['error'],
    title:
      'A consumer still polls with a token that has ended (revoked or expired), or leads wait for a webhook whose token has ended',
    guide:
      'The polls of one that polls are refused. Put a new token into the automation (`leadtap token issue --user ID`), or switch the automation off. The automation continues where it stopped. A webhook has ended with its token, or with the key that signed it: delete it (`leadtap hooks remove ID`), and if it is needed, run the command that this prints.',
    ended: 'does not use the ended token any more',
    describe: describeEnded,
  }),
  consumerRule({
    name: 'consumers-stale',
    levels: ['error'],
    title: 'A consumer has stopped polling',
    guide:
      'Look in its platform whether the automation is switched on and what its last run says. If the automation has a new token now, or was switched off for good, revoke the old token: `leadtap token revoke ID`, or mark it as handled: `leadtap connections handled NAME`. While leads wait for it, it stays an error.',
    ended: 'polls again',
    describe: describeStale,
  }),
  consumerRule({
    name: 'leads-waiting',
    levels: ['error', 'warning'],
    title:
      'Leads wait for a consumer for more than an hour and four of its usual intervals, or for a webhook for more than 2 minutes',
    guide:
      'It has stopped, or it polls and does not advance (it must follow the address in `Link` until a page is empty), or it has a webhook and never polls, or its webhook is not sent its leads because its host is not in `LEADTAP_HOOK_HOSTS`. For a webhook it is an error after an hour. A token that polled only a few times is a warning after a day. Revoke tokens that are no longer needed.',
    ended: 'has the leads that waited',
    describe: describePending,
    sortKey: pendingSinceOf,
  }),
  {
    name: 'leads-unseen',
    levels: ['warning'],
    title: 'Leads of the last 30 days came in that no automation may see',
    guide:
      'No automation may see their company, branch or department, or the one that may does not poll any more, or its token has ended, or they waited for one that was deleted, forgotten or whose user was removed. Connect one: `leadtap token issue --user ID`, with a user whose access level includes the place. Let it poll first with the `since` that the status page names, so that it gets these leads, too. It is found for 30 days, or until then.',
    ended: 'has no lead of the last 30 days any more that no automation may see',
    find: findUnseen,
  },
  consumerRule({
    name: 'consumers-limited',
    levels: ['warning', 'error'],
    title: 'Leads wait for a consumer that polls too often',
    guide:
      'Let it poll every 2 minutes, or with `Prefer: wait=50`. All tokens of a user share the limits. It is an error after 15 minutes.',
    ended: 'has the leads that waited',
    describe: describeLimited,
    sortKey: pendingSinceOf,
  }),
  {
    name: 'hooks-disabled',
    levels: ['error'],
    title: 'A webhook subscription is disabled',
    guide:
      'Its receiver has accepted no event for 3 days, or has answered leads with 410: the automation does not exist any more. `leadtap hooks list` shows what the receiver answered. `leadtap hooks send-test ID` enables it if the receiver accepts again.',
    find: (facts) =>
      findHooks(
        facts,
        'disabled',
        'no event was accepted for 3 days, or leads were answered with 410',
        'Leads wait, and none is lost. `leadtap hooks list` shows what the receivers answered; `leadtap hooks send-test ID` enables one that accepts requests again.',
      ),
    ended: 'has no disabled webhook any more',
    describe: describeHook,
  },
  {
    name: 'hooks-failing',
    levels: ['warning', 'error'],
    title: 'The events or leads of a webhook subscription are not accepted',
    guide:
      'What was not accepted is sent again, and no lead is lost. It is an error after 15 minutes. `leadtap hooks list` shows what the receiver answered. 404 or 410: the automation was deleted or switched off. 401 or 403: it wants authentication, which Leadtap does not send. 429 or 5xx: the platform is overloaded or down, so wait. 3xx: its address has changed. `-`: no connection, no response within 10 seconds, or no valid certificate.',
    find: (facts) => {
      const found = findHooks(
        facts,
        'failing',
        'the last request was not accepted',
        'It is sent again by itself. Leads wait meanwhile, and none is lost. `leadtap hooks list` shows what the receivers answered.',
      );
      return found && { ...found, severity: (facts.hooks?.failingLong ?? 0) > 0 ? 'error' : 'warning' };
    },
    ended: 'has no failing webhook any more',
    describe: describeHook,
  },
  {
    name: 'requests-failed',
    levels: ['error'],
    title: 'Requests were answered with a 5xx',
    guide:
      'Of one instance, in the last 5 minutes. Search the log for a request id of "Last errors" on the status page: its lines have the cause.',
    find: (facts) => {
      const failed = facts.errors.filter(({ at }) => secondsSince(facts, at) < FAILED_MINUTES * 60).length;
      if (failed === 0) return undefined;
      // Only the last ones are kept.
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
    guide:
      'Less than 256 MiB are free; less than 16 MiB is an error. When the disk is full, polls are answered as usual, and leads that are sent get 503. Delete other files from this disk.',
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
    guide:
      'Of one instance: it counts the rate limits by itself, and connects again by itself. `leadtap doctor` says why it cannot.',
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
    guide: 'After a large import, wait. Otherwise check the clocks of this machine and of the database.',
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
    title:
      'A consumer polls, but is refused, or leads wait although the plan of its user does not include them',
    guide:
      'The status page has the code of the refusal, and `{base_url}/docs#problems` explains each code. A webhook is not sent leads while the plan of its user does not include it.',
    find: (facts) => {
      const search = {
        problem: 'consumers-refused',
        severity: 'warning',
        describe: describeRefused,
      } as const;
      const found = findConsumers(facts, search);
      const withoutUser = findRefusedWithoutUser(facts);
      if (!found || !withoutUser) return found ?? withoutUser;
      return { ...found, subjects: [...(found.subjects ?? []), ...(withoutUser.subjects ?? [])] };
    },
    ended: 'is no longer refused',
    describe: describeRefused,
  },
  {
    name: 'leads-silent',
    levels: ['warning'],
    title: 'No new lead has come in for longer than usual',
    guide:
      'Compared with the same hours of the two weeks before. Check the programs that send leads, and their tokens. `leadtap leads list --limit 5` shows the last ones.',
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
    title: 'A token that polls, or whose webhook sends leads, expires within 7 days',
    guide:
      'Issue a new token (`leadtap token issue --user ID`) and put it into the automation, then revoke the old one (`leadtap token revoke ID`). The automation continues where it stopped. A webhook that sends leads ends with its token: subscribe its URL again with the new one.',
    ended: 'has a token that was renewed or has ended',
    describe: describeExpiring,
    sortKey: ({ tokenExpiresAt }) => tokenExpiresAt ?? '',
  }),
  senderRule({
    name: 'senders-expiring',
    levels: ['warning'],
    title: 'A token that sends leads expires within 7 days',
    guide:
      'Or within the last third of its life, if that is shorter. What it sends is refused then. Issue a new token (`leadtap token issue --user ID --scope leads:write`, or with `--source`) and put it into the sender.',
    ended: 'has a token that was renewed or has ended',
  }),
  {
    name: 'backup-old',
    levels: ['warning'],
    title: `The last backup is older than ${MAX_BACKUP_AGE_DAYS} days`,
    guide: 'Check the job that makes backups. Only `leadtap backup` is known, not backups by other means.',
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
    guide:
      'Of one instance. Set `LEADTAP_TRUST_PROXY` to the address of the proxy, and `LEADTAP_PUBLIC_URL` to the base address. Then start the service again.',
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
    title:
      'The service was unavailable or recorded no polls, or the clock was set back, and consumers have not polled yet since',
    guide: 'Wait: a consumer that does not poll within one and a half of its usual intervals is then named.',
    find: findAwaited,
    describe: describeAwaited,
  },
];

const URGENCY: readonly Level[] = ['error', 'warning', 'unknown'];

export function diagnose(facts: Facts, staleAfterMs?: number): Diagnosis {
  const problems = RULES.flatMap(({ name, levels, find }): StatusProblem[] => {
    const found = find(facts);
    return found ? [{ kind: name, severity: levels[0], docs: `/docs#${name}`, ...found }] : [];
  }).sort((a, b) => URGENCY.indexOf(a.severity) - URGENCY.indexOf(b.severity));
  const { consumers, generatedAt } = facts;
  const now = Date.parse(generatedAt);
  return { ...conclude({ consumers, problems, now, staleAfterMs }), problems };
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

/** Warnings with which leads may be pending. */
const PENDING_KINDS: readonly StatusProblem['kind'][] = [
  'leads-waiting',
  'leads-unseen',
  'consumers-refused',
  'consumers-limited',
  'hooks-failing',
];

export interface Conclusion {
  readonly consumers: ConsumersStatus | null;
  readonly problems: readonly Pick<StatusProblem, 'kind' | 'severity'>[];
  readonly now: number;
  readonly staleAfterMs: number | undefined;
  /** Default: of all users. */
  readonly isOfUser?: true;
}

/** The sentence at the top of the page: what is proven to be well, or why nothing can be said. */
export function conclude(conclusion: Conclusion): Omit<Diagnosis, 'problems'> {
  const { consumers, problems, now, staleAfterMs, isOfUser } = conclusion;
  const has = (level: Level) => problems.some(({ severity }) => severity === level);
  const nothingFound = (healthy: boolean | null, why: string) => ({
    ...{ healthy, good: null, note: `No problem was found. ${why}` },
  });
  if (has('error') || !consumers) return { healthy: false, good: null, note: null };
  if (!consumers.recorded) return nothingFound(null, 'Consumers are not recorded (LEADTAP_CONSUMERS=off).');
  if (has('unknown')) return { healthy: null, good: null, note: null };
  if (problems.some(({ kind }) => PENDING_KINDS.includes(kind)))
    return { healthy: true, good: null, note: null };
  const { active, activeWithoutInterval, inactive, removed, behind, longestWaitSeconds, coverage } =
    consumers;
  if (!coverage) return nothingFound(null, 'The leads of the last 30 days are not counted yet.');
  if (active === 0)
    return nothingFound(
      true,
      inactive + removed === 0 ? 'No consumer has polled yet.' : 'No consumer polls at present.',
    );
  const leads = describeCoverage(coverage, now, isOfUser && OF_USER);
  // Of a consumer that is new, no wait is usual.
  const isLong = activeWithoutInterval > 0 && longestWaitSeconds > HOUR_S;
  const delay = isLong
    ? ` The oldest lead has waited for ${formatDuration(longestWaitSeconds)}.`
    : ' No lead waits longer than usual.';
  const sentence = `${leads}${behind === 0 ? '' : delay} ${describeActive(consumers, staleAfterMs)}`;
  const { skipped, beforeStart, unseen } = coverage;
  const isGood =
    isReachedKnown(coverage) && skipped + beforeStart + unseen + consumers.notAllowed === 0 && !isLong;
  return isGood
    ? { healthy: true, good: sentence, note: null }
    : { healthy: true, good: null, note: sentence };
}

/** What is known of the active consumers: those that poll, and the webhooks that leads are sent to. */
function describeActive(consumers: ConsumersStatus, staleAfterMs?: number): string {
  const { active, activeWithoutInterval, activeByWebhook: webhooks, notAllowed } = consumers;
  const allowed = webhooks - notAllowed;
  const accepting = [
    allowed > 0 && `${countOf(allowed, 'webhook accepts', 'webhooks accept')} leads.`,
    notAllowed > 0 &&
      `${countOf(notAllowed, 'webhook is', 'webhooks are')} not sent new leads: LEADTAP_HOOKS or LEADTAP_HOOK_HOSTS of this service.`,
  ]
    .filter((sentence) => sentence !== false)
    .join(' ');
  if (webhooks === 0) return describePolling(active, activeWithoutInterval, staleAfterMs);
  if (webhooks === active) return accepting;
  return `${describePolling(active - webhooks, activeWithoutInterval, staleAfterMs)} ${accepting}`;
}

/** One that has just begun to poll has no usual interval yet. */
function describePolling(active: number, activeWithoutInterval: number, staleAfterMs?: number): string {
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

/** By their number alone where the consumers are not known. */
function findHooks(
  facts: Facts,
  state: 'disabled' | 'failing',
  reason: string,
  fix: string,
): Found | undefined {
  const { hooks } = facts;
  if (!hooks || hooks[state] === 0) return undefined;
  const severity = state === 'disabled' ? 'error' : 'warning';
  const found = findConsumers(facts, { problem: `hooks-${state}`, severity, describe: describeHook });
  if (found) return found;
  const subject = countOf(hooks[state], 'webhook subscription is', 'webhook subscriptions are');
  return { message: `${subject} ${state}: ${reason}.`, fix };
}
