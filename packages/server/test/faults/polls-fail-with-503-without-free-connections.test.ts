import type { Client } from 'pg';
import { expect, it } from 'vitest';
import { shareCluster } from './cluster.ts';
import { eventually } from './eventually.ts';
import { addLead, expectUnavailable, serve } from './instance.ts';
import { connect, endAllConnections } from './sql.ts';

const server = shareCluster({ max_connections: 12, max_wal_senders: 0 });

/** Takes all connections that are free, and those of Leadtap. The first one is given. */
async function takeAll(url: string, first: Client, taken: Client[]): Promise<void> {
  for (;;) {
    try {
      taken.push(await connect(url));
      await endAllConnections(first);
    } catch (error) {
      expect(error).toMatchObject({ code: '53300' });
      return;
    }
  }
}

it('polls get 503 while other programs hold every connection, and are answered afterwards', async () => {
  const { store, poll, probe, log } = await serve(server().url, { connections: 2 });
  await addLead(store, 'before');
  const first = await connect(server().url);
  const taken: Client[] = [];
  // A connection that was ended, or was refused, is free a moment later.
  await eventually(async () => {
    await takeAll(server().url, first, taken);
    expectUnavailable(await poll('acme'));
  });
  expectUnavailable(await probe('/readyz'));
  expect(await probe('/livez')).toMatchObject({ status: 200 });
  expect(log.filter(({ level }) => level === 'error').at(-1)?.err?.message).toContain('no connection left');
  for (const client of taken) await client.end();
  await eventually(async () =>
    expect(await poll('acme')).toMatchObject({ status: 200, leads: [{ id: 'before' }] }),
  );
  expect(await probe('/readyz')).toMatchObject({ status: 200 });
});
