import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { describe, expect, it, vi } from 'vitest';
import { beforeQuestion } from '../../../testing/harness/before-question.ts';
import { deferred } from '../../../testing/harness/deferred.ts';
import { makeEndpoint } from '../../../testing/harness/endpoint.ts';
import { requestText } from '../../../testing/harness/raw-http.ts';
import { appliedOf, idsOf, startWaitingService } from './support/waiting-service.ts';

describe('beyond LEADTAP_MAX_WAITING', () => {
  it('a request is answered at once, until a place is free', async () => {
    const service = await startWaitingService({ env: { LEADTAP_MAX_WAITING: '2' } });
    const { wait, untilWaiting, add } = service;
    const abort = new AbortController();
    const first = wait('boss', 'since=2026-01-01', { signal: abort.signal });
    const second = wait('boss');
    await untilWaiting(2);
    const third = await wait('boss');
    expect(third.status).toBe(200);
    expect(await third.json()).toEqual([]);
    expect(appliedOf(third)).toBeNull();

    abort.abort();
    await expect(first).rejects.toThrow();
    await untilWaiting(1);
    const fourth = wait('boss');
    await untilWaiting(2);
    await add({ id: 'for both' });
    for (const answer of [second, fourth]) expect(await idsOf(await answer)).toEqual(['for both']);
  });

  it('leads that are there are sent as ever', async () => {
    const { wait, add } = await startWaitingService({ env: { LEADTAP_MAX_WAITING: '0' } });
    await add({ id: 'there' });
    expect(await idsOf(await wait('boss'))).toEqual(['there']);
    const empty = await wait('rival');
    expect(await idsOf(empty)).toEqual([]);
    expect(appliedOf(empty)).toBeNull();
  });
});

describe('a client that disconnects', () => {
  it('frees its place at once, and is logged as such', async () => {
    const lines: { status?: number; waitedMs?: number }[] = [];
    const logTo = { write: (line: string) => void lines.push(JSON.parse(line)) };
    const { untilWaiting, url, token } = await startWaitingService({ logTo });
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname);
    const head = ['Host: x', `Authorization: Bearer ${await token('boss')}`, 'Prefer: wait=50'];
    socket.write(requestText('GET /automation/new-leads?since=2026-01-01 HTTP/1.1', ...head));
    await untilWaiting(1);
    socket.destroy();
    await untilWaiting(0);
    await vi.waitFor(() => expect(lines.at(-1)).toMatchObject({ status: 499, waitedMs: expect.any(Number) }));
  });

  it('does not wait if it disconnected during the first read', async () => {
    const lines: { status?: number }[] = [];
    const logTo = { write: (line: string) => void lines.push(JSON.parse(line)) };
    const { store, wait, waiting, service } = await startWaitingService({ logTo });
    const connected = once(service.app.server, 'connection');
    const [arrived, release] = [deferred(), deferred()];
    beforeQuestion(store, 'readPage', () => {
      arrived.resolve();
      return release.promise;
    });
    const abort = new AbortController();
    const answer = wait('boss', 'since=2026-01-01', { signal: abort.signal });
    await arrived.promise;
    const [socket]: Socket[] = await connected;
    const closed = new Promise((resolve) => socket?.once('close', resolve));
    abort.abort();
    await expect(answer).rejects.toThrow();
    await closed;
    release.resolve();
    await vi.waitFor(() => expect(lines.at(-1)).toMatchObject({ status: 499 }));
    expect(waiting()).toBe(0);
  });

  it('frees its place also when it only ends its side of the connection', async () => {
    const { untilWaiting, url, token } = await startWaitingService();
    const { hostname, port } = new URL(url);
    const socket = connect({ port: Number(port), host: hostname, allowHalfOpen: true });
    const head = ['Host: x', `Authorization: Bearer ${await token('boss')}`, 'Prefer: wait=50'];
    socket.write(requestText('GET /automation/new-leads?since=2026-01-01 HTTP/1.1', ...head));
    await untilWaiting(1);
    socket.end();
    await untilWaiting(0);
    socket.destroy();
  });
});

it('a store without a change log answers at once', async () => {
  const app = makeEndpoint();
  const response = await app.inject({
    url: '/automation/new-leads?since=2026-01-01',
    headers: { authorization: 'Bearer any', prefer: 'wait=50' },
  });
  expect(response.json()).toEqual([]);
  expect(response.headers['preference-applied']).toBeUndefined();
  expect(response.headers['vary']).toBe('Authorization, Prefer');
});
