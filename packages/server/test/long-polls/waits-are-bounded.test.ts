import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { describe, expect, it, vi } from 'vitest';
import { beforeQuestion } from '../../../testing/harness/before-question.ts';
import { deferred } from '../../../testing/harness/deferred.ts';
import { openSocket, readToEnd, requestText } from '../../../testing/harness/raw-http.ts';
import { longPollLimit } from '../../src/ops/listen.ts';
import { LongPolls } from '../../src/poll/long-polls.ts';
import type { Change } from '../../src/poll/store.ts';
import { appliedOf, idsOf, startWaitingService, type WaitingService } from './support/long-polls-service.ts';

describe('beyond LEADTAP_MAX_LONG_POLLS', () => {
  it('a request is answered at once, until a place is free', async () => {
    const service = await startWaitingService({ env: { LEADTAP_MAX_LONG_POLLS: '2' } });
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
    const { wait, add } = await startWaitingService({ env: { LEADTAP_MAX_LONG_POLLS: '0' } });
    await add({ id: 'there' });
    expect(await idsOf(await wait('boss'))).toEqual(['there']);
    const empty = await wait('rival');
    expect(await idsOf(empty)).toEqual([]);
    expect(appliedOf(empty)).toBeNull();
  });
});

describe('the places are shared', () => {
  /** Sends requests until one does not wait: the number of those that do. */
  async function fill(service: WaitingService, userId: string, query?: string): Promise<number> {
    const { wait, untilWaiting, waiting } = service;
    const before = waiting();
    for (let held = 0; ; held += 1) {
      const answer = wait(userId, query).catch(() => undefined);
      const isHeld = untilWaiting(before + held + 1).then(() => 'held' as const);
      const first = await Promise.race([answer, isHeld]);
      if (first === 'held') continue;
      expect(first?.status).toBe(200);
      expect(first && appliedOf(first)).toBeNull();
      return held;
    }
  }

  it('one user has at most 10, over all tokens', async () => {
    const service = await startWaitingService();
    expect(await fill(service, 'boss')).toBe(10);
    expect(await fill(service, 'boss')).toBe(0);
    expect(await fill(service, 'rival')).toBe(10);
    // Places that become free are counted.
    await service.add({});
    await service.untilWaiting(10);
    expect(await fill(service, 'boss', 'since=2999-01-01')).toBe(10);
  });

  it('one company has at most four times the places that are free', async () => {
    const service = await startWaitingService({ env: { LEADTAP_MAX_LONG_POLLS: '10' } });
    expect(await fill(service, 'boss')).toBe(8);
    expect(await fill(service, 'north-lead')).toBe(0);
    expect(await fill(service, 'rival')).toBe(2);
  });
});

describe('waiting requests and the limit of connections', () => {
  it('one fifth of the connections is for other requests', async () => {
    const { url, token, wait, untilWaiting, add, poll, metricsUrl } = await startWaitingService({
      maxConnections: 10,
    });
    const held = Array.from({ length: 7 }, () => wait('boss'));
    await untilWaiting(7);
    const other = wait('rival');
    await untilWaiting(8);
    // The server closes these connections, so that they occupy no place afterwards.
    const head = ['Host: x', `Authorization: Bearer ${await token('boss')}`, 'Prefer: wait=50'];
    for (let n = 0; n < 5; n += 1) {
      const socket = await openSocket(url);
      socket.write(requestText('GET /automation/new-leads?since=2026-01-01 HTTP/1.1', ...head));
      const answer = await readToEnd(socket);
      expect(answer).toMatch(/^HTTP\/1\.1 200 /);
      expect(answer).not.toMatch(/preference-applied/i);
    }
    expect((await poll('boss')).status).toBe(200);
    expect((await fetch(new URL('/livez', url))).status).toBe(200);
    expect(await (await fetch(metricsUrl)).text()).toMatch(/^leadtap_connections_dropped_total 0$/m);
    await add({ id: 'for all' }, { id: 'theirs', companyId: 'globex' });
    for (const answer of held) expect(await idsOf(await answer)).toEqual(['for all']);
    expect(await idsOf(await other)).toEqual(['theirs']);
  });

  it.each([
    [20_000, undefined, 20_000],
    [20_000, 896, 716],
    [100, 896, 100],
    [0, 896, 0],
  ])('%s configured and %s connections let %s requests wait', (configured, connections, waiting) => {
    expect(longPollLimit(configured, connections)).toBe(waiting);
  });

  it('without waiting, the connection stays open', async () => {
    const { wait } = await startWaitingService({ env: { LEADTAP_MAX_LONG_POLLS: '0' } });
    expect((await wait('boss')).headers.get('connection')).toBe('keep-alive');
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
    const connected = once(service.publicServer.server, 'connection');
    const [arrived, release] = [deferred(), deferred()];
    beforeQuestion(store, 'readLeads', () => {
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

it('a poll that ends while it is checked, also after another change, leaves its place to the next one', async () => {
  let change = (_changes: readonly Change[]): void => undefined;
  const source = {
    readChanges: async () => {},
    onChanges: (listener: typeof change) => {
      change = listener;
    },
  };
  const polls = new LongPolls(source, { maxWaiting: 5000, schedule: () => () => undefined });
  const hold = (n: number) => {
    const token = { userId: `user ${n}`, tokenId: undefined };
    const held = polls.hold({
      token,
      companyId: 'acme',
      waitMs: 50_000,
      expiresInMs: Number.POSITIVE_INFINITY,
    });
    if (!held) throw new Error('it is not held');
    return { held, turn: polls.untilCheck(held, 'acme') };
  };
  // More than are checked at the same time.
  for (let n = 0; n < 1000; n += 1) {
    const { held, turn } = hold(n);
    expect(await Promise.race([turn, 'waits for its turn'])).toBe(false);
    change([{ kind: 'leads-appended', id: 'acme' }]);
    polls.release(held);
  }
});
