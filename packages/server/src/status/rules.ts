/**
 * The problems of the installation: one list of rules. The status page, `/status.json`, `leadtap doctor`, the metric `leadtap_problem`,
 * `LEADTAP_ALERT_URL`, the documents and the alert rules in deploy/prometheus all use it. What is said of a connection stands in its row.
 */
import { countText, type StatusProblem } from '@leadtap/contract';
import { NO_COMPANY } from '../accounts/no-company.ts';
import { worstOf } from '../connections/sentence.ts';
import { formatBytes, formatDuration } from '../lib/formats.ts';
import { MAX_ERRORS } from './instance.ts';
import type { Facts, Part, StatusReport } from './report.ts';

type Level = StatusProblem['level'];

export interface Rule {
  readonly name: StatusProblem['kind'];
  /** The usual one first. */
  readonly levels: readonly [Level, ...Level[]];
  /** What is wrong, without names and numbers, for the alert and the documents. */
  readonly title: string;
  /** What it means and what to do: for docs/problems.md and the page at `/docs`. Markdown with code spans only. */
  readonly guide: string;
  /** If this could not be read, nothing can be said. */
  readonly part?: Part;
  /** Undefined if there is no such problem. */
  readonly find: (
    facts: Facts,
  ) => (Pick<StatusProblem, 'message' | 'fix'> & { readonly level?: Level }) | undefined;
}

/** Space for a few hundred thousand leads. */
export const LOW_FREE_BYTES = 256 * 1024 * 1024;
/** SQLite's write-ahead log alone grows by a few MiB between two checkpoints. */
const MIN_FREE_BYTES = 16 * 1024 * 1024;
const MAX_STAMPS_AHEAD_S = 60;
const FAILED_MINUTES = 5;
const MAX_BACKUP_AGE_DAYS = 7;

export const secondsSince = ({ generatedAt }: Pick<Facts, 'generatedAt'>, time: string): number =>
  (Date.parse(generatedAt) - Date.parse(time)) / 1000;

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
    part: 'database',
    find: ({ database }) => (database.isEmpty ? NO_COMPANY : undefined),
  },
  {
    name: 'connections-unknown',
    levels: ['error'],
    title: 'The connections cannot be read',
    guide:
      'The database is slow, so it is not known what was sent. Polls are answered as usual. If it lasts, search the log for "the connections could not be read".',
    part: 'database',
    find: ({ connections }) =>
      connections === null
        ? {
            message: 'The connections could not be read in time.',
            fix: 'If the next refresh does not show them, search the log for "the connections could not be read".',
          }
        : undefined,
  },
  {
    name: 'requests-failed',
    levels: ['error'],
    title: 'Requests were answered with a 5xx',
    guide:
      'Of one instance, in the last 5 minutes. Search the log for a request id of "Last errors" on the status page: its lines have the cause.',
    find: (facts) => {
      const failed = facts.errors.filter(({ at }) => secondsSince(facts, at) < FAILED_MINUTES * 60).length;
      // Only the last ones are kept.
      const count = countText(failed, 'request was', 'requests were', MAX_ERRORS);
      return failed === 0
        ? undefined
        : {
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
    part: 'disk',
    find: ({ disk }) =>
      disk && disk.freeBytes < LOW_FREE_BYTES
        ? {
            level: disk.freeBytes < MIN_FREE_BYTES ? 'error' : 'warning',
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
    part: 'database',
    find: ({ database: { stampsAheadSeconds } }) =>
      (stampsAheadSeconds ?? 0) > MAX_STAMPS_AHEAD_S
        ? {
            message: `The newest lead is dated ${formatDuration(stampsAheadSeconds ?? 0)} ahead of the clock.`,
            fix: 'Check the clocks of this machine and of the database. After a large import, wait.',
          }
        : undefined,
  },
  {
    name: 'alerts-failing',
    levels: ['warning'],
    title: 'Alerts do not get out',
    guide:
      'Of one instance: the last message to `LEADTAP_ALERT_URL` was not accepted. Correct the address, start the service again, and try it with `leadtap alert --test`.',
    find: ({ alertFailure }) =>
      alertFailure === null
        ? undefined
        : {
            message: `Alerts do not get out: ${alertFailure}.`,
            fix: 'Correct LEADTAP_ALERT_URL and start Leadtap again. `leadtap alert --test` tries it.',
          },
  },
  {
    name: 'backup-old',
    levels: ['warning'],
    title: `The last backup is older than ${MAX_BACKUP_AGE_DAYS} days`,
    guide: 'Check the job that makes backups. Only `leadtap backup` is known, not backups by other means.',
    part: 'backup',
    find: (facts) => {
      const lastAt = facts.backup?.lastAt ?? null;
      const age = lastAt === null ? 0 : secondsSince(facts, lastAt);
      return age > MAX_BACKUP_AGE_DAYS * 86_400
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
];

export const isUnread = ({ part }: Rule, { unread }: Pick<Facts, 'unread'>): boolean =>
  part !== undefined && unread.has(part);

const URGENCY: readonly Level[] = ['error', 'warning', 'unknown'];

export function diagnose(facts: Facts): StatusReport {
  const problems = RULES.flatMap((rule): StatusProblem[] => {
    const found = isUnread(rule, facts) ? undefined : rule.find(facts);
    const { name, levels } = rule;
    return found ? [{ kind: name, level: levels[0], docs: `/docs#${name}`, ...found }] : [];
  }).sort((a, b) => URGENCY.indexOf(a.level) - URGENCY.indexOf(b.level));
  const levels = problems.map(({ level }) => level);
  const level = worstOf([facts.connections?.level ?? 'unknown', ...levels]) ?? 'unknown';
  return { ...facts, level, problems };
}
