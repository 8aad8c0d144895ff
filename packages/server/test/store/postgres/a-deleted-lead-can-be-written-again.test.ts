import type { Client } from 'pg';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { TestDatabase } from '../../../../testing/harness/database.ts';
import { connectSql, databaseWithCompanies } from './sql-client.ts';

let database: TestDatabase;
let deleting: Client;
let writing: Client;
/** Within a transaction, PostgreSQL shows the connections as they were at the first query. */
let observing: Client;

beforeEach(async () => {
  database = await databaseWithCompanies();
  const connect = () => connectSql(database.url);
  [deleting, writing, observing] = await Promise.all([connect(), connect(), connect()]);
  await deleting.query(`INSERT INTO leadtap.leads (company_id, id, first_name) VALUES
    ('acme', 'a', 'Old'), ('acme', 'newest', 'Other')`);
});

/** Resolves when some connection to the database waits for a lock. */
const someoneWaits = () =>
  expect
    .poll(async () => {
      const { rows } = await observing.query(
        `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      );
      return rows.length;
    })
    .toBeGreaterThan(0);

/** Deletes the lead, and commits while the work waits for that. */
async function whileDeleting<T>(id: string, work: () => Promise<T>): Promise<T> {
  await deleting.query(`BEGIN; DELETE FROM leadtap.leads WHERE id = '${id}'`);
  const done = work();
  done.catch(() => undefined);
  await someoneWaits();
  await deleting.query('COMMIT');
  return done;
}

const idsOf = async (client: Client) =>
  (
    await client.query('SELECT id, first_name, department_id FROM leadtap.leads ORDER BY created_at')
  ).rows.map(({ id, first_name, department_id }) => [id, first_name, department_id]);

describe('an INSERT that waits for the DELETE of the same id adds the lead', () => {
  test.each([
    ['of an older lead', 'a', 'newest'],
    ['of the newest lead', 'newest', 'a'],
  ])('%s', async (_which, id, other) => {
    await writing.query('BEGIN');
    const { rowCount } = await whileDeleting(id, () =>
      writing.query(`INSERT INTO leadtap.leads (company_id, id, first_name) VALUES ('acme', '${id}', 'New')`),
    );
    expect(rowCount).toBe(1);
    // The writer itself, before it commits, and everybody after that.
    expect(await idsOf(writing)).toContainEqual([id, 'New', null]);
    await writing.query('COMMIT');
    expect((await idsOf(deleting)).map(([found]) => found)).toEqual([other, id]);
  });

  test('with a department', async () => {
    await whileDeleting('a', () =>
      writing.query(
        `INSERT INTO leadtap.leads (company_id, id, first_name, department_id) VALUES ('acme', 'a', 'New', 'sales')`,
      ),
    );
    expect(await idsOf(writing)).toContainEqual(['a', 'New', 'sales']);
  });

  test.each(['REPEATABLE READ', 'SERIALIZABLE'])('or fails with 40001 in %s', async (level) => {
    await writing.query(`BEGIN ISOLATION LEVEL ${level}; SELECT FROM leadtap.leads`);
    const insert = whileDeleting('a', () =>
      writing.query(`INSERT INTO leadtap.leads (company_id, id) VALUES ('acme', 'a')`),
    );
    await expect(insert).rejects.toMatchObject({ code: '40001' });
  });
});

test.each(['a', 'newest'])('a batch that waits for the DELETE of %j counts the lead as added', async (id) => {
  const store = await database.openStore();
  onTestFinished(() => store.close());
  const outcome = await whileDeleting(id, () =>
    store.writeLeads([{ companyId: 'acme', id, departmentId: 'sales', fields: { firstName: 'New' } }]),
  );
  expect(outcome).toMatchObject({ results: [{ kind: 'added', id }] });
  expect(await idsOf(writing)).toContainEqual([id, 'New', 'sales']);
});

test('an INSERT that waits for a DELETE that is rolled back is an update', async () => {
  await deleting.query(`BEGIN; DELETE FROM leadtap.leads WHERE id = 'a'`);
  const insert = writing.query(
    `INSERT INTO leadtap.leads (company_id, id, first_name) VALUES ('acme', 'a', 'New')`,
  );
  await someoneWaits();
  await deleting.query('ROLLBACK');
  expect((await insert).rowCount).toBe(0);
  expect(await idsOf(writing)).toEqual([
    ['a', 'New', null],
    ['newest', 'Other', null],
  ]);
});
