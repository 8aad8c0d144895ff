import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ownTcpProxy } from '../../../testing/harness/own-servers.ts';
import { LONG_STORE_TIMEOUTS } from '../../../testing/harness/timeouts.ts';
import { StoreUnavailableError } from '../../src/sql/errors.ts';
import { Database } from '../../src/store/postgres/connection.ts';
import { openPostgresStore } from '../../src/store/postgres/store.ts';
import { shareCluster } from './cluster.ts';
import { eventually } from './eventually.ts';
import { addLead, expectAnswered, expectUnavailable, serve } from './instance.ts';
import { connect, connectionsOf, endAllConnections, endWaitingConnections, holdLock } from './sql.ts';

const CONNECTIONS = 4;
const many = <T>(count: number, make: () => T): T[] => Array.from({ length: count }, make);

const server = shareCluster();

describe('connections that the server ends', () => {
  it('while they are idle are replaced', async () => {
    const { poll } = await serve(server().url, { connections: CONNECTIONS });
    const observer = await connect(server().url);
    await Promise.all(many(10, () => poll('acme')));
    for (let round = 0; round < 3; round += 1) {
      await endAllConnections(observer);
      for (const answer of await Promise.all(many(10, () => poll('acme')))) expectAnswered(answer);
      // A connection that no poll has used yet may be a broken one.
      await eventually(async () => expect(await poll('acme')).toMatchObject({ status: 200 }));
    }
  });

  it('during a query fail that query alone', async () => {
    const { poll } = await serve(server().url, { connections: CONNECTIONS });
    const observer = await connect(server().url);
    const writer = await holdLock(server().url, 'acme');
    const cut = poll('acme');
    await eventually(async () =>
      expect(await connectionsOf(observer)).toContainEqual(expect.objectContaining({ waits: true })),
    );
    await endWaitingConnections(observer);
    expectUnavailable(await cut);
    expect(await poll('globex')).toMatchObject({ status: 200 });
    await writer.end();
    expect(await poll('acme')).toMatchObject({ status: 200 });
  });
});

it('a connection that ends before the ROLLBACK hides no error, and is replaced', async () => {
  const database = new Database(server().url, 1);
  onTestFinished(() => database.close());
  const observer = await connect(server().url);
  const cause = new Error('the cause');
  const transaction = database.transaction(async (session) => {
    const [own] = await session.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    await observer.query('SELECT pg_terminate_backend($1, 60000)', [own?.pid]);
    throw cause;
  });
  await expect(transaction).rejects.toBe(cause);
  expect(await database.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
});

describe('connections that the network cuts', () => {
  it('in the middle of an answer give no half a page', async () => {
    const proxy = await ownTcpProxy(server().port);
    const { store, poll } = await serve(proxy.through(server().url), { connections: CONNECTIONS });
    const notes = { addressNotes: 'x'.repeat(10_000) };
    await store.writeLeads(many(100, () => ({ companyId: 'globex', fields: notes })));
    expect((await poll('globex')).leads).toHaveLength(100);
    proxy.begin({ kind: 'reset', afterBytes: 300_000 });
    // Not a page that is in the cache.
    expectUnavailable(await poll('globex', 'since=2000-01-01'));
    proxy.recover();
    expect((await poll('globex', 'since=2000-01-01')).leads).toHaveLength(100);
  });

  it('at any moment are an outage, never a defect', async () => {
    const proxy = await ownTcpProxy(server().port);
    const store = await openPostgresStore({
      url: proxy.through(server().url),
      connections: CONNECTIONS,
      ...LONG_STORE_TIMEOUTS,
    });
    onTestFinished(() => store.close());
    const pingAll = () =>
      many(CONNECTIONS, () =>
        store.ping().then(
          () => 'answered',
          (error) => error,
        ),
      );
    for (const cut of [() => proxy.hangUp(), () => proxy.reset()])
      for (let turns = 0; turns < 12; turns += 1) {
        await Promise.all(pingAll());
        cut();
        // Each time a little later, until the driver has noticed the loss.
        for (let turn = 0; turn < turns; turn += 1) await nextTurn();
        for (const outcome of await Promise.all(pingAll()))
          if (outcome !== 'answered') expect(outcome).toBeInstanceOf(StoreUnavailableError);
      }
    await store.ping();
    await eventually(() => expect(proxy.connections).toBeLessThanOrEqual(CONNECTIONS));
  });

  it('between two statements of a writer free its locks', async () => {
    const proxy = await ownTcpProxy(server().port);
    await serve(server().url);
    const store = await openPostgresStore({
      url: proxy.through(server().url),
      ...LONG_STORE_TIMEOUTS,
      // Long enough that the test sees the state before, also on a slow machine.
      idleLimitMs: 10_000,
    });
    const writer = await holdLock(server().url, 'acme');
    const observer = await connect(server().url);
    const cutOff = store.writeLeads([{ companyId: 'acme', id: 'cut-off', fields: {} }]);
    cutOff.catch(() => undefined);
    await eventually(async () =>
      expect(await connectionsOf(observer)).toContainEqual(expect.objectContaining({ waits: true })),
    );
    // It gets its lock, and sends nothing more.
    proxy.begin({ kind: 'hang' });
    await writer.end();
    const holds = { state: 'idle in transaction' };
    await eventually(async () =>
      expect(await connectionsOf(observer)).toContainEqual(expect.objectContaining(holds)),
    );
    await eventually(async () =>
      expect(await connectionsOf(observer)).not.toContainEqual(expect.objectContaining(holds)),
    );
    await addLead(await openPostgresStore({ url: server().url, ...LONG_STORE_TIMEOUTS }), 'next');
    proxy.reset();
    await expect(cutOff).rejects.toBeInstanceOf(StoreUnavailableError);
    await store.close();
  });
});

describe('connections that fail during the handshake', () => {
  /** PostgreSQL's responses to a request for TLS: yes, no, and an error. */
  it.each(['S', 'N', 'E', ''])(
    'after the response "%s" to the request for TLS are an outage',
    async (answer) => {
      const breaksOff = createServer((socket) => {
        socket.on('error', () => undefined);
        socket.once('data', () => socket.end(answer));
      });
      breaksOff.listen(0, '127.0.0.1');
      await once(breaksOff, 'listening');
      onTestFinished(() => void breaksOff.close());
      const { port } = breaksOff.address() as AddressInfo;
      const url = `postgres://postgres@127.0.0.1:${port}/postgres?sslmode=verify-full`;
      await expect(openPostgresStore({ url })).rejects.toBeInstanceOf(StoreUnavailableError);
    },
  );
});
