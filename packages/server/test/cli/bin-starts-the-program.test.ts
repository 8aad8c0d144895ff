import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { tempFolder } from '../../../testing/harness/temp-folder.ts';

/** These start real processes of the built program. */
const BIN = fileURLToPath(new URL('../../bin/leadtap.js', import.meta.url));
const TIMEOUT_MS = 300_000;
const env = { PATH: process.env['PATH'] ?? '', LEADTAP_PORT: '0', LEADTAP_METRICS_ADDRESS: 'off' };
const execute = promisify(execFile);

const leadtap = (folder: string, ...argv: string[]) =>
  execute(process.execPath, [BIN, ...argv], { cwd: folder, env });

function writeUsers(folder: string, count: number): void {
  const users = Array.from({ length: count }, (_, index) => ({
    id: `user-${index}`,
    plan: 'BASIC',
    accessLevel: 'COMPANY',
  }));
  writeFileSync(
    join(folder, 'organisation.json'),
    JSON.stringify({ companies: [{ id: 'a', name: 'A', users }] }),
  );
}

test('commands print only their own output', { timeout: TIMEOUT_MS }, async () => {
  const folder = tempFolder();
  writeUsers(folder, 1);
  const applied = await leadtap(folder, 'org', 'apply', 'organisation.json');
  expect(applied.stderr).toBe('');
  const { stdout, stderr } = await leadtap(folder, 'user', 'list', '--json');
  expect(stderr).toBe('');
  expect(JSON.parse(stdout)).toHaveLength(1);
});

test('the process ends with the exit code of the command', { timeout: TIMEOUT_MS }, async () => {
  const folder = tempFolder();
  await leadtap(folder, 'migrate');
  await expect(leadtap(folder, 'user', 'remove', 'unknown')).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^leadtap: there is no user unknown\n/),
  });
});

test('a closed output ends it without a message', { timeout: TIMEOUT_MS }, async () => {
  const folder = tempFolder();
  writeUsers(folder, 5000);
  await leadtap(folder, 'org', 'apply', 'organisation.json');
  const child = spawn(process.execPath, [BIN, 'user', 'list', '--json'], { cwd: folder, env });
  let stderr = '';
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  child.stdout.once('data', () => child.stdout.destroy());
  const [code] = await once(child, 'close');
  expect({ code, stderr }).toEqual({ code: 141, stderr: '' });
});

test('a signal stops it cleanly', { timeout: TIMEOUT_MS }, async () => {
  const child = spawn(process.execPath, [BIN, 'serve'], { cwd: tempFolder(), env });
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  child.kill('SIGTERM');
  expect(await once(child, 'close')).toEqual([0, null]);
});

test('in a deleted folder it says so', { timeout: TIMEOUT_MS }, async () => {
  const script = 'rmdir "$PWD" && exec "$@"';
  const run = execute('sh', ['-c', script, 'sh', process.execPath, BIN, '--version'], {
    cwd: tempFolder(),
    env,
  });
  await expect(run).rejects.toMatchObject({
    code: 1,
    stderr: 'leadtap: the current folder was deleted\n  Change to an existing folder.\n',
  });
});

test('without a build it names the build command', { timeout: TIMEOUT_MS }, async () => {
  const folder = tempFolder();
  cpSync(dirname(BIN), join(folder, 'bin'), { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  const run = execute(process.execPath, [join(folder, 'bin/leadtap.js')], { env });
  await expect(run).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining('npm run build') });
});

test('an old Node.js is refused by the program and by its build', { timeout: TIMEOUT_MS }, async () => {
  const root = join(dirname(BIN), '../../..');
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const old = `Object.defineProperty(process,'versions',{value:{node:'18.20.8'}})`;
  const options = { cwd: root, env: { ...env, NODE_OPTIONS: `--import=data:text/javascript,${old}` } };
  const stderr = 'leadtap: needs Node.js 20.19 or later, but this is 18.20.8\n';
  for (const command of [`node ${BIN} --version`, scripts.build])
    await expect(execute('sh', ['-c', command], options)).rejects.toMatchObject({ code: 1, stderr });
});

test('the program loads no command, store or server before it knows which command runs', () => {
  const main = readFileSync(new URL('../../src/cli/main.ts', import.meta.url), 'utf8');
  const loaded = [...main.matchAll(/^import (?!type ).* from '(.+)';$/gm)].map(([, path]) => path);
  expect(loaded).toEqual([
    ...['commander', '../lib/system-error.ts', '../lib/version.ts'],
    ...['./exit.ts', './invocation.ts', './output.ts'],
  ]);
});
