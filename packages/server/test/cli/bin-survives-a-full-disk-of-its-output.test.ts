import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { tempFolder } from '../../../testing/harness/temp-folder.ts';
import { freePort } from '../../../testing/servers/free-port.ts';

const BIN = fileURLToPath(new URL('../../bin/leadtap.js', import.meta.url));

/** Linux answers every write to this file with ENOSPC. */
const FULL = '/dev/full';

function leadtap(argv: readonly string[], env: Record<string, string> = {}) {
  const child = spawn(process.execPath, [BIN, ...argv], {
    cwd: tempFolder(),
    env: { PATH: process.env['PATH'] ?? '', LEADTAP_METRICS_ADDRESS: 'off', ...env },
    stdio: ['ignore', openSync(FULL, 'w'), 'pipe'],
  });
  let stderr = '';
  child.stderr?.on('data', (chunk) => {
    stderr += chunk;
  });
  const ended = once(child, 'close').then(([code]) => ({ code, stderr }));
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  return { child, ended };
}

test('a command that cannot write its output fails, and says why', async () => {
  const { code, stderr } = await leadtap(['doctor', '--json']).ended;
  expect(stderr).toContain('ENOSPC');
  expect(stderr).toContain('Free some space');
  expect(stderr).not.toContain('bug');
  expect(code).toBe(1);
});

test('serve answers although its log lines cannot be written, and stops cleanly', async () => {
  const port = await freePort();
  const { child, ended } = leadtap(['serve'], { LEADTAP_PORT: String(port) });
  const request = () => fetch(`http://127.0.0.1:${port}/automation/new-leads`).then(({ status }) => status);
  let status: number | undefined;
  while (status === undefined) status = await request().catch(() => undefined);
  // Far more lines than are collected for one write.
  for (let n = 0; n < 100; n += 1) expect(await request()).toBe(401);
  child.kill('SIGINT');
  expect((await ended).code).toBe(0);
});
