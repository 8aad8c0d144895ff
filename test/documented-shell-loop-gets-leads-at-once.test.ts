// @nightly and after a change of docs/ examples/ packages/contract/src/ packages/server/src/intake/ packages/server/src/hooks/ packages/server/src/poll/
/** The script examples/watch.sh. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { expect, it, onTestFinished } from 'vitest';
import { eventually } from '../packages/server/test/faults/eventually.ts';
import { untilHeld } from '../packages/testing/harness/long-polls.ts';
import { startService, type TestService } from '../packages/testing/harness/service.ts';
import { tempFolder } from '../packages/testing/harness/temp-folder.ts';

const SCRIPT = readFileSync(new URL('../examples/watch.sh', import.meta.url), 'utf8');

/** A folder with a `sleep` that takes no time, so that the test does not wait for the pauses. */
function makeFolder(): string {
  const folder = tempFolder();
  mkdirSync(join(folder, 'bin'));
  writeFileSync(join(folder, 'bin/sleep'), '#!/bin/sh\nexec /bin/sleep 0.02\n');
  chmodSync(join(folder, 'bin/sleep'), 0o755);
  return folder;
}

/** Starts the script with all that it starts; gives what ends it. */
async function start(service: TestService, folder: string, { script = SCRIPT, token = '' } = {}) {
  const env = {
    PATH: `${join(folder, 'bin')}:${process.env['PATH']}`,
    LEADTAP_URL: service.url,
    LEADTAP_TOKEN: token || (await service.token('boss')),
  };
  const child = spawn('bash', ['-c', script], {
    ...{ cwd: folder, env, detached: true },
    stdio: ['ignore', 'inherit', 'pipe'],
  });
  const output = { errors: '' };
  child.stderr.on('data', (chunk) => {
    output.errors += chunk;
  });
  const closed = once(child, 'close');
  const kill = async () => {
    if (child.exitCode === null && child.signalCode === null && child.pid !== undefined)
      process.kill(-child.pid, 'SIGKILL');
    await closed;
  };
  onTestFinished(kill);
  return { kill, closed, output };
}

const idsIn = (folder: string): string[] => {
  const file = join(folder, 'leads.txt');
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];
  return lines.flatMap((line) => (JSON.parse(line) as { id: string }[]).map(({ id }) => id));
};

it('each lead is handled as it arrives, once, also after a restart', async () => {
  const service = await startService();
  await service.add({ id: 'before' });
  const folder = makeFolder();
  const first = await start(service, folder);
  for (const id of ['a', 'b']) {
    await untilHeld(service);
    await service.add({ id });
    await eventually(() => expect(idsIn(folder).at(-1)).toBe(id));
  }
  await untilHeld(service);
  await first.kill();
  await untilHeld(service, 0);
  await service.add({ id: 'c' });
  await start(service, folder);
  await eventually(() => expect(idsIn(folder)).toEqual(['a', 'b', 'c']));
});

it('leads that could not be handled come again', async () => {
  const service = await startService();
  const folder = makeFolder();
  const failing = SCRIPT.replace(/^handle\(\) .*$/m, 'handle() { false; }');
  const first = await start(service, folder, { script: failing });
  await untilHeld(service);
  await service.add({ id: 'a' });
  await first.closed;
  await start(service, folder);
  await eventually(() => expect(idsIn(folder)).toEqual(['a']));
});

it('a wrong token ends it with the problem, before and after its first request', async () => {
  const service = await startService();
  const folder = makeFolder();
  for (const isKnown of [false, true]) {
    if (isKnown)
      writeFileSync(join(folder, 'next.url'), `${service.url}/automation/new-leads?since=2020-01-01`);
    const { closed, output } = await start(service, folder, { token: 'made-up' });
    expect(await closed).toEqual([1, null]);
    expect(output.errors).toContain('"code":"token-invalid"');
  }
});
