import type { Client } from 'pg';
import { expect, it } from 'vitest';
import { shareCluster } from './cluster.ts';
import { addLead, ERROR, expectUnavailable, serve } from './instance.ts';
import { connect, endAllConnections } from './sql.ts';

const server = shareCluster({ max_connections: 12, max_wal_senders: 0 });

/** Takes all connections. The first one is given. */
async function takeAll(url: string, first: Client): Promise<Client[]> {
  const taken: Client[] = [];
  for (;;) {
    try {
      taken.push(await connect(url));
      await endAllConnections(first);
    } catch (error) {
      expect(error).toMatchObject({ code: '53300' });
      return taken;
    }
  }
}

it('polls get 503 while other programs hold every connection, and are answered afterwards', async () => {
  const { store, poll, probe, log } = await serve(server().url, { connections: 2 });
  await addLead(store, 'before');
  const taken = await takeAll(server().url, await connect(server().url));
  expectUnavailable(await poll('acme'));
  expectUnavailable(await probe('/readyz'));
  expect(await probe('/livez')).toMatchObject({ status: 200 });
  expect(log.filter(({ level }) => level >= ERROR).at(-1)?.err?.message).toContain('no connection left');
  for (const client of taken) await client.end();
  expect(await poll('acme')).toMatchObject({ status: 200, leads: [{ id: 'before' }] });
  expect(await probe('/readyz')).toMatchObject({ status: 200 });
});
