// @nightly and after a change of docs/ examples/ packages/contract/src/ packages/server/src/intake/ packages/server/src/hooks/ packages/server/src/poll/
/** The program examples/leads.py. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { expect, it, onTestFinished, vi } from 'vitest';
import { startService, type TestService } from '../packages/testing/harness/service.ts';
import { tempFolder } from '../packages/testing/harness/temp-folder.ts';
import { findOnPath, findProgram } from '../packages/testing/servers/find-program.ts';

const PROGRAM = readFileSync(new URL('../examples/leads.py', import.meta.url), 'utf8');

const PYTHON = findProgram({
  name: 'Python 3',
  debian: 'python3',
  homebrew: 'python',
  find: () => findOnPath('python3'),
});

/** Starts the program with pauses of 20 ms. */
async function start(service: TestService, folder: string, token?: string, source = PROGRAM) {
  const program = source
    .replace('https://leads.example.com', service.url)
    .replace('PAUSE = 120', 'PAUSE = 0.02');
  writeFileSync(join(folder, 'leads.py'), program);
  const env = { PATH: process.env['PATH'], LEADTAP_TOKEN: token ?? (await service.token('boss')) };
  const child = spawn(PYTHON, ['leads.py'], { cwd: folder, env });
  const output = { lines: '', errors: '' };
  child.stdout.on('data', (text) => {
    output.lines += text;
  });
  child.stderr.on('data', (text) => {
    output.errors += text;
  });
  const exit = once(child, 'exit');
  onTestFinished(() => void child.kill('SIGKILL'));
  const stop = async () => {
    child.kill('SIGKILL');
    await exit;
  };
  return { output, stop, exit };
}

const until = (check: () => void) => vi.waitFor(check, { interval: 20 });
const names = (lines: string) => [...lines.matchAll(/Z (\w+) Lead/g)].map(([, name]) => name);

it('prints each lead from its start on, and continues at its position', async () => {
  const service = await startService({ limits: { userPolicies: [] } });
  const folder = tempFolder();
  await service.add({ fields: { firstName: 'Before', lastName: 'Lead' } });
  const first = await start(service, folder);
  await until(() => expect(existsSync(join(folder, 'next-url.txt'))).toBe(true));
  await service.add(
    { fields: { firstName: 'One', lastName: 'Lead' } },
    { fields: { firstName: 'Two', lastName: 'Lead' } },
  );
  await until(() => expect(names(first.output.lines)).toEqual(['One', 'Two']));
  await until(() => expect(readFileSync(join(folder, 'next-url.txt'), 'utf8')).toContain('since='));
  const position = () => decodeURIComponent(readFileSync(join(folder, 'next-url.txt'), 'utf8'));
  const [last = ''] = /^\S+(?= Two)/m.exec(first.output.lines) ?? [];
  await until(() => expect(position()).toContain(last));
  await first.stop();
  const many = Array.from({ length: 130 }, (_, index) => ({
    fields: { firstName: `N${index}`, lastName: 'Lead' },
  }));
  await service.add(...many);
  const second = await start(service, folder);
  await until(() => expect(names(second.output.lines)).toEqual(many.map(({ fields }) => fields.firstName)));
  expect(second.output.errors).toBe('');
  await second.stop();
});

it('ends with the message of the service if the token is not valid', async () => {
  const service = await startService();
  const { exit, output } = await start(service, tempFolder(), 'nonsense');
  expect(await exit).toEqual([1, null]);
  expect(output.errors).toContain('"code":"token-invalid"');
});

it('ends if handle fails, and gets the same lead at its next start', async () => {
  const service = await startService({ limits: { userPolicies: [] } });
  const folder = tempFolder();
  const failing = PROGRAM.replace(/^ {4}print\(lead.*$/m, "    raise OSError('no space left')");
  expect(failing).not.toBe(PROGRAM);
  const first = await start(service, folder, undefined, failing);
  await until(() => expect(existsSync(join(folder, 'next-url.txt'))).toBe(true));
  await service.add({ fields: { firstName: 'One', lastName: 'Lead' } });
  expect(await first.exit).toEqual([1, null]);
  expect(first.output.errors).toContain('no space left');
  const second = await start(service, folder);
  await until(() => expect(names(second.output.lines)).toEqual(['One']));
});
