import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PROBLEM_CODES } from '@leadtap/contract';
import { describe, expect, it } from 'vitest';
import { EXIT_CODES } from '../../src/cli/exit.ts';
import type { Facts } from '../../src/status/report.ts';
import { diagnose, RULES } from '../../src/status/rules.ts';
import { fixOf } from '../../src/status/status-json.ts';
import { terminalWithUsers } from '../cli/terminal.ts';
import { getDocsPage } from '../docs/docs-page.ts';

const BAD: Facts = {
  ...{ generatedAt: '2026-03-02T09:30:00.000Z', startedAt: '2026-03-01T00:00:00.000Z', version: '1' },
  database: {
    ...{ address: 'here', reachable: true, isEmpty: true, engine: 'SQLite', bytes: 1 },
    stampsAheadSeconds: 100,
  },
  redis: { reachable: false },
  disk: { freeBytes: 1, totalBytes: 2 },
  backup: { lastAt: '2026-01-01T00:00:00.000Z' },
  errors: [
    {
      ...{ at: '2026-03-02T09:29:00.000Z', status: 500, requestId: 'a', path: '/' },
      code: 'internal-error',
    },
  ],
  ...{ latestLeadAt: null, connections: null, unread: new Set(), refusals: [], hookHosts: [] },
  ...{ untrustedProxy: '10.0.0.1', alertFailure: '404' },
};

/** Every problem, in one report or another. */
const PROBLEMS = [
  BAD,
  { ...BAD, disk: { freeBytes: 100 * 1024 * 1024, totalBytes: 2 ** 40 } },
  { ...BAD, database: { ...BAD.database, reachable: false } },
].flatMap((facts) => diagnose(facts).problems);

const commandsIn = (text: string): string[] =>
  [...text.matchAll(/`leadtap ([^`]+)`/g)].map(([, command = '']) => command);

describe('what the status page tells to do', () => {
  it('is there for every kind of problem', () => {
    const found = new Set(PROBLEMS.map(({ kind, level }) => `${kind} ${level}`));
    expect([...found].sort()).toEqual(
      RULES.flatMap(({ name, levels }) => levels.map((level) => `${name} ${level}`)).sort(),
    );
    for (const { fix } of PROBLEMS) expect(fix).toMatch(/^.{20,}\.$/);
  });

  it('is a command that the program accepts as it is written', async () => {
    const fixes = [...PROBLEMS.map(({ fix }) => fix), ...PROBLEM_CODES.map((code) => fixOf(code))];
    const commands = [...new Set(fixes.flatMap(commandsIn))];
    expect(commands).toContain('doctor');
    const { run, save } = await terminalWithUsers();
    save('FILE', { companies: [] });
    for (const command of commands) {
      // Texts of the contract name these without their file.
      const { code, stderr } = await run(command.replace(/^(leads import|org apply)$/, '$& FILE'), {
        env: { LEADTAP_ALERT_URL: 'http://127.0.0.1:1/' },
      });
      // It may fail: `ID` is not found. But it is no mistake of the command line.
      expect([EXIT_CODES.done, EXIT_CODES.failed], `${command}: ${stderr}`).toContain(code);
    }
  });

  it('is explained at /docs', async () => {
    const anchors = [...(await getDocsPage()).matchAll(/<h\d id="([^"]+)"/g)].map(([, id]) => `/docs#${id}`);
    const linked = [
      ...PROBLEMS.map(({ docs }) => docs),
      ...RULES.map(({ name }) => `/docs#${name}`),
      ...PROBLEM_CODES.map((code) => `/docs#problem-${code}`),
    ];
    expect(linked.filter((page) => !anchors.includes(page))).toEqual([]);
  });
});

it('no message names a file of the repository, which most installations do not have', () => {
  const folder = fileURLToPath(new URL('../../src', import.meta.url));
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) =>
    /\.ts$/.test(file),
  );
  const found = files.flatMap((file) =>
    readFileSync(join(folder, file), 'utf8')
      .split('\n')
      .filter((line) => /docs\/[\w-]+\.md|repository/.test(line) && !/^\s*(\/?\*|\/\/)/.test(line))
      .map((line) => `${file}: ${line.trim()}`),
  );
  expect(found).toEqual([]);
});
