import { describe, expect, it } from 'vitest';
import { openPostgresStore } from '../../src/store/postgres/store.ts';
import { StoreUnavailableError } from '../../src/store/store.ts';
import { shareCluster } from './cluster.ts';
import { eventually } from './eventually.ts';
import { addLead, expectUnavailable, serve } from './instance.ts';
import { Network } from './network.ts';

const CONNECTIONS = 4;
const many = <T>(count: number, make: () => T): T[] => Array.from({ length: count }, make);

const server = shareCluster();

describe('while the database hangs', () => {
  it('polls are told to come again, and when it goes on they get their leads', async () => {
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
    // Now without connections that were made before.
    expectUnavailable(await poll('acme'));
    server().resume();
    await eventually(async () =>
      expect(await poll('acme')).toMatchObject({ status: 200, leads: [{ id: 'before' }] }),
    );
    await eventually(async () => expect(await probe('/readyz')).toMatchObject({ status: 200 }));
  });

  it('those who wait are bounded in number, and no connection is left behind', async () => {
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
