import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { tempFolder } from '../../../testing/harness/temp-folder.ts';
import { invocationOf, withInvocation } from '../../src/cli/invocation.ts';
import { terminalWithUsers } from './terminal.ts';

const ROOT = fileURLToPath(new URL('../../../..', import.meta.url));
const BIN = join(ROOT, 'packages/server/bin/leadtap.js');

describe('how it was started', () => {
  test.each([
    ['on the PATH', { PATH: '/usr/bin:/usr/local/bin' }, '/usr/local/bin/leadtap', 'leadtap'],
    [
      'with npx',
      { PATH: '/repo/node_modules/.bin', npm_command: 'exec' },
      '/repo/node_modules/.bin/leadtap',
      'npx leadtap',
    ],
    ['with npm run', { npm_command: 'run-script' }, '/repo/packages/server/bin/leadtap.js', 'npx leadtap'],
    [
      'from cron, by its path',
      { PATH: '/usr/bin' },
      '/opt/leadtap/node_modules/.bin/leadtap',
      '/opt/leadtap/node_modules/.bin/leadtap',
    ],
    [
      'by a path in the folder',
      { PATH: '/usr/bin' },
      '/repo/node_modules/.bin/leadtap',
      'node_modules/.bin/leadtap',
    ],
    [
      'with node',
      { PATH: '/usr/bin' },
      '/repo/packages/server/bin/leadtap.js',
      'node packages/server/bin/leadtap.js',
    ],
    ['in the folder itself', { PATH: '/usr/bin' }, '/repo/leadtap', './leadtap'],
    ['as a single executable in the folder', { PATH: '/usr/bin' }, './leadtap', './leadtap'],
    ['as a single executable in another folder', { PATH: '/usr/bin' }, '../leadtap', '../leadtap'],
    ['as a single executable on the PATH', { PATH: '/opt/bin' }, 'leadtap', 'leadtap'],
    ['by a path with a space', { PATH: '/usr/bin' }, '/my files/leadtap', "'/my files/leadtap'"],
  ])('%s', (_, env, script, expected) => {
    expect(invocationOf(env, script, '/repo')).toBe(expected);
  });

  test('prose and error messages stay as they are', () => {
    const text = 'leadtap: it creates the schema leadtap and the roles';
    expect(withInvocation(text, { invocation: 'npx leadtap' })).toBe(text);
  });
});

/** Every command in what a command prints. */
const commandsIn = (text: string) =>
  [...text.matchAll(/(?:npx )?\bleadtap(?= [a-z])/g)].map(([command]) => command);

test('each command of help, errors and hints begins as the person began', async () => {
  const { run, save } = await terminalWithUsers();
  save('leads.ndjson', '{"companyId":"unknown","email":"ada@example.com"}\n');
  const options = { isTTY: true, parts: { invocation: 'npx leadtap' } };
  for (const command of [
    '--help',
    'serve --help',
    'leads import --help',
    'leads prune --help',
    'token revoke none',
    'token issue --user boss',
    'user add new --company acme --plan BASIC --access-level COMPANY',
    'doctor',
    'leads import leads.ndjson',
  ]) {
    const { stdout, stderr } = await run(command, options);
    const printed = commandsIn(`${stdout}${stderr}`.replace(/the schema leadtap/g, ''));
    expect(printed.filter((found) => !found.startsWith('npx '))).toEqual([]);
    if (command !== 'doctor') expect(printed.length).toBeGreaterThan(0);
  }
});

/** A program that is started in another way prints a command that a shell can run. */
describe('a shell runs what was printed', () => {
  const bash = (script: string, cwd: string, env: Record<string, string> = {}) =>
    promisify(execFile)('bash', ['-c', script], {
      cwd,
      env: { PATH: process.env['PATH'] ?? '', HOME: cwd, ...env },
    });

  function makeFolder(): string {
    const folder = tempFolder();
    writeFileSync(join(folder, 'package.json'), '{"private":true}');
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    cpSync(join(ROOT, 'examples'), join(folder, 'examples'), { recursive: true });
    mkdirSync(join(folder, 'bin'));
    symlinkSync(BIN, join(folder, 'bin/leadtap'));
    return folder;
  }

  test.each([
    ['npx leadtap', {}],
    [`node ${BIN}`, {}],
    ['leadtap', { onPath: true }],
  ])('%s', async (start, { onPath = false }: { onPath?: boolean }) => {
    const folder = makeFolder();
    const env = onPath ? { PATH: `${join(folder, 'bin')}:${process.env['PATH']}` } : {};
    await bash(`${start} org apply examples/organisation.json`, folder, env);
    const added = await bash(
      `${start} user add zoe --company soleil --plan PROFESSIONAL --access-level COMPANY`,
      folder,
      env,
    );
    const [, printed = ''] = /`(.+)` creates a token/.exec(added.stderr) ?? [];
    expect(printed).toContain(`${start} token issue --user zoe`);
    expect((await bash(printed, folder, env)).stdout).toMatch(/^ey/);
  });
});
