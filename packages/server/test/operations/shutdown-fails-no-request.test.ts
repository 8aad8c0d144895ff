import { setTimeout } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { deferred } from '../../../testing/harness/deferred.ts';
import { spawnLeadtap } from '../../../testing/harness/leadtap-process.ts';
import { startService } from '../../../testing/harness/service.ts';
import { startBusyClients } from './busy-clients.ts';
import { connectRaw } from './raw-connection.ts';

const LONG_MS = 3_600_000;
const USERS = Array.from({ length: 20 }, (_, n) => ({
  id: `user-${n}`,
  email: null,
  name: null,
  plan: 'PROFESSIONAL' as const,
  accessLevel: 'COMPANY' as const,
  branchId: null,
  departmentId: null,
}));

/** Loaded by the process: its drain time of 3 s ends with SIGUSR2 instead, so that clients may be slow. */
const DRAIN_UNTIL_SIGUSR2 = `
  import timers from 'node:timers/promises';
  import { syncBuiltinESMExports } from 'node:module';
  const { setTimeout } = timers;
  timers.setTimeout = (ms, ...rest) =>
    ms === 3000 ? new Promise((resolve) => process.once('SIGUSR2', resolve)) : setTimeout(ms, ...rest);
  syncBuiltinESMExports();
`;

describe('during shutdown', () => {
  it.each([
    ['probes', '/livez'],
    ['polls', '/automation/new-leads'],
  ])('no request of 20 busy clients on keep-alive connections fails: %s', async (_what, path) => {
    const clientsEnded = deferred();
    const { url, stop, token } = await startService({
      organisation: { companies: [{ id: 'acme', name: 'Acme', branches: [], users: USERS }] },
      drain: () => clientsEnded.promise,
      lifecycle: { shutdownLimitMs: LONG_MS },
    });
    const tokens = await Promise.all(USERS.map(({ id }) => token(id)));
    const clients = startBusyClients(20, `${url}${path}`, (client) => ({
      authorization: `Bearer ${tokens[client]}`,
    }));
    await clients.busy;
    const stopped = stop();
    expect(await clients.ended).toEqual([]);
    clientsEnded.resolve();
    await stopped;
  });

  it('new connections are accepted until the drain time is over, also if none is open', async () => {
    const drained = deferred();
    const { url, stop } = await startService({ drain: () => drained.promise });
    const stopped = stop();
    const response = await fetch(`${url}/livez`);
    expect(response.status).toBe(200);
    expect(response.headers.get('connection')).toBe('close');
    expect((await fetch(`${url}/readyz`)).status).toBe(503);
    drained.resolve();
    await stopped;
    await expect(fetch(`${url}/livez`)).rejects.toThrow('fetch failed');
  });

  it('an idle connection delays it for the drain time only', async () => {
    const { url, stop } = await startService({
      drain: () => setTimeout(50),
      lifecycle: { shutdownLimitMs: LONG_MS },
    });
    const { socket, received } = await connectRaw(url);
    const answered = new Promise((resolve) => socket.once('data', resolve));
    socket.write('GET /livez HTTP/1.1\r\nHost: leads\r\n\r\n');
    await answered;
    await stop();
    expect(await received).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  });

  it('after SIGTERM, no request of 20 busy clients fails', async () => {
    const preloaded = `data:text/javascript,${encodeURIComponent(DRAIN_UNTIL_SIGUSR2)}`;
    const env = {
      LEADTAP_PORT: '0',
      LEADTAP_METRICS_ADDRESS: 'off',
      NODE_OPTIONS: `--import=${preloaded}`,
    };
    const { child, lines, ended } = spawnLeadtap(['serve'], env);
    let url = '';
    while (url === '') url = JSON.parse((await lines.next()).value ?? '{"url":"ended"}').url ?? '';
    const clients = startBusyClients(20, `${url}/livez`);
    await clients.busy;
    child.kill('SIGTERM');
    expect(await clients.ended).toEqual([]);
    child.kill('SIGUSR2');
    expect(await ended).toMatchObject({ code: 0, stderr: '' });
  });
});
