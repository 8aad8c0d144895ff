/** What all commands have in common: help, exit codes, and what they do without a database. */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { ORGANISATION } from '../../../testing/harness/organisation.ts';
import { parseOrganisation } from '../../src/accounts/organisation.ts';
import { EXIT_CODES } from '../../src/cli/exit.ts';
import { describeDatabase, parseConfig } from '../../src/config.ts';
import { COMMANDS, lineOf } from './every-command.ts';
import { terminal, terminalWithUsers } from './terminal.ts';

const page = readFileSync(new URL('../../../../docs/command-line.md', import.meta.url), 'utf8');
const UNREACHABLE = { LEADTAP_DATABASE_URL: 'postgres://postgres@127.0.0.1:1/leads', LEADTAP_PORT: '0' };
const LEAD = '{"companyId":"acme"}\n';

describe.each(COMMANDS.map((command) => ({ line: lineOf(command), ...command })))(
  '$name',
  ({ name, line, command }) => {
    test('--help describes the command and every option, and shows no empty default', async () => {
      const { code, stdout } = await terminal().run(`${name} --help`, { env: UNREACHABLE });
      expect(code).toBe(0);
      expect(command.description()).not.toBe('');
      expect(stdout).not.toContain('(default: [');
      for (const { long, description } of command.options) {
        expect(description).not.toBe('');
        expect(stdout).toContain(long);
      }
      expect((await terminal().run(`help ${name}`, { env: UNREACHABLE })).stdout).toBe(stdout);
    });

    test('an unknown option and an invalid configuration are 2', async () => {
      const { run, save } = terminal();
      save('organisation.json', ORGANISATION);
      expect((await run(`${line} --no-such-option`, { env: UNREACHABLE })).code).toBe(2);
      expect((await run(line, { env: { ...UNREACHABLE, LEADTAP_PORT: 'x' } })).code).toBe(2);
    });

    // The demo makes a database of its own, and an alert needs none.
    if (name !== 'demo' && name !== 'alert')
      test('a database that cannot be reached is 1', async () => {
        const { run, save } = terminal();
        save('organisation.json', ORGANISATION);
        expect((await run(line, { env: UNREACHABLE, stdin: LEAD })).code).toBe(1);
      });
  },
);

/** They create what they need, need nothing, or say what is missing. */
const WITHOUT_DATABASE = ['serve', 'demo', 'org apply', 'migrate', 'doctor', 'alert'];

test.each([
  ...COMMANDS.filter(({ name }) => !WITHOUT_DATABASE.includes(name)).map(lineOf),
  'token issue --user boss --force',
  'token issue --all-users --json',
])('%s fails without a database, names the place, and creates nothing', async (command) => {
  const { run, cwd, database } = terminal({ empty: true });
  const { env } = await database();
  const place = describeDatabase(parseConfig({ env, cwd }).database);
  for (let time = 0; time < 2; time += 1) {
    const { code, stdout, stderr } = await run(command, { stdin: LEAD });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^leadtap: there is no (Leadtap database at|schema leadtap in) /);
    expect(stderr).toContain(place);
    expect(stderr).toContain('LEADTAP_DATABASE_URL');
    expect(stderr).toContain('`leadtap migrate`');
    expect(readdirSync(cwd)).toEqual([]);
  }
});

test('what does not exist is 1, and a command says where to look', async () => {
  const { run } = await terminalWithUsers();
  for (const [command, message] of [
    ['org apply nowhere.json', 'there is no file nowhere.json'],
    ['leads import nowhere.csv', 'there is no file nowhere.csv'],
    ['leads list --company unknown', 'there is no company unknown\n  `leadtap org export` shows all'],
    ['leads export --company unknown', 'there is no company unknown\n'],
    ['leads send-test --company unknown', 'there is no company unknown\n'],
    ['leads prune --older-than 1d --company unknown --yes', 'there is no company unknown\n'],
    ['leads erase 1 --company unknown --yes', 'there is no company unknown\n'],
    ['leads show 1 --company unknown', 'there is no company unknown\n'],
    ['org export --company unknown', 'there is no company unknown\n'],
    ['connections --company unknown', 'there is no company unknown\n'],
    ['hooks list --company unknown', 'there is no company unknown\n'],
    ['user add ada --company unknown --plan BASIC --access-level COMPANY', 'there is no company unknown\n'],
    ['user set unknown --plan BASIC', 'there is no user unknown\n  `leadtap user list` shows all users.\n'],
    ['user remove unknown', 'there is no user unknown\n'],
    ['token issue --user unknown', 'there is no user unknown\n'],
    ['token list --user unknown', 'there is no user unknown\n'],
    ['hooks list --user unknown', 'there is no user unknown\n'],
    ['token revoke nothing', 'no token with the id nothing was issued here'],
    ['hooks remove nothing', 'there is no webhook subscription nothing'],
    ['leads show unknown', 'there is no lead unknown\n  `leadtap leads list` shows the newest leads.\n'],
    ['leads erase unknown --yes', 'there is no lead unknown\n'],
    ['leads erase --email unknown@example.com --yes', 'no lead matches; nothing was erased\n'],
  ]) {
    const { code, stdout, stderr } = await run(command ?? '');
    expect({ code, stdout }, command).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain(message);
  }
});

test.each(['serve', 'token issue --user boss', 'doctor'])(
  '%s: an invalid signing key is 1',
  async (command) => {
    const shell = await terminalWithUsers();
    shell.save('bad.key', 'not a key');
    const env = { LEADTAP_SIGNING_KEY_FILE: 'bad.key', LEADTAP_PORT: '0' };
    expect((await shell.run(command, { env })).code).toBe(1);
  },
);

test('docs/command-line.md lists every exit code and no other', () => {
  const listed = [...page.matchAll(/^\| (\d+) \|/gm)].map(([, code]) => Number(code));
  expect(listed).toEqual(Object.values(EXIT_CODES));
});

test('the organisation file of docs/command-line.md is valid', () => {
  const [, json = ''] = /```json\n([\s\S]+?)```/.exec(page) ?? [];
  expect(parseOrganisation(JSON.parse(json)).kind).toBe('ok');
});
