import { readFileSync } from 'node:fs';
import { PROBLEM_CODES } from '@leadtap/contract';
import { describe, expect, it } from 'vitest';
import { EXIT_CODES } from '../../src/cli/exit.ts';
import { findProblems, fixOf } from '../../src/status/problems.ts';
import type { ConsumerStatus, StatusHistory, StatusProblem } from '../../src/status/report.ts';
import { terminalWithUsers } from '../cli/terminal.ts';

const NOW = Date.UTC(2026, 2, 2, 9, 30);
const HISTORY: StatusHistory = {
  ...{ from: '2026-03-02T08:31:00.000Z', stepSeconds: 60, pollsPerSecond: [], p99Ms: [] },
  ...{ rateLimited: [], rejected: [], failed: [3], leads: null },
};
const consumer = (rest: Partial<ConsumerStatus>): ConsumerStatus => ({
  ...{ tokenId: 'token-1', name: 'zapier', userId: 'boss', companyId: 'acme', state: 'active' },
  ...{ tokenExpiresAt: null, tokenExpiresSoon: false, lastPollAt: '2026-03-02T09:00:00.000Z' },
  ...{ lastStatus: 200, usualIntervalSeconds: 60, confirmedThrough: null, deliveredThrough: null },
  ...{ waiting: 0, waitingSince: null, skipped: 0, skippedSince: null, tokenEnded: null, isAwaited: false },
  ...{ hook: null, pollsByHour: null },
  ...rest,
});
const counts = { active: 3, activeWithoutInterval: 0, inactive: 0, subscribed: 0 };
const database = { address: 'here', reachable: true, engine: 'SQLite', latestStamp: null, bytes: 1 };

/** Every problem, in one report or another. */
const PROBLEMS: readonly StatusProblem[] = [
  ...findProblems(
    {
      database: { ...database, stampsAheadSeconds: 100 },
      redis: { reachable: false },
      disk: { freeBytes: 1, totalBytes: 2 },
      leads: { latestAt: '2026-03-02T06:00:00.000Z', usualPerHour: 10, isSilent: true },
      consumers: {
        ...{ ...counts, recorded: true, stale: 2, refused: 1, expiring: 1 },
        listed: [
          consumer({ state: 'stale' }),
          consumer({ state: 'stale' }),
          consumer({ lastStatus: 403 }),
          consumer({ tokenExpiresAt: '2026-03-03T09:30:00.000Z', tokenExpiresSoon: true }),
        ],
      },
      hooks: { active: 0, failing: 1, disabled: 1 },
      refusals: [],
      history: { hour: HISTORY, day: HISTORY },
    },
    NOW,
  ),
  ...[true, false].flatMap((reachable) =>
    findProblems(
      {
        database: { ...database, reachable, stampsAheadSeconds: null },
        ...{ redis: null, disk: null, leads: null, consumers: null, hooks: null, refusals: [] },
        history: { hour: { ...HISTORY, failed: [] }, day: HISTORY },
      },
      NOW,
    ),
  ),
];

const commandsIn = (text: string): string[] =>
  [...text.matchAll(/`leadtap ([^`]+)`/g)].map(([, command = '']) => command);

/** In the words of GitHub: lower case, spaces become hyphens, other characters go. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .replaceAll(' ', '-');

describe('what the status page tells to do', () => {
  it('is there for every kind of problem', () => {
    const kinds = PROBLEMS.map(({ kind }) => kind);
    expect([...kinds].sort()).toEqual([
      ...['consumers-refused', 'consumers-stale', 'consumers-unknown', 'database-unreachable', 'disk-low'],
      ...['hooks-disabled', 'hooks-failing', 'leads-silent', 'redis-unreachable', 'requests-failed'],
      ...['stamps-ahead', 'tokens-expiring'],
    ]);
    for (const { fix } of PROBLEMS) expect(fix).toMatch(/^.{20,}\.$/);
  });

  it('is a command that the program accepts as it is written', async () => {
    const fixes = [...PROBLEMS.map(({ fix }) => fix), ...PROBLEM_CODES.map((code) => fixOf(code, 'boss'))];
    const commands = [...new Set(fixes.flatMap(commandsIn))];
    expect(commands).toContain('doctor');
    expect(commands).toContain('user set boss --plan PROFESSIONAL');
    const { run, save } = await terminalWithUsers();
    save('FILE', { companies: [] });
    for (const command of commands) {
      // Texts of the contract name these without their file.
      const { code, stderr } = await run(command.replace(/^(leads import|org apply)$/, '$& FILE'));
      // It may fail: `ID` is not found. But it is no mistake of the command line.
      expect([EXIT_CODES.done, EXIT_CODES.failed], `${command}: ${stderr}`).toContain(code);
    }
  });

  it('is a section that the documents have', () => {
    const pages = new Set([
      ...PROBLEMS.map(({ docs }) => docs),
      ...PROBLEM_CODES.map((code) => `docs/errors.md#${code}`),
    ]);
    for (const page of pages) {
      const [path = '', anchor] = page.split('#');
      const text = readFileSync(new URL(`../../../../${path}`, import.meta.url), 'utf8');
      const headings = [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchorOf(heading));
      if (anchor !== undefined) expect(headings, page).toContain(anchor);
    }
  });
});
