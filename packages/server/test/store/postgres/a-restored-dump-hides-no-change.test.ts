import type { Client } from 'pg';
import { beforeEach, expect, test } from 'vitest';
import { connectSql, databaseWithCompanies } from './sql-client.ts';
import { startWatching } from './watcher.ts';

/** A dump contains transaction ids, and the server that restores it assigns the same ids again. */
let writing: Client;
let restoring: Client;
let xid: string;

beforeEach(async () => {
  const { url } = await databaseWithCompanies();
  [writing, restoring] = [await connectSql(url), await connectSql(url)];
  await restoring.query(`INSERT INTO leadtap.leads (company_id, id) VALUES ('acme', 'a')`);
  await writing.query('BEGIN');
  xid = (await writing.query('SELECT pg_current_xact_id() AS xid')).rows[0].xid;
});

const OTHER_SERVER = `'2026-01-01 00:00:00Z'`;

test('a transaction with the id of the last writer in the dump logs its leads', async () => {
  await restoring.query(
    `UPDATE leadtap.companies SET last_writer = '${xid}', last_writer_server = ${OTHER_SERVER}`,
  );
  const watcher = await startWatching(restoring);
  await writing.query(`INSERT INTO leadtap.leads (company_id, id) VALUES ('acme', 'b'); COMMIT`);
  expect(await watcher.revalidate()).toContain('leads-appended acme');
});

test('a change is reported although the dump has an entry with the same id, which is then deleted', async () => {
  await restoring.query(
    `INSERT INTO leadtap.changes (xid, server, kind, id) VALUES ('${xid}', ${OTHER_SERVER}, 'company', 'acme')`,
  );
  const watcher = await startWatching(restoring);
  await writing.query(`UPDATE leadtap.leads SET first_name = 'New'`);
  await restoring.query(`DELETE FROM leadtap.changes WHERE server = ${OTHER_SERVER}`);
  await writing.query('COMMIT');
  expect(await watcher.revalidate()).toContain('company acme');
});

test('a transaction logs new leads once, whatever savepoints it uses', async () => {
  const watcher = await startWatching(restoring);
  await writing.query(`SAVEPOINT s; INSERT INTO leadtap.leads (company_id) VALUES ('acme'); RELEASE s;
    SAVEPOINT s; INSERT INTO leadtap.leads (company_id) VALUES ('acme'); ROLLBACK TO s;
    DO $$ BEGIN
      INSERT INTO leadtap.leads (company_id) VALUES ('acme');
    EXCEPTION WHEN others THEN RAISE;
    END $$;
    INSERT INTO leadtap.leads (company_id) VALUES ('acme'); COMMIT`);
  const { rows } = await restoring.query('SELECT kind, id FROM leadtap.changes WHERE xid = $1', [xid]);
  expect(rows).toEqual([{ kind: 'leads-appended', id: 'acme' }]);
  expect(await watcher.revalidate()).toEqual(['leads-appended acme']);
});
