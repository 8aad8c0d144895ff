import { describe, expect, it } from 'vitest';
import { openPostgresStore } from '../../src/store/postgres/store.ts';
import { StoreUnavailableError } from '../../src/store/store.ts';
import { shareCluster } from './cluster.ts';
import { eventually } from './eventually.ts';
import { addLead, expectUnavailable, serve } from './instance.ts';
import { Network } from './network.ts';
import { connect, connectionsOf } from './sql.ts';

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
    const network = await Network.to(server().port);
    const store = await openPostgresStore({
      url: network.through(server().url),
      connections: CONNECTIONS,
      connectLimitMs: 500,
      queryLimitMs: 500,
    });
    network.silence();
    const asked = await Promise.allSettled(many(1200, () => store.findUser('anybody')));
    const reasons = asked.map((outcome) => outcome.status === 'rejected' && outcome.reason);
    for (const reason of reasons) expect(reason).toBeInstanceOf(StoreUnavailableError);
    expect(reasons.filter(({ message }) => message.startsWith('too many'))).toHaveLength(200);

    network.speak();
    await eventually(() => store.ping());
    await eventually(() => expect(network.connections).toBeLessThanOrEqual(CONNECTIONS));
    await store.close();
    await eventually(() => expect(network.connections).toBe(0));
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
