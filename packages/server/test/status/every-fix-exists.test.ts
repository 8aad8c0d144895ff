import { readFileSync } from 'node:fs';
import { PROBLEM_CODES } from '@leadtap/contract';
import { describe, expect, it } from 'vitest';
import { EXIT_CODES } from '../../src/cli/exit.ts';
import { NO_CONSUMERS } from '../../src/status/consumers.ts';
import type {
  ConsumerStatus,
  ConsumersStatus,
  StatusHistory,
  StatusProblem,
} from '../../src/status/report.ts';
import { diagnose, type Facts, RULES } from '../../src/status/rules.ts';
import { fixOf } from '../../src/status/sentences.ts';
import { terminalWithUsers } from '../cli/terminal.ts';

const HISTORY: StatusHistory = {
  ...{ from: '2026-03-02T08:31:00.000Z', stepSeconds: 60, pollsPerSecond: [], p99Ms: [] },
  ...{ rateLimited: [], rejected: [], failed: [3], leads: null },
};
const consumer = (rest: Partial<ConsumerStatus>): ConsumerStatus => ({
  ...{ tokenId: 'token-1', name: 'zapier', userId: 'boss', companyId: 'acme', state: 'active' },
  ...{ tokenExpiresAt: null, tokenExpiresSoon: false, lastPollAt: '2026-03-02T09:00:00.000Z' },
  ...{ lastStatus: 200, usualIntervalSeconds: 60, confirmedThrough: null, deliveredThrough: null },
  ...{
    waiting: 0,
    waitingSince: null,
    skipped: 0,
    skippedSince: null,
    unconfirmedSince: null,
    isStuck: false,
    hasSkipped: false,
  },
  ...{ tokenEnded: null, isAwaited: false, problem: null, hook: null, pollsByHour: null },
  ...rest,
});

const facts = (rest: Partial<Facts> = {}): Facts => ({
  ...{ generatedAt: '2026-03-02T09:30:00.000Z', startedAt: '2026-03-01T00:00:00.000Z', version: '1' },
  ...{ uptimeSeconds: 1, waitingRequests: 0, untrustedProxy: { address: '10.0.0.1', lastAt: '' } },
  database: {
    ...{ address: 'here', reachable: true, engine: 'SQLite', latestStamp: null, bytes: 1 },
    stampsAheadSeconds: 100,
  },
  redis: { reachable: false },
  disk: { freeBytes: 1, totalBytes: 2 },
  backup: { lastAt: '2026-01-01T00:00:00.000Z' },
  leads: { latestAt: '2026-03-02T06:00:00.000Z', usualPerHour: 10, isSilent: true },
  consumers: {
    ...NO_CONSUMERS,
    ...{ recorded: true, stale: 2, refused: 1, expiring: 1, limited: 1, limitedLong: 1, waitingLong: 1 },
    ...{ ended: 1, awaited: 1, skipping: 1 },
    downtime: { from: '2026-03-02T09:00:00.000Z', until: '2026-03-02T09:29:00.000Z' },
    listed: [
      consumer({ problem: 'consumers-stale', state: 'stale' }),
      consumer({ problem: 'consumers-stale', state: 'stale' }),
      consumer({ problem: 'consumers-refused', lastStatus: 403 }),
      consumer({ problem: 'consumers-limited', lastStatus: 429 }),
      consumer({ problem: 'leads-waiting', waiting: 3, waitingSince: '2026-03-01T09:30:00.000Z' }),
      consumer({ problem: 'token-revoked-in-use', tokenEnded: 'revoked' }),
      consumer({ hasSkipped: true, skipped: 2 }),
      consumer({ tokenExpiresAt: '2026-03-03T09:30:00.000Z', tokenExpiresSoon: true }),
    ],
  },
  hooks: { active: 0, failing: 1, disabled: 1, failingLong: 1 },
  ...{ refusals: [], errors: [], history: { hour: HISTORY, day: HISTORY } },
  ...rest,
});

const withConsumers = (consumers: Partial<ConsumersStatus>): Facts => ({
  ...facts({ disk: { freeBytes: 100 * 1024 * 1024, totalBytes: 2 ** 40 } }),
  hooks: { active: 0, failing: 1, disabled: 0, failingLong: 0 },
  consumers: { ...(facts().consumers ?? NO_CONSUMERS), ...consumers },
});

/** Every problem, in one report or another. */
const PROBLEMS: readonly StatusProblem[] = [
  facts(),
  withConsumers({ limitedLong: 0 }),
  withConsumers({
    waitingLong: 1,
    listed: [consumer({ problem: 'leads-waiting', state: 'inactive', waiting: 3 })],
  }),
  facts({ consumers: null }),
  facts({ consumers: null, database: { ...facts().database, reachable: false } }),
].flatMap(diagnose);

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
    const found = new Set(PROBLEMS.map(({ kind, severity }) => `${kind} ${severity}`));
    expect([...found].sort()).toEqual(
      RULES.flatMap(({ name, levels }) => levels.map((level) => `${name} ${level}`)).sort(),
    );
    for (const { fix } of PROBLEMS) expect(fix).toMatch(/^.{20,}\.$/);
  });

  it('does not speak of a downtime where the clock was set back', () => {
    const listed = [consumer({ problem: 'consumers-awaited', lastPollAt: '2026-03-02T10:30:00.000Z' })];
    for (const downtime of [null, facts().consumers?.downtime ?? null])
      expect(
        diagnose(withConsumers({ downtime, listed })).find(({ kind }) => kind === 'consumers-awaited')
          ?.message,
      ).toBe('The clock was set back since the last polls: waiting for 1 consumer to poll.');
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
