import { once } from 'node:events';
import type { Socket } from 'node:net';
import { Client } from 'pg';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { deferred } from '../../../testing/harness/deferred.ts';
import { emptyStore, makeEndpoint, noLimit } from '../../../testing/harness/endpoint.ts';
import { openSocket, requestText } from '../../../testing/harness/raw-http.ts';
import type { VerifyToken } from '../../src/accounts/tokens.ts';
import { openPostgresStore, type PostgresOptions } from '../../src/store/postgres/store.ts';
import { ClientDisconnectedError, type Store } from '../../src/store/store.ts';
import { shareCluster } from './cluster.ts';
import { eventually } from './eventually.ts';
import { ERROR, type Instance, serve } from './instance.ts';
import { connect, connectionsOf, holdLock } from './sql.ts';

/** So long that whatever ends before has been cancelled. */
const NEVER_MS = 600_000;
const PATIENT = { connectLimitMs: NEVER_MS, queryLimitMs: NEVER_MS, pollLockWaitMs: NEVER_MS };
const CALLERS = 20;

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

describe('when clients hang up while a writer holds the lock of their company', () => {
  it('their queries end, their connections are free, and the log tells so without an error', async () => {
    const service = await serve(server().url, { ...PATIENT, connections: 4 });
    const observer = await connect(server().url);
    const begun = vi.spyOn(service.store, 'readPage');
    await holdLock(server().url, 'acme');
    const sockets = await Promise.all(Array.from({ length: CALLERS }, () => pollRaw(service)));
    await eventually(() => expect(begun).toHaveBeenCalledTimes(CALLERS));
    await eventually(async () => expect(await waitingForLock(observer)).toBe(1));

    for (const socket of sockets) socket.destroy();
    const gone = () => service.log.filter(({ status }) => status === 499);
    await eventually(() => expect(gone()).toHaveLength(CALLERS));
    await eventually(async () => expect((await connectionsOf(observer)).filter(isBusy)).toEqual([]));
    expect(await service.metric('leadtap_polls_total')).toContain(`{status="499"} ${CALLERS}`);
    expect(service.log.filter(({ level }) => level >= ERROR)).toEqual([]);
    expect(await service.poll('globex')).toMatchObject({ status: 200 });
  });
});

it('who hangs up while its token is looked at is counted, and nothing is read for it', async () => {
  const reached = deferred();
  const verified = deferred();
  const asked = { findUser: vi.fn(emptyStore.findUser), readPage: vi.fn(emptyStore.readPage) };
  const consume = vi.fn(noLimit.consume);
  const observe = vi.fn();
  const verifyToken: VerifyToken = async () => {
    reached.resolve();
    await verified.promise;
    return { kind: 'valid', token: { userId: 'boss', tokenId: 'token-1' } };
  };
  const app = makeEndpoint(asked, { verifyToken, limiter: { consume }, observer: { observe } });
  const accepted = once(app.server, 'connection');
  const socket = await openSocket(await app.listen({ host: '127.0.0.1', port: 0 }));
  socket.write(requestText('GET /automation/new-leads HTTP/1.1', 'Host: x', 'Authorization: Bearer any'));
  const [serverSide]: Socket[] = await accepted;
  await reached.promise;
  socket.destroy();
  await eventually(() => expect(serverSide?.destroyed).toBe(true));
  verified.resolve();
  await eventually(() => expect(observe).toHaveBeenCalledWith(expect.objectContaining({ status: 499 })));
  expect(consume.mock.calls).toEqual([['boss']]);
  for (const question of Object.values(asked)) expect(question).not.toHaveBeenCalled();
});

async function openStore(options: Partial<PostgresOptions>): Promise<Store> {
  const store = await openPostgresStore({ url: server().url, ...PATIENT, ...options });
  onTestFinished(() => store.close());
  return store;
}

const QUERY = { scope: { level: 'COMPANY', companyId: 'acme' }, since: 0, limit: 100 } as const;

/** The pages that callers wait for, and what lets them hang up. */
function callers(store: Store) {
  const hangUps = Array.from({ length: CALLERS }, () => new AbortController());
  const pages = hangUps.map(({ signal }) => store.readPage(QUERY, signal));
  const hangUp = (who: (index: number) => boolean = () => true) => {
    for (const gone of hangUps.filter((_, index) => who(index))) gone.abort();
  };
  return { pages, hangUp };
}

const expectGone = async (pages: readonly Promise<unknown>[]) => {
  for (const page of await Promise.allSettled(pages))
    expect(page).toMatchObject({ reason: expect.any(ClientDisconnectedError) });
};

describe('a caller who hangs up', () => {
  it('leaves the queue for a lock', async () => {
    const store = await openStore({ connections: 4 });
    await serve(server().url);
    const observer = await connect(server().url);
    const writer = await holdLock(server().url, 'acme');
    const query = vi.spyOn(Client.prototype, 'query');
    onTestFinished(() => query.mockRestore());
    const { pages, hangUp } = callers(store);
    const [first, ...others] = pages;
    // All have made a round trip and know that they must wait; one of them does so in the database.
    await eventually(() =>
      expect(query.mock.settledResults.filter(({ type }) => type === 'fulfilled')).toHaveLength(CALLERS),
    );
    await eventually(async () => expect(await waitingForLock(observer)).toBe(1));
    hangUp((index) => index > 0);
    await expectGone(others);
    await writer.end();
    expect(await first).toMatchObject({ locked: true });
  });

  it('leaves the queue for a connection', async () => {
    const store = await openStore({ connections: 1 });
    await serve(server().url);
    const observer = await connect(server().url);
    const writer = await holdLock(server().url, 'acme');
    const written = store.writeLeads([{ companyId: 'acme', id: 'patient', fields: {} }]);
    await eventually(async () => expect(await waitingForLock(observer)).toBe(1));
    const { pages, hangUp } = callers(store);
    hangUp();
    await expectGone(pages);
    await writer.end();
    expect(await written).toMatchObject({ results: [{ id: 'patient' }] });
    expect(await store.readPage(QUERY)).toMatchObject({ leads: [{ id: 'patient' }] });
  });

  it('before its page is asked for costs no connection', async () => {
    const store = await openStore({ connections: 1 });
    await serve(server().url);
    const observer = await connect(server().url);
    await store.ping();
    const pids = async () =>
      (
        await observer.query(
          `SELECT pid FROM pg_stat_activity WHERE application_name = 'leadtap' ORDER BY pid`,
        )
      ).rows;
    const before = await pids();
    await expectGone(Array.from({ length: CALLERS }, () => store.readPage(QUERY, AbortSignal.abort())));
    await store.ping();
    expect(await pids()).toEqual(before);
  });
});
