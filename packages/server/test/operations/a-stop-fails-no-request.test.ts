import { describe, expect, it } from 'vitest';
import { deferred } from '../harness/deferred.ts';
import { spawnLeadtap } from '../harness/leadtap-process.ts';
import { startService } from '../harness/service.ts';
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

describe('when the service stops', () => {
  it.each([
    ['probes', '/livez'],
    ['polls', '/automation/new-leads'],
  ])('no request of 20 busy clients on keep-alive connections fails: %s', async (_what, path) => {
    // The grace period lasts until the clients have ended.
    const graceEnds = deferred();
    const { url, stop, token } = await startService({
      organisation: { companies: [{ id: 'acme', name: 'Acme', branches: [], users: USERS }] },
      prepare: ({ app }) => app.addHook('preClose', () => graceEnds.promise),
      lifecycle: { shutdownLimitMs: LONG_MS },
    });
    const tokens = await Promise.all(USERS.map(({ id }) => token(id)));
    const clients = startBusyClients(20, `${url}${path}`, (client) => ({
      authorization: `Bearer ${tokens[client]}`,
    }));
    await clients.busy;
    const stopped = stop();
    expect(await clients.ended).toEqual([]);
    graceEnds.resolve();
    await stopped;
  });

  it('without open connections it stops at once', async () => {
    const { stop } = await startService({ drainMs: LONG_MS });
    await stop();
  });

  it('an idle connection holds it for the grace period and no longer', async () => {
    const { url, stop } = await startService({ drainMs: 50, lifecycle: { shutdownLimitMs: LONG_MS } });
    const { socket, received } = await connectRaw(url);
    const answered = new Promise((resolve) => socket.once('data', resolve));
    socket.write('GET /livez HTTP/1.1\r\nHost: leads\r\n\r\n');
    await answered;
    await stop();
    expect(await received).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  });

  it('by SIGTERM, no request of 20 busy clients fails', async () => {
    const env = { LEADTAP_PORT: '0', LEADTAP_METRICS_ADDRESS: 'off' };
    const { child, lines, ended } = spawnLeadtap(['serve'], env);
    let url = '';
    while (url === '') url = JSON.parse((await lines.next()).value ?? '{"url":"ended"}').url ?? '';
    const clients = startBusyClients(20, `${url}/livez`);
    await clients.busy;
    child.kill('SIGTERM');
    expect(await clients.ended).toEqual([]);
    expect(await ended).toMatchObject({ code: 0, stderr: '' });
  });
});
