import { LEAD_FIELDS } from '@leadtap/contract';
import type { Client } from 'pg';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { FULL } from '../../../../store-conformance/src/fields.ts';
import type { TestDatabase } from '../../../../testing/harness/database.ts';
import { type ColumnKind, FIELD_COLUMNS, LEAD_COLUMNS } from '../../../src/leads/row.ts';
import { connectSql, databaseWithCompanies } from './sql-client.ts';

const PLACES = ['company_id', 'branch_id', 'department_id'];

let database: TestDatabase;
let client: Client;

beforeEach(async () => {
  database = await databaseWithCompanies();
  client = await connectSql(database.url);
});

/** The types of PostgreSQL, by `udt_name`; `leadtap.moment` is a domain over timestamptz. */
const TYPES: Record<ColumnKind, string> = {
  text: 'text',
  boolean: 'bool',
  time: 'timestamptz',
  json: 'jsonb',
  texts: '_text',
};

test('the table leadtap.leads has the columns of LEAD_FIELDS, and no others', async () => {
  const { rows } = await client.query(
    `SELECT column_name, udt_name FROM information_schema.columns WHERE table_schema = 'leadtap' AND table_name = 'leads'`,
  );
  const actual = rows.map(({ column_name, udt_name }) => `${column_name} ${udt_name}`);
  const expected = [
    ...PLACES.map((column) => `${column} text`),
    ...LEAD_COLUMNS.map(({ column, kind }) => `${column} ${TYPES[kind]}`),
  ];
  expect(actual.sort()).toEqual(expected.sort());
});

test('no text of a lead is unlimited, and none is copied into the statistics of PostgreSQL', async () => {
  const { rows } = await client.query(
    `SELECT a.attname AS column, a.attstattarget AS statistics,
            EXISTS (SELECT FROM pg_constraint AS c WHERE c.conrelid = a.attrelid AND c.contype = 'c'
                     AND pg_get_constraintdef(c.oid) LIKE '%char_length(' || a.attname || ')%') AS limited
       FROM pg_attribute AS a WHERE a.attrelid = 'leadtap.leads'::regclass AND a.attnum > 0`,
  );
  const problems = LEAD_FIELDS.flatMap(({ column, type, default: byDefault }) => {
    const found = rows.find((row) => row.column === column);
    if (byDefault === undefined || !found) return [];
    const isText = type === 'text' || type === 'email';
    const isPersonal = isText || type === 'object' || type === 'urls';
    return [
      ...(isText && !found.limited ? [`${column} has no CHECK of char_length`] : []),
      ...(isPersonal && found.statistics !== 0 ? [`${column} needs SET STATISTICS 0`] : []),
    ];
  });
  expect(problems).toEqual([]);
});

test('leadtap.leads_before_insert updates every column when the id exists', async () => {
  const store = await database.openStore();
  onTestFinished(() => store.close());
  // As the store writes it, so that this test needs no value for each column.
  await store.writeLeads([{ companyId: 'acme', id: 'full', fields: FULL }]);
  await client.query(`INSERT INTO leadtap.leads (company_id, id) VALUES ('acme', 'copy')`);
  const forgotten: string[] = [];
  for (const { column } of FIELD_COLUMNS) {
    await client.query(
      `INSERT INTO leadtap.leads (company_id, id, ${column})
       SELECT company_id, 'copy', ${column} FROM leadtap.leads WHERE id = 'full'`,
    );
    const { rows } = await client.query(
      `SELECT FROM leadtap.leads AS c, leadtap.leads AS f WHERE c.id = 'copy' AND f.id = 'full' AND c.${column} = f.${column}`,
    );
    if (rows.length === 0) forgotten.push(`leadtap.leads_before_insert does not update ${column}`);
  }
  expect(forgotten).toEqual([]);
});

test('leadtap.leads_before_insert gives every column its default', async () => {
  const columns = FIELD_COLUMNS.map(({ column }) => column);
  const nulls = columns.map(() => 'NULL').join(', ');
  await client.query(
    `INSERT INTO leadtap.leads (company_id, ${columns.join(', ')}) VALUES ('acme', ${nulls})`,
  );
  const { rows } = await client.query('SELECT * FROM leadtap.leads');
  const defaults = LEAD_FIELDS.flatMap(({ column, default: byDefault }) =>
    column !== undefined && byDefault !== undefined ? [[column, byDefault]] : [],
  );
  expect(rows).toMatchObject([Object.fromEntries(defaults)]);
});

test('leadtap.read_page returns every field', async () => {
  const store = await database.openStore();
  onTestFinished(() => store.close());
  await store.writeLeads([{ companyId: 'acme', fields: FULL }]);
  const { leads } = await store.readPage({ scope: { level: 'COMPANY', companyId: 'acme' }, limit: 1 });
  const forgotten = LEAD_FIELDS.filter(
    ({ name }) => name !== 'statusValue' && leads[0]?.[name] === undefined,
  ).map(({ column }) => `leadtap.read_page does not return ${column}`);
  expect(forgotten).toEqual([]);
});
