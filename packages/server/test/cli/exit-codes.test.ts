import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { EXIT_CODES } from '../../src/cli/exit.ts';
import { COMMANDS, lineOf } from './every-command.ts';
import { terminal, terminalWithUsers } from './terminal.ts';

const LINES = COMMANDS.map(lineOf);

test.each(LINES)('%s: an unknown option is 2', async (command) => {
  expect((await terminal().run(`${command} --no-such-option`)).code).toBe(2);
});

test.each(LINES)('%s: an invalid configuration is 2', async (command) => {
  const shell = await terminalWithUsers();
  expect((await shell.run(command, { env: { LEADTAP_PORT: 'x' } })).code).toBe(2);
});

test.each(LINES.filter((command) => command !== 'demo'))(
  '%s: a database that cannot be reached is 1',
  async (command) => {
    const shell = await terminalWithUsers();
    const env = { LEADTAP_DATABASE_URL: 'postgres://postgres@127.0.0.1:1/leads', LEADTAP_PORT: '0' };
    expect((await shell.run(command, { env, stdin: '{"companyId":"acme"}\n' })).code).toBe(1);
  },
);

test.each([
  'org apply nowhere.json',
  'leads import nowhere.csv',
  'leads list --company unknown',
  'leads show unknown',
  'leads send-test --company unknown',
  'org export --company unknown',
  'user add ada --company unknown --plan BASIC --access-level COMPANY',
  'user set unknown --plan BASIC',
  'user remove unknown',
  'token issue --user unknown',
  'token list --user unknown',
  'token revoke nothing',
  'leads erase unknown --yes',
  'leads erase --email unknown@example.com --yes',
  'leads prune --older-than 1d --company unknown --yes',
  'consumers --company unknown',
  'backup nowhere/copy.db',
])('%s: not found is 1', async (command) => {
  const shell = await terminalWithUsers();
  expect((await shell.run(command)).code).toBe(1);
});

describe('an invalid signing key is 1', () => {
  test.each(['serve', 'token issue --user boss', 'doctor'])('%s', async (command) => {
    const shell = await terminalWithUsers();
    shell.save('bad.key', 'not a key');
    const env = { LEADTAP_SIGNING_KEY_FILE: 'bad.key', LEADTAP_PORT: '0' };
    expect((await shell.run(command, { env })).code).toBe(1);
  });
});

test('a rejected line is 1', async () => {
  const shell = await terminalWithUsers();
  expect((await shell.run('leads import -', { stdin: '{}\n{"companyId":"acme"}\n' })).code).toBe(1);
});

test('docs/command-line.md lists each exit code and no other', () => {
  const page = readFileSync(new URL('../../../../docs/command-line.md', import.meta.url), 'utf8');
  const [, table = ''] = /^\| exit code [^\n]+\n\|---[^\n]+\n((?:\|[^\n]+\n)+)/m.exec(page) ?? [];
  const listed = [...table.matchAll(/^\| ([\d, ]+) \|/gm)].flatMap(([, codes = '']) => codes.split(', '));
  expect(listed.map(Number)).toEqual(Object.values(EXIT_CODES).sort((a, b) => a - b));
});
