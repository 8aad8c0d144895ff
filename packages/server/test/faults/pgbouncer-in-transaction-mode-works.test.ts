import type { Client } from 'pg';
import { beforeAll, describe, expect, it } from 'vitest';
import { openSocket, requestText } from '../../../testing/harness/raw-http.ts';
import { LONG_STORE_TIMEOUTS } from '../../../testing/harness/timeouts.ts';
import { type PgBouncerServer, startPgBouncer } from '../../../testing/servers/pgbouncer.ts';
import { openPostgresStore } from '../../src/store/postgres/store.ts';
import { terminal } from '../cli/terminal.ts';
import { shareCluster } from './cluster.ts';
import { eventually } from './eventually.ts';
import { addLead, expectUnavailable, serve } from './instance.ts';
import { Pollers, Writers } from './load.ts';
import { connect, connectionsOf, holdLock } from './sql.ts';

/** Of PgBouncer to PostgreSQL, for all of Leadtap's connections to PgBouncer. */
const SERVER_CONNECTIONS = 3;
const NEVER_MS = 600_000;
const IMPATIENT = { queryLimitMs: 1000 };

const server = shareCluster();
let bouncer: PgBouncerServer;
beforeAll(async () => {
  bouncer = await startPgBouncer({
    upstream: server().url,
    settings: { default_pool_size: SERVER_CONNECTIONS, server_login_retry: 1 },
  });
  return () => bouncer.remove();
});

/** The connections to PostgreSQL, each held by a transaction. */
async function holdServerConnections(): Promise<Client[]> {
  const clients: Client[] = [];
  for (let held = 0; held < SERVER_CONNECTIONS; held += 1) {
    const client = await connect(bouncer.url);
    await client.query('BEGIN');
    clients.push(client);
  }
  return clients;
}

/** Settings, statements and locks that outlive a transaction. */
const LEFT_BEHIND = `SELECT name, setting FROM pg_settings
   WHERE source = 'session' AND name NOT IN ('application_name', 'client_encoding', 'transaction_isolation', 'transaction_read_only', 'transaction_deferrable')
  UNION ALL SELECT 'prepared', name FROM pg_prepared_statements
  UNION ALL SELECT 'lock', objid::text FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()
  UNION ALL SELECT 'leadtap.' || name, current_setting('leadtap.' || name, true)
    FROM unnest(ARRAY['company', 'historical', 'free_time']) AS name
   WHERE current_setting('leadtap.' || name, true) <> ''`;

describe('through PgBouncer in transaction mode', () => {
  it('every command works, from an empty database on', async () => {
    const shell = terminal();
    const env = { LEADTAP_DATABASE_URL: bouncer.url, LEADTAP_PORT: '0', LEADTAP_METRICS_ADDRESS: 'off' };
    const organisation = { companies: [{ id: 'acme', name: 'Acme', branches: [], users: [] }] };
    shell.save('organisation.json', organisation);
    for (const command of ['migrate', 'org apply organisation.json', 'user list', 'doctor'])
      expect(await shell.run(command, { env })).toMatchObject({ code: 0 });
    const stdin = Array.from({ length: 1200 }, () => '{"companyId":"acme","phone1":"1"}\n').join('');
    expect(await shell.run('leads import - --format ndjson', { env, stdin })).toMatchObject({
      code: 0,
      stdout: '1200 added, 0 updated, 0 rejected\n',
    });
  });

  it('no poller loses a lead, and no setting or lock is left in a connection', async () => {
    const service = await serve(bouncer.url, { connections: 10 });
    const store = await openPostgresStore({ url: bouncer.url, connections: 5, ...LONG_STORE_TIMEOUTS });
    const writers = new Writers(store, bouncer.url);
    const pollers = new Pollers(service);
    const historical = [{ companyId: 'acme', createdAt: 1000, fields: {} }];
    await eventually(async () => {
      await store.writeLeads(historical, { historical: true });
      expect(writers.acknowledged.size).toBeGreaterThan(60);
      expect(pollers.answered).toBeGreaterThan(20);
    });
    writers.stop();
    await writers.stopped;
    await pollers.stop();
    expect(pollers.lastLead.lost(writers.acknowledged)).toEqual([]);
    expect(pollers.date.lost(writers.acknowledged)).toEqual([]);
    await store.close();
    for (const client of await holdServerConnections())
      expect((await client.query(LEFT_BEHIND)).rows).toEqual([]);
  });

  it('the query of a client that disconnects ends after its wait for the lock', async () => {
    const service = await serve(bouncer.url, { queryLimitMs: NEVER_MS, pollLockWaitMs: 10_000 });
    const observer = await connect(server().url);
    const waiting = async () => (await connectionsOf(observer)).filter(({ waits }) => waits).length;
    await holdLock(server().url, 'acme');
    const socket = await openSocket(service.url);
    const authorization = `Authorization: Bearer ${await service.token('acme')}`;
    socket.write(requestText('GET /automation/new-leads HTTP/1.1', 'Host: x', authorization));
    await eventually(async () => expect(await waiting()).toBe(1));
    socket.destroy();
    await eventually(async () => expect(await waiting()).toBe(0));
    expect(await service.poll('globex')).toMatchObject({ status: 200 });
  });

  it('a database that hangs is reported, and used again', async () => {
    const { poll } = await serve(bouncer.url, IMPATIENT);
    server().pause();
    for (const answer of await Promise.all([poll('acme'), poll('globex')])) expectUnavailable(answer);
    server().resume();
    await eventually(async () => expect(await poll('acme')).toMatchObject({ status: 200 }));
    expect(bouncer.pid).toBeDefined();
  });

  it('a database that is killed is used again', async () => {
    const { store, poll } = await serve(bouncer.url, IMPATIENT);
    await eventually(() => addLead(store, 'before'));
    await server().stop('immediate');
    expectUnavailable(await poll('acme'));
    await server().start();
    await eventually(async () => expect(await poll('acme')).toMatchObject({ status: 200 }));
    await bouncer.stop();
    expectUnavailable(await poll('acme'));
    await bouncer.start();
    await eventually(async () => expect(await poll('acme')).toMatchObject({ status: 200 }));
  });
});
