import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { type LeadtapProcess, spawnLeadtap } from '../../../testing/harness/leadtap-process.ts';
import { tempFolder } from '../../../testing/harness/temp-folder.ts';
import { migratePostgres } from '../../src/store/postgres/store.ts';
import { shareCluster } from './cluster.ts';

const server = shareCluster();
const BIN = fileURLToPath(new URL('../../bin/leadtap.js', import.meta.url));
/** Has a database to move. */
const source = tempFolder(afterAll);

beforeAll(async () => {
  await migratePostgres(server().url);
  // In a process of its own: a connection of this one may stay open until its statements are collected.
  execFileSync(process.execPath, [BIN, 'migrate'], {
    cwd: source,
    env: { LEADTAP_DATABASE_URL: 'sqlite:./leadtap.db' },
  });
});

/** Forwards to PostgreSQL until so many requests have come on all connections. From then on there is no response. */
async function startStallingProxy(requests: number, onStall: () => void): Promise<string> {
  const url = new URL(server().url);
  let left = requests;
  const count = () => {
    left -= 1;
    if (left === 0) onStall();
    return left > 0;
  };
  const proxy = createServer((near) => {
    near.on('error', () => undefined);
    // The connection itself is the first moment.
    if (!count()) return near.resume();
    const far = connect(Number(url.port), '127.0.0.1').on('error', () => undefined);
    near.on('data', (request) => count() && far.write(request)).on('close', () => far.destroy());
    far.on('data', (response) => left > 0 && near.write(response));
    return undefined;
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void proxy.close());
  url.port = String((proxy.address() as AddressInfo).port);
  return url.href;
}

const start = (command: string, url: string, env: Record<string, string> = {}): LeadtapProcess => {
  const settings = { LEADTAP_PORT: '0', LEADTAP_METRICS_ADDRESS: 'off', ...env };
  return command === 'migrate --to'
    ? spawnLeadtap(['migrate', '--to', url, '--from', 'sqlite:./leadtap.db'], settings, source)
    : spawnLeadtap(command.split(' '), { LEADTAP_DATABASE_URL: url, ...settings });
};

/** Sends the signal at the given request of the start. A command that is faster than that ends by itself. */
async function signalAt(moment: number, signal: NodeJS.Signals, command: string) {
  const leadtap: { current?: LeadtapProcess } = {};
  const stop = () => leadtap.current?.child.kill(signal);
  const url = await startStallingProxy(moment, stop);
  const process = start(command, url);
  leadtap.current = process;
  process.child.stdout.on('data', (line) => String(line).includes('serving new leads') && stop());
  return { moment, ...(await process.ended) };
}

const SIGINT = 130;
const MOMENTS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];

it.each(['SIGINT', 'SIGTERM'] as const)(
  '%s ends a service at every moment of its start, while its database does not answer',
  async (signal) => {
    for (const moment of MOMENTS)
      expect(await signalAt(moment, signal, 'serve')).toMatchObject({
        moment,
        code: 0,
        signal: null,
        stderr: '',
      });
  },
);

it.each(['user list', 'migrate', 'doctor', 'backup copy.db', 'migrate --to'])(
  'Ctrl+C ends `%s` while its database does not answer',
  async (command) => {
    for (const moment of [1, 2, 3]) {
      const ended = await signalAt(moment, 'SIGINT', command);
      expect(ended, ended.stderr).toMatchObject({ moment, code: SIGINT });
      expect(ended.stderr).toBe(
        command === 'migrate --to' ? 'Interrupted. To continue, run the same command again.\n' : '',
      );
    }
  },
);

it.each([
  ['serve', 0],
  ['user list', SIGINT],
  ['migrate', SIGINT],
  ['doctor', SIGINT],
  ['migrate --to', SIGINT],
])('a signal that comes before `%s` connects ends it, with a healthy database', async (command, code) => {
  const script = join(tempFolder(), 'signal.mjs');
  // The program signals itself as soon as its handlers are set.
  writeFileSync(
    script,
    "process.on('newListener', (name) => name === 'SIGTERM' && process.kill(process.pid, 'SIGINT'));",
  );
  const env = { NODE_OPTIONS: `--import=${pathToFileURL(script)}` };
  expect(await start(command, server().url, env).ended).toMatchObject({ code, signal: null });
});
