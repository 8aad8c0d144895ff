import type { Client } from 'pg';
import { beforeEach, describe, expect, test } from 'vitest';
import type { TestDatabase } from '../../../../testing/harness/database.ts';
import { ORGANISATION } from '../../../../testing/harness/organisation.ts';
import { connectSql, databaseWithCompanies, refusalOf } from './sql-client.ts';

const NOON = Date.UTC(2026, 2, 2, 12);

let database: TestDatabase;
let client: Client;

beforeEach(async () => {
  database = await databaseWithCompanies();
  await database.stopClock(NOON);
  client = await connectSql(database.url);
});

/** The stamps of the leads, in the order of their ids, as milliseconds after noon. */
async function stamps(companyId = 'acme'): Promise<number[]> {
  const { rows } = await client.query(
    `SELECT leadtap.to_ms(created_at) - $2 AS ms FROM leadtap.leads WHERE company_id = $1 ORDER BY id`,
    [companyId, NOON],
  );
  return rows.map(({ ms }) => Number(ms));
}

const insert = (id: string, companyId = 'acme') =>
  `INSERT INTO leadtap.leads (company_id, id) VALUES ('${companyId}', '${id}')`;

/** Whether another program would have to wait before it can add a lead. */
async function isLocked(companyId = 'acme'): Promise<boolean> {
  const other = await connectSql(database.url);
  const { rows } = await other.query(
    'SELECT pg_try_advisory_xact_lock(leadtap.lock_class(), leadtap.company_lock($1)) AS free',
    [companyId],
  );
  return !rows[0].free;
}

async function isWaiting(processId: number): Promise<boolean> {
  const { rows } = await client.query(
    `SELECT FROM pg_stat_activity WHERE pid = $1 AND wait_event_type = 'Lock'`,
    [processId],
  );
  return rows.length > 0;
}

describe('of deleted leads', () => {
  const REMOVE_NEWEST = `DELETE FROM leadtap.leads WHERE id = 'b'`;

  test.each([
    ['the newest', REMOVE_NEWEST],
    ['all', 'DELETE FROM leadtap.leads'],
    ['all at once', 'TRUNCATE leadtap.leads'],
    ['the newest, then the one before', `${REMOVE_NEWEST}; DELETE FROM leadtap.leads WHERE id = 'a'`],
    [
      'the newest two in one transaction',
      `BEGIN; DELETE FROM leadtap.leads WHERE id = 'a'; ${REMOVE_NEWEST}; COMMIT`,
    ],
  ])('%s, with the clock set back', async (_which, remove) => {
    await client.query(`${insert('a')}; ${insert('b')}; ${insert('g', 'globex')}`);
    await client.query(remove);
    await database.stopClock(NOON - 60_000);
    await client.query(`${insert('c')}; ${insert('d')}; ${insert('h', 'globex')}`);
    expect((await stamps()).slice(-2)).toEqual([3, 4]);
    expect((await stamps('globex')).at(-1)).toBe(2);
  });

  test.each([
    ['newest', REMOVE_NEWEST, [1, 3, 4]],
    ['old', `DELETE FROM leadtap.leads WHERE id = 'a'`, [2, 3, 4]],
  ])('an insert does not wait for an open delete of the %s lead', async (_which, remove, expected) => {
    await client.query(`${insert('a')}; ${insert('b')}`);
    await client.query(`BEGIN; ${remove}`);
    const other = await connectSql(database.url);
    await other.query(`SET statement_timeout = '2min'; ${insert('c')}`);
    await client.query(`${insert('d')}; COMMIT`);
    expect(await stamps()).toEqual(expected);
  });

  test('an insert after deletes of the newest leads by two transactions is stamped after both', async () => {
    await client.query(`${insert('a')}; ${insert('b')}`);
    const other = await connectSql(database.url);
    await client.query(`BEGIN; ${REMOVE_NEWEST}`);
    await other.query(`BEGIN; DELETE FROM leadtap.leads WHERE id = 'a'`);
    await client.query('COMMIT');
    await other.query('COMMIT');
    await database.stopClock(NOON - 60_000);
    await client.query(insert('c'));
    expect(await stamps()).toEqual([3]);
  });

  test('only the latest of the deleted stamps is kept', async () => {
    for (const id of ['a', 'b', 'c'])
      await client.query(`${insert(id)}; DELETE FROM leadtap.leads WHERE id = '${id}'`);
    const count = async () =>
      Number((await client.query('SELECT count(*) FROM leadtap.deleted_stamps')).rows[0].count);
    expect(await count()).toBe(3);
    await client.query(`UPDATE leadtap.change_log_state SET next_set_at = '2000-01-01'`);
    await client.query('SELECT leadtap.prune_changes()');
    expect(await count()).toBe(1);
    await database.stopClock(NOON - 60_000);
    await client.query(insert('d'));
    expect(await stamps()).toEqual([4]);
  });
});

describe('of a company that is deleted and inserted again', () => {
  const REMOVE_PLACES = ['users', 'departments', 'branches', 'statuses']
    .map((table) => `DELETE FROM leadtap.${table} WHERE company_id = 'acme'`)
    .join('; ');
  const REMOVE = `DELETE FROM leadtap.companies WHERE id = 'acme'`;
  const LEADS = `DELETE FROM leadtap.leads WHERE company_id = 'acme'`;

  /** The same id again, with one status. */
  const MAKE = `INSERT INTO leadtap.companies (id, name) VALUES ('acme', 'Again');
    INSERT INTO leadtap.statuses VALUES ('acme', 'NEW', 'New', '#000', false, 0)`;

  test.each([
    ['one statement after the other', `${LEADS}; ${REMOVE_PLACES}; ${REMOVE}; ${MAKE}`],
    ['in one transaction', `BEGIN; ${LEADS}; ${REMOVE_PLACES}; ${REMOVE}; ${MAKE}; COMMIT`],
    [
      'its leads and itself at once',
      `DELETE FROM leadtap.users; DELETE FROM leadtap.departments; DELETE FROM leadtap.branches;
       WITH l AS (${LEADS}), s AS (DELETE FROM leadtap.statuses WHERE company_id = 'acme') ${REMOVE}; ${MAKE}`,
    ],
    ['with TRUNCATE', `TRUNCATE leadtap.companies CASCADE; ${MAKE}`],
    [
      'twice',
      `${LEADS}; ${REMOVE_PLACES}; ${REMOVE}; ${MAKE}; DELETE FROM leadtap.statuses WHERE company_id = 'acme'; ${REMOVE}; ${MAKE}`,
    ],
    [
      'by giving its id away',
      `${LEADS}; ${REMOVE_PLACES}; UPDATE leadtap.companies SET id = 'other' WHERE id = 'acme'; ${MAKE}`,
    ],
    [
      'by giving its id to another one',
      `${LEADS}; ${REMOVE_PLACES}; ${REMOVE}; INSERT INTO leadtap.companies VALUES ('other', 'Other');
       UPDATE leadtap.companies SET id = 'acme' WHERE id = 'other';
       INSERT INTO leadtap.statuses VALUES ('acme', 'NEW', 'New', '#000', false, 0)`,
    ],
  ])('%s', async (_how, again) => {
    await client.query(`INSERT INTO leadtap.leads (company_id) SELECT 'acme' FROM generate_series(1, 50)`);
    await client.query(again);
    await client.query(insert('a'));
    expect(await stamps()).toEqual([51]);
  });

  test('while another transaction is deleting it', async () => {
    await client.query(`INSERT INTO leadtap.leads (company_id) SELECT 'acme' FROM generate_series(1, 50)`);
    await client.query(`BEGIN; ${LEADS}; ${REMOVE_PLACES}; ${REMOVE}`);
    const other = await connectSql(database.url);
    const backend = (await other.query('SELECT pg_backend_pid() AS pid')).rows[0].pid;
    const making = other.query(MAKE);
    await expect.poll(() => isWaiting(backend)).toBe(true);
    await client.query('COMMIT');
    await making;
    await client.query(insert('a'));
    expect(await stamps()).toEqual([51]);
  });

  test('applied from an organisation file', async () => {
    await client.query(`INSERT INTO leadtap.leads (company_id) SELECT 'acme' FROM generate_series(1, 50)`);
    await client.query(`${LEADS}; ${REMOVE_PLACES}; ${REMOVE}`);
    const store = await database.openStore();
    await store.applyOrganisation(ORGANISATION);
    await store.close();
    await client.query(insert('a'));
    expect(await stamps()).toEqual([51]);
  });
});

describe('the last stamp within a transaction', () => {
  test('is rolled back to a savepoint', async () => {
    await client.query(`BEGIN; SAVEPOINT part; ${insert('a')}; ${insert('b')}; ROLLBACK TO part`);
    expect(await isLocked()).toBe(false);
    const other = await connectSql(database.url);
    await other.query(`${insert('x1')}; ${insert('x2')}; ${insert('x3')}`);
    await client.query(`${insert('c')}; ${insert('d')}`);
    expect(await isLocked()).toBe(true);
    await client.query('COMMIT');
    expect(await stamps()).toEqual([4, 5, 1, 2, 3]);
  });

  test('stays when a later savepoint is rolled back', async () => {
    await client.query(
      `BEGIN; ${insert('a')}; SAVEPOINT part; ${insert('b')}; ${insert('g', 'globex')}; ROLLBACK TO part`,
    );
    expect([await isLocked(), await isLocked('globex')]).toEqual([true, false]);
    await client.query(`${insert('c')}; ${insert('h', 'globex')}; COMMIT`);
    expect([await stamps(), await stamps('globex')]).toEqual([[1, 2], [1]]);
  });

  test('is kept for each company', async () => {
    await client.query(`INSERT INTO leadtap.companies (id, name) VALUES (E'acme\\n9', 'Two lines');
      INSERT INTO leadtap.statuses SELECT E'acme\\n9', 'ODD', label, color, final, position FROM leadtap.statuses LIMIT 1`);
    await client.query(`BEGIN; ${insert('a')}; ${insert('g', 'globex')}; ${insert('b')}`);
    await client.query(
      `INSERT INTO leadtap.leads (company_id, id) VALUES (E'acme\\n9', 'o'), ('acme', 'c'), (E'acme\\n9', 'p')`,
    );
    await client.query(`${insert('h', 'globex')}; COMMIT`);
    expect(await stamps('acme')).toEqual([1, 2, 3]);
    expect(await stamps('globex')).toEqual([1, 2]);
    expect(await stamps('acme\n9')).toEqual([1, 2]);
    const { rows } = await client.query(
      'SELECT DISTINCT company_id, status_value FROM leadtap.leads ORDER BY 1',
    );
    expect(rows.map(({ status_value }) => status_value)).toEqual(['NEW', 'ODD', 'NEW']);
  });

  test('is not taken for that of a company whose id is the first line of another', async () => {
    await client.query(`INSERT INTO leadtap.companies (id, name) VALUES (E'acme\\n9', 'Two lines');
      INSERT INTO leadtap.statuses SELECT E'acme\\n9', value, label, color, final, position
        FROM leadtap.statuses WHERE company_id = 'acme'`);
    await client.query(`BEGIN; INSERT INTO leadtap.leads (company_id, id) VALUES (E'acme\\n9', 'o')`);
    await client.query(insert('a'));
    expect(await isLocked()).toBe(true);
    await client.query(`ROLLBACK; BEGIN; SET LOCAL leadtap.historical = 'on';
      INSERT INTO leadtap.leads (company_id, id, created_at)
      SELECT c, 'o', '2024-05-01Z' FROM unnest(ARRAY[E'acme\\n9', 'acme']) AS c; COMMIT`);
    const { rows } = await client.query('SELECT DISTINCT created_at FROM leadtap.leads');
    expect(rows).toEqual([{ created_at: new Date('2024-05-01') }]);
  });

  test('is read again by the next transaction', async () => {
    await client.query(`BEGIN; ${insert('a')}; COMMIT`);
    const other = await connectSql(database.url);
    await other.query(`${insert('b')}; ${insert('c')}`);
    await client.query(`BEGIN; ${insert('d')}; ROLLBACK; BEGIN`);
    await client.query(insert('e'));
    expect(await isLocked()).toBe(true);
    await client.query('COMMIT');
    expect(await stamps()).toEqual([1, 2, 3, 4]);
  });

  test('is at most a minute ahead of the clock after history, in however many rows and transactions', async () => {
    const rows = (from: number, to: number) => `SET leadtap.historical = 'on';
      INSERT INTO leadtap.leads (company_id, id, created_at)
      SELECT 'acme', 'h-' || n, leadtap.from_ms(${NOON} + n * 30000) FROM generate_series(${from}, ${to}) AS n`;
    expect((await refusalOf(client, rows(1, 1000)))?.message).toContain('lies in the future');
    expect(await refusalOf(client, rows(1, 2))).toBeUndefined();
    expect((await refusalOf(client, rows(3, 3)))?.message).toContain('lies in the future');
    await client.query(`SET leadtap.historical = ''; ${insert('a')}`);
    expect(await stamps()).toEqual([60_001, 30_000, 60_000]);
  });

  test('may be that of a moved lead, which keeps a stamp ahead of the clock, and none beyond it', async () => {
    const moved = (id: string, ms: number) => `SET leadtap.historical = 'moved';
      INSERT INTO leadtap.leads (company_id, id, created_at, updated_at, automation_created_at, automation_trigger_id)
      SELECT 'acme', '${id}', at, at, at, '${id}' FROM leadtap.from_ms(${NOON + ms}) AS at`;
    await client.query(
      `UPDATE leadtap.companies SET stamp_floor = leadtap.from_ms(${NOON + 600_000}) WHERE id = 'acme'`,
    );
    expect(await refusalOf(client, moved('a', 600_000))).toBeUndefined();
    expect((await refusalOf(client, moved('b', 600_001)))?.message).toContain('lies in the future');
  });

  test('includes the time that history has reached', async () => {
    await client.query(`BEGIN; SET LOCAL leadtap.historical = 'on';
      INSERT INTO leadtap.leads (company_id, id, created_at)
      SELECT 'acme', id, leadtap.from_ms(ms) FROM (VALUES ('a', ${NOON + 50}), ('b', ${NOON + 20}), ('c', NULL)) AS v (id, ms);
      COMMIT`);
    expect(await stamps()).toEqual([50, 20, 51]);
  });
});

describe('a program that sets internal settings', () => {
  test.each([
    ['leadtap.historical', 'garbage'],
    ['leadtap.free_time', 'garbage'],
  ])('%s = %j has an error or no effect', async (name, value) => {
    await client.query('SELECT set_config($1, $2, false)', [name, value]);
    const refusal = await refusalOf(client, insert('a'));
    if (refusal) expect(refusal.code).toMatch(/^22/);
    else expect(await stamps()).toEqual([1]);
  });

  test.each(['garbage', 'x\n1714521600000 acme', '-1\n1714521600000 acme'])(
    'leadtap.free_time = %j gives no time twice',
    async (value) => {
      const history = (id: string) =>
        `INSERT INTO leadtap.leads (company_id, id, created_at) VALUES ('acme', '${id}', '2024-05-01Z')`;
      await client.query(`SET leadtap.historical = 'on'; ${history('a')}`);
      await client.query('SELECT set_config($1, $2, false)', ['leadtap.free_time', value]);
      const refusal = await refusalOf(client, history('b'));
      if (refusal) expect(refusal.code).toMatch(/^22/);
      else expect(new Set(await stamps()).size).toBe(2);
    },
  );
});
