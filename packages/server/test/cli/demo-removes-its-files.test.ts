import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { spawnLeadtap } from '../../../testing/harness/leadtap-process.ts';
import { tempFolder } from '../../../testing/harness/temp-folder.ts';

/** Starts the demo with a temporary folder of its own, and waits until it has made its files there. */
async function startDemo() {
  const temporary = join(tempFolder(), 'tmp');
  mkdirSync(temporary);
  const demo = spawnLeadtap(['demo', '--port', '0'], { TMPDIR: temporary });
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
  const { child, ended, temporary } = await startDemo();
  child.kill('SIGINT');
  await pause(10);
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
