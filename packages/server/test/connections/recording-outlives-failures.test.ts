import type { Connections } from '@leadtap/contract';
import { expect, it, vi } from 'vitest';
import { deferred } from '../../../testing/harness/deferred.ts';
import { tokenWith } from '../../../testing/harness/intake.ts';
import { untilHeld } from '../../../testing/harness/long-polls.ts';
import { ORGANISATION } from '../../../testing/harness/organisation.ts';
import { startService, type TestService } from '../../../testing/harness/service.ts';

const iso = (ms: number): string => new Date(ms).toISOString();

/** Polls with a token of its own. */
async function client(service: TestService, tokenId: string) {
  const authorization = `Bearer ${await service.token('boss', { tokenId })}`;
  return (query = '', init: RequestInit = {}) =>
    fetch(`${service.url}/automation/new-leads${query && `?${query}`}`, {
      ...init,
      headers: { authorization, ...init.headers },
    });
}

async function listOut(service: TestService): Promise<Connections['out']> {
  const authorization = `Bearer ${await service.token('boss', { tokenId: 'reader' })}`;
  const response = await fetch(`${service.url}/automation/connections`, { headers: { authorization } });
  return ((await response.json()) as Connections).out;
}

it('a poll of the console is answered and counted like any other, but is no connection, also while it is held', async () => {
  const service = await startService();
  const record = vi.spyOn(service.store.connections, 'record');
  const poll = await client(service, 'tab');
  const headers = { 'leadtap-client': 'console' };
  const answer = await poll('', { headers });
  expect(answer.headers.get('ratelimit')).toContain('"minute";r=99;');
  const closing = new AbortController();
  const held = poll(`since=${iso(Date.now())}`, {
    headers: { ...headers, prefer: 'wait=50' },
    signal: closing.signal,
  });
  await untilHeld(service);
  closing.abort();
  await expect(held).rejects.toThrow();
  expect(await listOut(service)).toEqual([]);
  expect(record).not.toHaveBeenCalled();
  await poll('', { headers: { 'leadtap-client': 'n8n' } });
  expect(await listOut(service)).toHaveLength(1);
});

it('a HEAD sends nothing', async () => {
  const service = await startService();
  const [added = 0] = await service.add({});
  const poll = await client(service, 'n8n');
  await poll(`since=${iso(added - 1)}`, { method: 'HEAD' });
  expect((await listOut(service)).map(({ sent }) => sent)).toEqual([0]);
});

it('a poll of a removed user makes no connection of a later user of the same id', async () => {
  const service = await startService();
  const poll = await client(service, 'n8n');
  await service.store.removeUser('boss');
  expect((await poll()).status).toBe(404);
  await service.store.applyOrganisation(ORGANISATION);
  expect(await listOut(service)).toEqual([]);
});

it('what was recorded is written when the service stops', async () => {
  const service = await startService();
  const [added = 0] = await service.add({ id: 'l0' });
  const poll = await client(service, 'n8n');
  await (await poll(`since=${iso(added - 1)}`)).arrayBuffer();
  await service.stop();
  const store = await service.database.openStore();
  const scope = { level: 'COMPANY', companyId: 'acme' } as const;
  expect(await store.connections.findLead('acme', 'l0', scope)).toMatchObject([{ state: 'sent' }]);
  await store.close();
});

it('polls are answered while it cannot be recorded, and are recorded later', async () => {
  const service = await startService();
  const { connections } = service.store;
  const poll = await client(service, 'n8n');
  const [added = 0] = await service.add({});
  const failing = vi.spyOn(connections, 'record').mockRejectedValue(new Error('the disk is full'));
  expect((await poll(`since=${iso(added - 1)}`)).status).toBe(200);
  await service.service.connections.flush();
  expect((await poll(`since=${iso(added)}`)).status).toBe(200);
  failing.mockRestore();
  const { promise, resolve } = deferred();
  const { record } = connections;
  const slow = vi
    .spyOn(connections, 'record')
    .mockImplementation((batches) => promise.then(() => record(batches)));
  const flushed = service.service.connections.flush();
  expect((await poll(`since=${iso(added)}`)).status).toBe(200);
  resolve();
  await flushed;
  slow.mockRestore();
  expect(await listOut(service)).toMatchObject([{ sent: 1, waiting: 0 }]);
});

it('polls at two instances are those of one connection', async () => {
  const first = await startService();
  const second = await startService({ beside: first });
  const [a = 0, b = 0] = await first.add({}, {});
  const [one, other] = [await client(first, 'n8n'), await client(second, 'n8n')];
  await (await one(`since=${iso(a - 1)}&limit=1`)).arrayBuffer();
  await (await other(`since=${iso(a)}&limit=1`)).arrayBuffer();
  await second.service.connections.flush();
  expect(await listOut(first)).toMatchObject([{ sent: 2, waiting: 0 }]);
  expect(b).toBeGreaterThan(a);
});

it('lists and logs are answered while a write of leads waits for the lock', async () => {
  const test = await startService();
  const token = await tokenWith(test, 'boss', ['leads:read', 'leads:write'], 'of-boss');
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const send = async (path: string, body?: string): Promise<number> =>
    (await fetch(`${test.url}${path}`, { headers, ...(body !== undefined && { method: 'POST', body }) }))
      .status;
  const lead = '{"firstName":"Ada"}';
  expect(await send('/leads', lead)).toBe(201);
  expect(await send('/automation/new-leads')).toBe(200);
  const release = await test.database.holdLock('acme');
  // Waits for the lock for as long as a poll may, and then reads without it.
  const begunAt = performance.now();
  expect(await send('/automation/new-leads')).toBe(200);
  const pollMs = performance.now() - begunAt;
  let isWritten = false;
  const written = send('/leads', lead).then((status) => {
    isWritten = true;
    return status;
  });
  const listsBegunAt = performance.now();
  const paths = ['connections', 'connections', 'connections/none/log', 'connections', 'connections/none/log'];
  const answers = await Promise.all(paths.map((path) => send(`/automation/${path}`)));
  expect(performance.now() - listsBegunAt).toBeLessThan(4 * pollMs);
  expect([answers, isWritten]).toEqual([[200, 200, 404, 200, 404], false]);
  await release();
  expect(await written).toBe(201);
});
