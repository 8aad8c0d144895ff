import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Client } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { beforeEach, describe, expect, test } from 'vitest';
import type { TestDatabase } from '../../../../testing/harness/database.ts';
import { type ColumnKind, DEFAULT_LEAD_FIELDS, FIELD_COLUMNS } from '../../../src/leads/row.ts';
import { connectSql, databaseWithCompanies } from './sql-client.ts';

const NOON = Date.UTC(2026, 2, 2, 12);
const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const at = (ms: number) => new Date(NOON + ms);

let database: TestDatabase;
let client: Client;

beforeEach(async () => {
  database = await databaseWithCompanies();
  await database.stopClock(NOON);
  client = await connectSql(database.url);
});

async function leads(columns = '*') {
  const { rows } = await client.query(`SELECT ${columns} FROM leadtap.leads ORDER BY company_id, created_at`);
  return rows;
}

const insert = (row: Record<string, unknown>, also = '') =>
  client.query(
    `INSERT INTO leadtap.leads (company_id, ${Object.keys(row).join(', ')})
     VALUES ('acme', ${Object.keys(row).map((_column, i) => `$${i + 1}`)}) ${also}`,
    Object.values(row),
  );

describe('a column that is left out', () => {
  const EMPTY = {
    branch_id: null,
    department_id: null,
    status_value: 'NEW',
    ...Object.fromEntries(FIELD_COLUMNS.map(({ field, column }) => [column, DEFAULT_LEAD_FIELDS[field]])),
  };

  test('is supplied, except the company', async () => {
    await client.query(`INSERT INTO leadtap.leads (company_id) VALUES ('acme')`);
    const [lead] = await leads();
    expect(lead).toEqual({
      ...EMPTY,
      company_id: 'acme',
      id: expect.stringMatching(UUID_V7),
      created_at: at(1),
      updated_at: at(1),
      automation_created_at: at(1),
      automation_trigger_id: expect.stringMatching(UUID_V7),
    });
    expect(lead.automation_trigger_id).not.toBe(lead.id);
    expect(Number.parseInt(lead.id.replace('-', '').slice(0, 12), 16)).toBe(NOON + 1);
  });

  test('may also be given as null', async () => {
    const [before] = await leads();
    expect(before).toBeUndefined();
    const columns = ['id', 'created_at', 'updated_at', 'automation_trigger_id', ...Object.keys(EMPTY)];
    await insert(Object.fromEntries(columns.map((column) => [column, null])));
    expect(await leads()).toMatchObject([{ ...EMPTY, created_at: at(1) }]);
  });

  test('is the branch of the department', async () => {
    await insert({ department_id: 'south-sales' });
    expect(await leads()).toMatchObject([{ branch_id: 'south', department_id: 'south-sales' }]);
  });

  test('is the first status where there is no NEW', async () => {
    await client.query(`DELETE FROM leadtap.statuses WHERE value = 'NEW';
      UPDATE leadtap.statuses SET position = 10 - position WHERE company_id = 'globex';
      INSERT INTO leadtap.leads (company_id) VALUES ('acme'), ('globex')`);
    expect(await leads('status_value')).toEqual([{ status_value: 'CONTACTED' }, { status_value: 'LOST' }]);
  });
});

test('columns that only the database sets are ignored in an INSERT', async () => {
  const mine = new Date(0);
  const automation = { automation_created_at: mine, automation_trigger_id: 'mine' };
  await insert({ id: 'x', created_at: mine, updated_at: mine, ...automation });
  expect(await leads()).toMatchObject([
    { id: 'x', created_at: at(1), updated_at: at(1), automation_created_at: at(1) },
  ]);
  expect(await leads('automation_trigger_id')).not.toEqual([{ automation_trigger_id: 'mine' }]);
});

/** Two values that differ, for each kind of column. */
const VALUES: Record<ColumnKind, (column: string) => readonly [unknown, unknown]> = {
  text: (column) => (column === 'timeslot' ? ['09:30', '10:00'] : [column, 'x']),
  boolean: () => [true, false],
  time: () => [at(9000), at(1)],
  json: () => [{ a: 1 }, {}],
  texts: () => [['http://a'], []],
};

describe('the same id again', () => {
  const FIRST = { id: 'x', first_name: 'Ada', email: 'ada@example.com', images: ['http://a'] };

  beforeEach(async () => {
    await insert(FIRST);
    await database.stopClock(NOON + 500);
  });

  const CHANGED = { ...FIRST, first_name: 'Grace', created_at: at(1), updated_at: at(500) };

  test('is an update, and null keeps the value', async () => {
    const { rowCount } = await insert({ id: 'x', first_name: 'Grace', email: null, images: null });
    expect(rowCount).toBe(0);
    expect(await leads()).toMatchObject([CHANGED]);
  });

  test('changes one column without any other', async () => {
    const full = {
      ...{ id: 'full', department_id: 'sales', status_value: 'WON' },
      ...Object.fromEntries(FIELD_COLUMNS.map(({ column, kind }) => [column, VALUES[kind](column)[0]])),
    };
    await insert(full);
    const other = {
      ...{ department_id: 'service', status_value: 'LOST' },
      ...Object.fromEntries(FIELD_COLUMNS.map(({ column, kind }) => [column, VALUES[kind](column)[1]])),
    };
    const expected: Record<string, unknown> = { ...full, branch_id: 'north' };
    for (const [column, value] of Object.entries(other)) {
      await insert({ id: 'full', [column]: value });
      expected[column] = value;
      const [, lead] = await leads();
      expect(lead).toMatchObject(expected);
    }
  });

  test('twice in one statement is a lead and its change', async () => {
    const { rowCount } = await client.query(`INSERT INTO leadtap.leads (company_id, id, first_name, phone1)
      VALUES ('acme', 'y', 'One', '1'), ('acme', 'x', 'Grace', NULL), ('acme', 'y', 'Two', NULL)`);
    expect(rowCount).toBe(1);
    expect(await leads()).toMatchObject([
      CHANGED,
      { id: 'y', first_name: 'Two', phone1: '1', created_at: at(501) },
    ]);
  });

  test('is an update by COPY too', async () => {
    const copy = client.query(copyFrom('COPY leadtap.leads (company_id, id, first_name) FROM STDIN'));
    await pipeline(Readable.from(['acme\tx\tGrace\n', 'acme\tz\tOne\n', 'acme\tz\tTwo\n']), copy);
    expect(await leads()).toMatchObject([CHANGED, { id: 'z', first_name: 'Two' }]);
  });

  test('never reaches ON CONFLICT', async () => {
    const conflict = `ON CONFLICT (company_id, id) DO UPDATE SET first_name = 'conflict'`;
    await insert({ id: 'x', first_name: 'Grace' }, conflict);
    expect(await leads()).toMatchObject([CHANGED]);
    await insert({ id: 'x', first_name: 'Mary' }, 'ON CONFLICT DO NOTHING');
    expect(await leads('first_name')).toEqual([{ first_name: 'Mary' }]);
  });

  test('in another company is another lead', async () => {
    await client.query(`INSERT INTO leadtap.leads (company_id, id) VALUES ('globex', 'x')`);
    expect(await leads()).toMatchObject([FIRST, { company_id: 'globex', id: 'x', first_name: null }]);
  });
});

describe('UPDATE', () => {
  beforeEach(async () => {
    await insert({ id: 'x', first_name: 'Ada', department_id: 'sales' });
    await database.stopClock(NOON + 500);
  });

  const update = (assignments: string) => client.query(`UPDATE leadtap.leads SET ${assignments}`);

  test('may set null, and ignores a given updated_at', async () => {
    const [before] = await leads();
    await update(`first_name = NULL, updated_at = '2000-01-01'`);
    expect(await leads()).toEqual([{ ...before, first_name: null, updated_at: at(500) }]);
  });

  test('never moves updated_at back', async () => {
    await database.stopClock(NOON - 5000);
    await update(`first_name = 'Grace'`);
    expect(await leads('updated_at')).toEqual([{ updated_at: at(1) }]);
  });

  test.each([
    [`department_id = 'service'`, 'north', 'service'],
    [`department_id = 'south-sales'`, 'south', 'south-sales'],
    [`department_id = NULL`, 'north', null],
    [`branch_id = 'south'`, 'south', null],
    [`branch_id = 'north'`, 'north', 'sales'],
    [`branch_id = NULL`, null, null],
    [`branch_id = 'south', department_id = 'south-sales'`, 'south', 'south-sales'],
  ])('%s puts the lead into %s, %s', async (assignments, branch_id, department_id) => {
    await update(assignments);
    expect(await leads('branch_id, department_id')).toEqual([{ branch_id, department_id }]);
  });
});

describe('history', () => {
  const insertHistory = (rows: string) =>
    client.query(`BEGIN; SET LOCAL leadtap.historical = 'on';
      INSERT INTO leadtap.leads (company_id, id, created_at, updated_at, automation_trigger_id) VALUES ${rows}; COMMIT`);

  test('keeps its time, and the rest is supplied', async () => {
    await insert({ id: 'new' });
    await insertHistory(
      `('acme', 'a', '2024-05-01 10:00:00.1234+02', '2024-05-02Z', 'mine'), ('acme', 'b', '2024-05-03Z', NULL, NULL)`,
    );
    expect(await leads()).toMatchObject([
      {
        id: 'a',
        created_at: new Date('2024-05-01T08:00:00.123Z'),
        updated_at: new Date('2024-05-01T08:00:00.123Z'),
        automation_trigger_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        automation_created_at: at(0),
      },
      { id: 'b', created_at: new Date('2024-05-03'), updated_at: new Date('2024-05-03') },
      { id: 'new', created_at: at(1) },
    ]);
  });

  test('moves equal times apart, also from those of stored leads', async () => {
    const time = `'2024-05-01Z', NULL, NULL`;
    await insertHistory(`('acme', 'a', ${time}), ('globex', 'a', ${time}), ('acme', 'b', ${time})`);
    await insertHistory(
      `('acme', 'c', ${time}), ('acme', 'd', '2024-05-01 00:00:00.001Z', NULL, NULL), ('acme', 'e', ${time})`,
    );
    const times = await leads(
      'company_id, id, leadtap.to_ms(created_at) - leadtap.to_ms($$2024-05-01Z$$) AS ms',
    );
    expect(times.map(({ company_id, id, ms }) => [company_id, id, Number(ms)])).toEqual([
      ...['a', 'b', 'c', 'd', 'e'].map((id, ms) => ['acme', id, ms]),
      ['globex', 'a', 0],
    ]);
  });

  test('without a time is stamped like a new lead', async () => {
    await insertHistory(`('acme', 'a', NULL, '2024-05-01', 'mine')`);
    expect(await leads()).toMatchObject([
      { created_at: at(1), updated_at: at(1), automation_created_at: at(1) },
    ]);
  });

  test('ends with its transaction', async () => {
    await insertHistory(`('acme', 'a', '2024-05-01', NULL, NULL)`);
    await insert({ id: 'b', created_at: '2024-05-01' });
    expect(await leads('id, created_at')).toMatchObject([{ id: 'a' }, { id: 'b', created_at: at(1) }]);
  });
});
