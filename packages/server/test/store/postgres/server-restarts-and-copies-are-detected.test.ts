import process from 'node:process';
import { Client } from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { ownPostgres } from '../../../../testing/harness/own-servers.ts';
import { migratePostgres } from '../../../src/store/postgres/store.ts';
import { eventually } from '../../faults/eventually.ts';
import { startWatching } from './watcher.ts';

async function connect(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  onTestFinished(() => client.end().catch(() => undefined));
  return client;
}

const revoke = (client: Client, token: string) =>
  client.query(`INSERT INTO leadtap.revoked_tokens VALUES ($1, now())`, [token]);

/** Without fsync: no test cuts the power. */
async function begin() {
  const server = await ownPostgres({ settings: { fsync: 'off' } });
  await migratePostgres(server.url);
  const client = await connect(server.url);
  const watcher = await startWatching(client);
  await revoke(client, 'before');
  expect(await watcher.revalidate()).toEqual(['token before']);
  return { server, client, watcher };
}

it.each(['fast', 'immediate'] as const)('a server that was stopped (%s) and started', async (mode) => {
  const { server, watcher } = await begin();
  await server.restart(mode);
  const client = await connect(server.url);
  const back = watcher.copy(client);
  expect(await back.revalidate()).toBeUndefined();
  await client.query('SELECT leadtap.prune_changes()');
  await back.revalidate();
  await revoke(client, 'after');
  expect(await back.revalidate()).toEqual(['token after']);
});

it('a server that restarts by itself after one of its processes has crashed', async () => {
  const { server, client, watcher } = await begin();
  const { rows } = await client.query(
    'SELECT pg_backend_pid() AS pid, pg_postmaster_start_time() AS started',
  );
  // The server then ends all its other processes.
  const bystander = await connect(server.url);
  const noticed = new Promise<void>((resolve) => bystander.once('end', resolve));
  process.kill(rows[0].pid, 'SIGKILL');
  await noticed;
  const survivor = await eventually(() => connect(server.url));
  const { rows: same } = await survivor.query('SELECT pg_postmaster_start_time() AS started');
  expect(same[0].started).toEqual(rows[0].started);

  const [back, sleeper] = [watcher.copy(survivor), watcher.copy(survivor)];
  expect(await back.revalidate()).toBeUndefined();
  await revoke(survivor, 'unnoticed');
  expect(await back.revalidate()).toBeUndefined();
  await survivor.query('SELECT leadtap.prune_changes()');
  await back.revalidate();
  await revoke(survivor, 'after');
  expect(await back.revalidate()).toEqual(['token after']);
  expect(await sleeper.revalidate()).toBeUndefined();
});

/** Under the old name, so that an instance connects to it. */
it('a copy that replaces the database', async () => {
  const { server, client, watcher } = await begin();
  const administrator = await connect(new URL('/template1', server.url).href);
  await client.end();
  await administrator.query('CREATE DATABASE older TEMPLATE postgres');

  const again = await connect(server.url);
  const going = watcher.copy(again);
  await revoke(again, 'after the copy');
  expect(await going.revalidate()).toEqual(['token after the copy']);
  const older = await connect(new URL('/older', server.url).href);
  expect(await going.copy(older).revalidate()).toBeUndefined();
});
