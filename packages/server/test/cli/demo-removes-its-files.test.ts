import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { spawnLeadtap } from '../../../testing/harness/leadtap-process.ts';
import { tempFolder } from '../../../testing/harness/temp-folder.ts';

/** Starts the demo with a temporary folder of its own, and waits until it has made its files there. */
async function startDemo(env: Readonly<Record<string, string>> = {}) {
  const temporary = join(tempFolder(), 'tmp');
  mkdirSync(temporary);
  const demo = spawnLeadtap(['demo', '--port', '0'], { TMPDIR: temporary, ...env });
  await demo.lines.next();
  expect(readdirSync(temporary)).toHaveLength(1);
  return { ...demo, temporary };
}

test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('after %s', async (signal) => {
  const { child, ended, temporary } = await startDemo();
  child.kill(signal);
  expect(await ended).toMatchObject({ code: 0, signal: null, stderr: '' });
  expect(readdirSync(temporary)).toEqual([]);
});

test('after the two SIGINTs that Ctrl+C sends to a program under npm', async () => {
  // The second one comes at once, however slow the machine is: the process sends it to itself, and its clock stands still.
  const repeat = `performance.now = () => 0; process.once('SIGINT', () => process.kill(process.pid, 'SIGINT'));`;
  const { child, ended, temporary } = await startDemo({
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(repeat)}`,
  });
  child.kill('SIGINT');
  expect(await ended).toMatchObject({ code: 0, signal: null, stderr: '' });
  expect(readdirSync(temporary)).toEqual([]);
});

test('after its output was closed, which forces it to exit', async () => {
  const { child, ended, temporary } = await startDemo();
  child.stdout.destroy();
  expect(await ended).toMatchObject({ code: 141, signal: null, stderr: '' });
  expect(readdirSync(temporary)).toEqual([]);
});

test('makes none where it may not, and says what to set', async () => {
  const missing = join(tempFolder(), 'missing');
  const { ended } = spawnLeadtap(['demo', '--port', '0'], { TMPDIR: missing });
  expect(await ended).toMatchObject({
    code: 1,
    stderr: `leadtap: no folder can be created in ${missing} (ENOENT)\n  Set TMPDIR to a folder that this user may write to.\n`,
  });
});
