import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ownTcpProxy } from '../../../testing/harness/own-servers.ts';
import { LONG_STORE_TIMEOUTS } from '../../../testing/harness/timeouts.ts';
import { StoreUnavailableError } from '../../src/sql/errors.ts';
import { openPostgresStore } from '../../src/store/postgres/store.ts';
import { shareCluster } from './cluster.ts';
import { eventually } from './eventually.ts';
import { addLead, expectUnavailable, serve } from './instance.ts';
import { connect, connectionsOf, holdLock } from './sql.ts';

const CONNECTIONS = 4;
const many = <T>(count: number, make: () => T): T[] => Array.from({ length: count }, make);

const server = shareCluster();

describe('while the database hangs', () => {
  it('polls get 503, and their leads as soon as it answers again', async () => {
    const { store, poll, probe } = await serve(server().url, {
      connections: CONNECTIONS,
      connectLimitMs: 500,
      queryLimitMs: 500,
    });
    await eventually(() => addLead(store, 'before'));
    server().pause();
    const answers = [...many(30, () => poll('acme')), probe('/readyz')];
    expect(await probe('/livez')).toMatchObject({ status: 200 });
    for (const answer of await Promise.all(answers)) expectUnavailable(answer);
    // Now without the connections from before.
    expectUnavailable(await poll('acme'));
    server().resume();
    await eventually(async () =>
      expect(await poll('acme')).toMatchObject({ status: 200, leads: [{ id: 'before' }] }),
    );
    await eventually(async () => expect(await probe('/readyz')).toMatchObject({ status: 200 }));
  });

  it('the number of waiting requests is bounded, and no connection is leaked', async () => {
    const proxy = await ownTcpProxy(server().port);
    const url = proxy.through(server().url);
    const limits = { connectLimitMs: 500, queryLimitMs: 500 };
    const store = await eventually(() => openPostgresStore({ url, connections: CONNECTIONS, ...limits }));
    proxy.begin({ kind: 'hang' });
    const asked = await Promise.allSettled(many(1200, () => store.findUser('anybody')));
    const reasons = asked.map((outcome) => outcome.status === 'rejected' && outcome.reason);
    for (const reason of reasons) expect(reason).toBeInstanceOf(StoreUnavailableError);
    expect(reasons.filter(({ message }) => message.startsWith('too many'))).toHaveLength(200);

    proxy.recover();
    await eventually(() => store.ping());
    await eventually(() => expect(proxy.connections).toBeLessThanOrEqual(CONNECTIONS));
    await store.close();
    await eventually(() => expect(proxy.connections).toBe(0));
  });
});

describe('a connection that the network has lost (half-open)', () => {
  const lead = { companyId: 'acme', fields: { firstName: 'Ada' } };
  const scope = { level: 'COMPANY', companyId: 'acme' } as const;
  /** Without the timeout that a test sets, a write would wait four minutes for an answer. */
  const inTime = <T>(work: Promise<T>): Promise<T> =>
    Promise.race([
      work,
      wait(120_000, undefined, { ref: false }).then(() => expect.fail('no answer for two minutes')),
    ]);

  it('fails the next write within the time of a query, and then is replaced', async () => {
    await serve(server().url);
    const proxy = await ownTcpProxy(server().port);
    const url = proxy.through(server().url);
    const limits = { ...LONG_STORE_TIMEOUTS, queryLimitMs: 500 };
    const store = await eventually(() => openPostgresStore({ url, connections: 1, ...limits }));
    onTestFinished(() => store.close());
    await eventually(() => store.ping());
    proxy.begin({ kind: 'half-open' });
    await expect(inTime(store.writeLeads([lead]))).rejects.toBeInstanceOf(StoreUnavailableError);
    proxy.recover();
    await eventually(() => store.writeLeads([lead]));
  });

  it('during a request that sends leads fails it within the time of a write, and the next one succeeds', async () => {
    await serve(server().url);
    const proxy = await ownTcpProxy(server().port);
    const url = proxy.through(server().url);
    const store = await openPostgresStore({ url, ...LONG_STORE_TIMEOUTS, writeLimitMs: 500 });
    onTestFinished(() => store.close());
    const writer = await holdLock(server().url, 'acme');
    const observer = await connect(server().url);
    const cutOff = store.writeAllLeads([{ ...lead, id: 'cut-off' }], scope);
    cutOff.catch(() => undefined);
    await eventually(async () =>
      expect(await connectionsOf(observer)).toContainEqual(expect.objectContaining({ waits: true })),
    );
    proxy.begin({ kind: 'half-open' });
    await writer.end();
    await expect(inTime(cutOff)).rejects.toBeInstanceOf(StoreUnavailableError);
    proxy.recover();
    await inTime(store.writeAllLeads([{ ...lead, id: 'next' }], scope));
  });
});

it('queries that wait for a table lock end in the database too, and not only for their clients', async () => {
  const { poll, probe, store } = await serve(server().url, { connections: CONNECTIONS, queryLimitMs: 300 });
  await eventually(() => addLead(store, 'before'));
  const [writer, observer] = [await connect(server().url), await connect(server().url)];
  await writer.query(
    'BEGIN; LOCK TABLE leadtap.companies, leadtap.leads, leadtap.users IN ACCESS EXCLUSIVE MODE',
  );
  for (const answer of await Promise.all([poll('acme'), poll('globex'), probe('/readyz')]))
    expectUnavailable(answer);
  await expect(store.status()).rejects.toBeInstanceOf(StoreUnavailableError);
  const waiting = async () => (await connectionsOf(observer)).filter(({ waits }) => waits);
  await eventually(async () => expect(await waiting()).toEqual([]));
  await writer.query('COMMIT');
  await eventually(async () => expect(await poll('acme')).toMatchObject({ status: 200 }));
});
