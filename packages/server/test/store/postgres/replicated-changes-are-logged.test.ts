import { Client } from 'pg';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { ORGANISATION } from '../../../../testing/harness/organisation.ts';
import { startPostgres } from '../../../../testing/servers/postgres.ts';
import { openPostgresStore } from '../../../src/store/postgres/store.ts';
import { connectSql, databaseWithCompanies, refusalOf } from './sql-client.ts';
import { startWatching, type Watcher } from './watcher.ts';

/** The columns that the stamp trigger would supply. */
const COPY = `INSERT INTO leadtap.leads (company_id, id, created_at, status_value, custom_fields, images, same_day, updated_at,
    automation_trigger_id, automation_created_at)
  VALUES ('acme', 'copy', '2024-05-01Z', 'NEW', '{}', '{}', false, '2024-05-01Z', 'kept', '2024-05-01Z')`;

describe('a session that disables triggers', () => {
  let client: Client;
  let watcher: Watcher;

  beforeEach(async () => {
    const { url } = await databaseWithCompanies();
    client = await connectSql(url);
    await client.query(`INSERT INTO leadtap.leads (company_id, id) VALUES ('acme', 'a')`);
    watcher = await startWatching(await connectSql(url));
    await client.query('SET session_replication_role = replica');
  });

  test('copies a lead as it is', async () => {
    await client.query(COPY);
    const { rows } = await client.query(
      `SELECT created_at, automation_trigger_id FROM leadtap.leads WHERE id = 'copy'`,
    );
    expect(rows).toEqual([{ created_at: new Date('2024-05-01'), automation_trigger_id: 'kept' }]);
  });

  test('cannot add a lead without a stamp', async () => {
    const refusal = await refusalOf(
      client,
      `INSERT INTO leadtap.leads (company_id, id) VALUES ('acme', 'b')`,
    );
    expect(refusal).toMatchObject({ code: '23502', column: 'created_at' });
  });

  test.each([
    ['adds a lead', COPY, 'company acme'],
    ['changes a lead', `UPDATE leadtap.leads SET first_name = 'x'`, 'company acme'],
    ['deletes a lead', 'DELETE FROM leadtap.leads', 'company acme'],
    ['renames a company', `UPDATE leadtap.companies SET name = 'x' WHERE id = 'acme'`, 'company acme'],
    ['renames a branch', `UPDATE leadtap.branches SET name = 'x' WHERE company_id = 'acme'`, 'company acme'],
    ['renames a department', `UPDATE leadtap.departments SET name = 'x'`, 'company globex'],
    ['relabels a status', `UPDATE leadtap.statuses SET label = 'x'`, 'company globex'],
    ['changes a user', `UPDATE leadtap.users SET plan = 'STARTER' WHERE id = 'boss'`, 'user boss'],
    ['removes a user', `DELETE FROM leadtap.users WHERE id = 'boss'`, 'user boss'],
    ['revokes a token', `INSERT INTO leadtap.revoked_tokens VALUES ('t', '2026-01-01Z')`, 'token t'],
  ])('is logged when it %s', async (_what, statement, change) => {
    await client.query(statement);
    expect(await watcher.revalidate()).toContain(change);
  });

  test('is logged when it truncates a table', async () => {
    await client.query('TRUNCATE leadtap.leads');
    expect(await watcher.revalidate()).toBeUndefined();
  });
});

test('a subscriber keeps the stamps of its publisher, and its caches follow', async () => {
  const server = await startPostgres({ settings: { wal_level: 'logical', fsync: 'off' } });
  onTestFinished(() => server.remove());
  const open = async (name: string) => {
    const client = new Client(server.url);
    await client.connect();
    await client.query(`CREATE DATABASE ${name}`);
    await client.end();
    const url = server.url.replace(/\/[^/]*$/, `/${name}`);
    const store = await openPostgresStore({ url });
    onTestFinished(() => store.close());
    return { url, store, client: await connectSql(url) };
  };
  const [source, copy] = [await open('source'), await open('copy')];
  await source.store.applyOrganisation(ORGANISATION);
  await source.client.query(`CREATE PUBLICATION leads FOR TABLE leadtap.companies, leadtap.statuses, leadtap.branches,
      leadtap.departments, leadtap.users, leadtap.issued_tokens, leadtap.revoked_tokens, leadtap.deleted_stamps, leadtap.leads`);
  // Both databases are of one server, which would wait for itself if it made the slot.
  await source.client.query(`SELECT pg_create_logical_replication_slot('leads', 'pgoutput')`);
  await copy.client.query(`CREATE SUBSCRIPTION leads CONNECTION '${source.url}' PUBLICATION leads
    WITH (create_slot = false, slot_name = 'leads')`);
  onTestFinished(async () => {
    await copy.client.query('ALTER SUBSCRIPTION leads DISABLE');
    await copy.client.query('ALTER SUBSCRIPTION leads SET (slot_name = NONE)');
    await copy.client.query('DROP SUBSCRIPTION leads');
  });
  const write = (firstName: string) =>
    source.store.writeLeads([{ companyId: 'acme', id: 'a', fields: { firstName } }]);
  const leadsOf = async ({ store }: typeof source) =>
    (await store.readPage({ scope: { level: 'COMPANY', companyId: 'acme' }, limit: 100 })).leads;

  const replicated = async () =>
    expect.poll(() => leadsOf(copy), { interval: 50 }).toEqual(await leadsOf(source));

  await write('first');
  await replicated();
  const watcher = await startWatching(copy.client);
  await write('second');
  await replicated();
  expect(await watcher.revalidate()).toContain('company acme');
});
