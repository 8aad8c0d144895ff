import { once } from 'node:events';
import type { Socket } from 'node:net';
import { Client } from 'pg';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { deferred } from '../../../testing/harness/deferred.ts';
import { emptyStore, listen, makeEndpoint, noLimit } from '../../../testing/harness/endpoint.ts';
import { openSocket, requestText } from '../../../testing/harness/raw-http.ts';
import type { VerifyToken } from '../../src/accounts/tokens.ts';
import { ClientDisconnectedError } from '../../src/sql/errors.ts';
import { openPostgresStore, type PostgresOptions } from '../../src/store/postgres/store.ts';
import type { Store } from '../../src/store/store.ts';
import { shareCluster } from './cluster.ts';
import { eventually } from './eventually.ts';
import { type Instance, serve } from './instance.ts';
import { connect, connectionsOf, holdLock } from './sql.ts';

const NEVER_MS = 600_000;
const PATIENT = { connectLimitMs: NEVER_MS, queryLimitMs: NEVER_MS, pollLockWaitMs: NEVER_MS };
/** Long enough that all clients disconnect before it, also on a slow machine. */
const LOCK_WAIT_MS = 10_000;
const CLIENTS = 8;

const server = shareCluster();

const isBusy = ({ state }: { state: string }) => state !== 'idle';
const waitingForLock = async (observer: Client) =>
  (await connectionsOf(observer)).filter(({ waits }) => waits).length;

async function pollRaw({ url, token }: Instance): Promise<Socket> {
  const authorization = `Authorization: Bearer ${await token('acme')}`;
  const socket = await openSocket(url);
  socket.write(requestText('GET /automation/new-leads HTTP/1.1', 'Host: x', authorization));
  return socket;
}

describe('when clients disconnect while a writer holds the lock of their company', () => {
  it('connections are free after the wait for the lock, and the log has status 499 without an error', async () => {
    const service = await serve(server().url, { ...PATIENT, connections: 4, pollLockWaitMs: LOCK_WAIT_MS });
    const observer = await connect(server().url);
    const readPage = vi.spyOn(service.store, 'readPage');
    // Until the end of the test.
    await holdLock(server().url, 'acme');
    const sockets = await Promise.all(Array.from({ length: CLIENTS }, () => pollRaw(service)));
    await eventually(() => expect(readPage).toHaveBeenCalledTimes(CLIENTS));
    await eventually(async () => expect(await waitingForLock(observer)).toBe(1));

    for (const socket of sockets) socket.destroy();
    const disconnected = () => service.log.filter(({ status }) => status === 499);
    await eventually(() => expect(disconnected()).toHaveLength(CLIENTS));
    await eventually(async () => expect((await connectionsOf(observer)).filter(isBusy)).toEqual([]));
    expect(await service.metric('leadtap_polls_total')).toContain(`{status="499"} ${CLIENTS}`);
    expect(service.log.filter(({ level }) => level === 'error')).toEqual([]);
    expect(await service.poll('globex')).toMatchObject({ status: 200 });
  });
});

it('a client that disconnects while its token is verified is counted, and no leads are read for it', async () => {
  const reached = deferred();
  const verified = deferred();
  const readPage = vi.fn(emptyStore.readPage);
  const consume = vi.fn(noLimit.consume);
  const observe = vi.fn();
  const verifyToken: VerifyToken = async () => {
    reached.resolve();
    await verified.promise;
    return { kind: 'valid', token: { userId: 'boss', tokenId: 'token-1' } };
  };
  const { server, url } = await listen(
    makeEndpoint({ readPage }, { verifyToken, limiter: { consume }, observer: { observe } }),
  );
  const accepted = once(server, 'connection');
  const socket = await openSocket(url);
  socket.write(requestText('GET /automation/new-leads HTTP/1.1', 'Host: x', 'Authorization: Bearer any'));
  const [serverSide]: Socket[] = await accepted;
  await reached.promise;
  socket.destroy();
  await eventually(() => expect(serverSide?.destroyed).toBe(true));
  verified.resolve();
  await eventually(() => expect(observe).toHaveBeenCalledWith(expect.objectContaining({ status: 499 })));
  expect(consume.mock.calls).toEqual([['boss']]);
  expect(readPage).not.toHaveBeenCalled();
});

async function openStore(options: Partial<PostgresOptions>): Promise<Store> {
  const store = await openPostgresStore({ url: server().url, ...PATIENT, ...options });
  onTestFinished(() => store.close());
  return store;
}

const QUERY = { scope: { level: 'COMPANY', companyId: 'acme' }, since: 0, limit: 100 } as const;

/** Polls whose clients disconnect when the test says so. */
function startPolls(store: Store) {
  const clients = Array.from({ length: CLIENTS }, () => new AbortController());
  const pages = clients.map(({ signal }) => store.readPage(QUERY, signal));
  // They may be rejected before the test awaits them.
  for (const page of pages) page.catch(() => undefined);
  const disconnect = (isChosen: (index: number) => boolean = () => true) => {
    for (const client of clients.filter((_, index) => isChosen(index))) client.abort();
  };
  return { pages, disconnect };
}

const expectDisconnected = async (pages: readonly Promise<unknown>[]) => {
  for (const page of await Promise.allSettled(pages))
    expect(page).toMatchObject({ reason: expect.any(ClientDisconnectedError) });
};

describe('after its client has disconnected, a poll', () => {
  it('that waits for the lock of its company behind another poll starts no further query', async () => {
    const store = await openStore({ connections: 4 });
    await serve(server().url);
    const observer = await connect(server().url);
    const writer = await holdLock(server().url, 'acme');
    // The first poll gets this connection, while the others still connect; so it is the one that waits in the database.
    await store.ping();
    const query = vi.spyOn(Client.prototype, 'query');
    onTestFinished(() => query.mockRestore());
    const { pages, disconnect } = startPolls(store);
    const [first, ...others] = pages;
    // Each poll has found in a first query that it must wait; one of them waits in the database, by a second one.
    await eventually(() =>
      expect(query.mock.settledResults.filter(({ type }) => type === 'fulfilled')).toHaveLength(CLIENTS),
    );
    await eventually(async () => expect(await waitingForLock(observer)).toBe(1));
    const isPoll = ([config]: readonly unknown[]) => JSON.stringify(config).includes('leadtap.read_page');
    disconnect((index) => index > 0);
    await writer.end();
    expect(await first).toMatchObject({ locked: true });
    // The poll that waited in the database need not be the first one: then it has its page, and there is one query more.
    const ended = await Promise.allSettled(others);
    const rejected = ended.filter(({ status }) => status === 'rejected');
    expect(rejected.length).toBeGreaterThanOrEqual(others.length - 1);
    for (const poll of rejected) expect(poll).toMatchObject({ reason: expect.any(ClientDisconnectedError) });
    expect(query.mock.calls.filter(isPoll).length - CLIENTS).toBeOneOf([1, 2]);
  });

  it('that waits for a connection starts no query', async () => {
    const store = await openStore({ connections: 1 });
    await serve(server().url);
    const observer = await connect(server().url);
    const writer = await holdLock(server().url, 'acme');
    const written = store.writeLeads([{ companyId: 'acme', id: 'patient', fields: {} }]);
    await eventually(async () => expect(await waitingForLock(observer)).toBe(1));
    const { pages, disconnect } = startPolls(store);
    disconnect();
    await writer.end();
    await expectDisconnected(pages);
    expect(await written).toMatchObject({ results: [{ id: 'patient' }] });
    expect(await store.readPage(QUERY)).toMatchObject({ leads: [{ id: 'patient' }] });
  });

  it('that waits in the database gives its connection back after that wait, and the connection is used again', async () => {
    const store = await openStore({ connections: 1, pollLockWaitMs: LOCK_WAIT_MS });
    await serve(server().url);
    const observer = await connect(server().url);
    await holdLock(server().url, 'acme');
    const client = new AbortController();
    const page = store.readPage(QUERY, client.signal);
    await eventually(async () => expect(await waitingForLock(observer)).toBe(1));
    const waiting = await connectionIds(observer, `wait_event_type = 'Lock'`);
    client.abort();
    await expectDisconnected([page]);
    expect(await waitingForLock(observer)).toBe(0);
    await store.ping();
    expect(await connectionIds(observer)).toEqual(expect.arrayContaining(waiting));
    expect(waiting).toHaveLength(1);
  });

  it('that has not begun needs no connection', async () => {
    const store = await openStore({ connections: 1 });
    await serve(server().url);
    const observer = await connect(server().url);
    await store.ping();
    const before = await connectionIds(observer);
    await expectDisconnected(
      Array.from({ length: CLIENTS }, () => store.readPage(QUERY, AbortSignal.abort())),
    );
    await store.ping();
    expect(await connectionIds(observer)).toEqual(before);
  });
});

async function connectionIds(observer: Client, condition = 'true'): Promise<unknown[]> {
  const { rows } = await observer.query(
    `SELECT pid FROM pg_stat_activity WHERE application_name = 'leadtap' AND ${condition} ORDER BY pid`,
  );
  return rows;
}
