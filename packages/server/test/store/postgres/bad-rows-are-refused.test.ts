import type { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connectSql, databaseWithCompanies, refusalOf } from './sql-client.ts';

/** A title, a row that breaks the rule, the SQLSTATE, and a row that keeps it. */
type Case = readonly [what: string, bad: string, state: string, good: string];

const [NOT_NULL, NO_SUCH, TAKEN, BROKEN, FROZEN] = ['23502', '23503', '23505', '23514', '23000'];

/** With SQL expressions as values. */
const insert = (table: string, row: Record<string, string>): string =>
  `INSERT INTO leadtap.${table} (${Object.keys(row).join(', ')}) VALUES (${Object.values(row).join(', ')})`;

const lead = (row: Record<string, string>) => insert('leads', { company_id: `'acme'`, ...row });
const history = (row: Record<string, string>) => `SET LOCAL leadtap.historical = 'on'; ${lead(row)}`;

const moved = (row: Record<string, string>) => {
  const time = `'2024-01-01'`;
  const brought = {
    created_at: time,
    updated_at: time,
    automation_created_at: time,
    automation_trigger_id: `'t'`,
  };
  return `SET LOCAL leadtap.historical = 'moved'; ${lead({ ...brought, ...row })}`;
};

/** Cases that differ in the value of one column. */
const values = (write: (row: Record<string, string>) => string, column: string, state: string) => ({
  bad: (...bad: string[]) => ({
    good: (good: string): Case[] =>
      bad.map((value) => [
        `${column} ${value}`.slice(0, 60),
        write({ [column]: value }),
        state,
        write({ [column]: good }),
      ]),
  }),
});

const LEADS: Case[] = [
  ...values(lead, 'company_id', NO_SUCH).bad(`'unknown'`, `''`, 'NULL').good(`'globex'`),
  ...values(lead, 'id', BROKEN).bad(`''`, `repeat('x', 201)`).good(`repeat('é', 200)`),
  ...values(lead, 'status_value', NO_SUCH)
    .bad(`'NOPE'`, `'won'`, `''`, `'W ON'`, `'1ST'`, `E'WON\\n'`, `repeat('W', 65)`)
    .good(`'WON'`),
  ...values(lead, 'branch_id', NO_SUCH).bad(`'west'`, `'sales'`, `''`).good(`'north'`),
  ...values(lead, 'department_id', NO_SUCH).bad(`'nothing'`, `'north'`).good(`'south-sales'`),
  ...['first_name', 'email', 'address_notes'].flatMap((column) =>
    values(lead, column, BROKEN).bad(`repeat('x', 10001)`).good(`repeat('x', 10000)`),
  ),
  ...values(lead, 'images', BROKEN)
    .bad(
      `array_fill('http://a'::text, ARRAY[51])`,
      `ARRAY['http://' || repeat('x', 2042)]`,
      ...[
        `ARRAY['']`,
        `ARRAY['javascript:alert(1)']`,
        `ARRAY['https://a b']`,
        `ARRAY['https://a', E'x\nhttp://a']`,
      ],
    )
    .good(`array_fill('HTTPS://' || repeat('x', 2040), ARRAY[50])`),
  ...values(lead, 'timeslot', BROKEN)
    .bad(`'24:00'`, `'9:30'`, `'09:60'`, `'09:30 '`, `E'09:30\\n'`, `'09:30:00'`, `''`, `'soon'`)
    .good(`'23:59'`),
  ...values(lead, 'custom_fields', BROKEN)
    .bad(
      `'[]'`,
      `'"text"'`,
      `'1'`,
      `'true'`,
      `'null'`,
      `'{"n": [-1e400]}'`,
      `jsonb_build_object('long', repeat('x', 98304))`,
      `(repeat('{"a":', 101) || '1' || repeat('}', 101))::jsonb`,
    )
    .good(`'{"a": [null]}'`),
  ...values(lead, 'custom_fields', '22P02').bad(`'{'`).good(`'{}'`),
  ...values(lead, 'images', BROKEN)
    .bad(`ARRAY['http://a', NULL]`, `ARRAY[['http://a'], ['http://b']]`)
    .good(`'[5:6]={http://a,http://b}'`),
  ...values(lead, 'appointment_date_time', BROKEN)
    .bad(
      `'infinity'`,
      `'-infinity'`,
      `'10000-01-01 00:00Z'`,
      `'9999-12-31 23:59:59.9996Z'`,
      `'0002-12-31 BC'`,
    )
    .good(`'9999-12-31 23:59:59.999Z'`),
  ...values(history, 'created_at', BROKEN)
    .bad(`'infinity'`, `'-infinity'`, `'10000-01-01 00:00Z'`, `now() + interval '2 minutes'`)
    .good(`'0001-01-01 BC'`),
  ...['updated_at', 'automation_created_at'].flatMap((column) =>
    values(moved, column, BROKEN).bad(`'infinity'`).good(`'2024-01-02'`),
  ),
  ...values(moved, 'automation_trigger_id', BROKEN).bad(`''`, `repeat('x', 65)`).good(`repeat('x', 64)`),
  [
    'a department of another branch',
    lead({ branch_id: `'south'`, department_id: `'sales'` }),
    NO_SUCH,
    lead({ branch_id: `'north'`, department_id: `'sales'` }),
  ],
  [
    'a department of another company',
    lead({ company_id: `'globex'`, department_id: `'service'` }),
    NO_SUCH,
    lead({ company_id: `'acme'`, department_id: `'service'` }),
  ],
  [
    'the same id again, with a department of another branch',
    lead({ id: `'known'`, branch_id: `'south'`, department_id: `'sales'` }),
    NO_SUCH,
    lead({ id: `'known'`, branch_id: `'south'`, department_id: `'south-sales'` }),
  ],
];

const update = (assignments: string) => `UPDATE leadtap.leads SET ${assignments} WHERE id = 'known'`;

const UPDATES: Case[] = [
  ...Object.entries({
    company_id: `'globex'`,
    id: `'other'`,
    created_at: `created_at - interval '1 ms'`,
    automation_trigger_id: `'other'`,
    automation_created_at: `now() + interval '1 day'`,
  }).map(
    ([column, value]): Case => [
      `another ${column}`,
      update(`${column} = ${value}`),
      FROZEN,
      update(`${column} = ${column}`),
    ],
  ),
  ['a frozen column among others', update(`first_name = 'x', id = NULL`), FROZEN, update(`first_name = 'x'`)],
  ['no status', update('status_value = NULL'), NOT_NULL, update(`status_value = 'WON'`)],
  ['no custom fields', update('custom_fields = NULL'), NOT_NULL, update(`custom_fields = '{}'`)],
  ['no images', update('images = NULL'), NOT_NULL, update(`images = '{}'`)],
  ['unknown department', update(`department_id = 'nothing'`), NO_SUCH, update(`department_id = 'service'`)],
  ['unknown branch', update(`branch_id = 'west'`), NO_SUCH, update(`branch_id = 'south'`)],
  [
    'a department of another branch than the new one',
    update(`branch_id = 'south', department_id = 'service'`),
    NO_SUCH,
    update(`branch_id = 'south', department_id = 'south-sales'`),
  ],
  [
    'a department without its branch',
    update(`branch_id = NULL, department_id = 'service'`),
    BROKEN,
    update('branch_id = NULL'),
  ],
];

const user = (row: Record<string, string>) =>
  insert('users', { id: `'u'`, company_id: `'acme'`, plan: `'BASIC'`, access_level: `'COMPANY'`, ...row });
const status = (row: Record<string, string>) =>
  insert('statuses', {
    company_id: `'acme'`,
    value: `'HOT'`,
    label: `''`,
    color: `''`,
    final: 'false',
    position: '9',
    ...row,
  });
const company = (row: Record<string, string>) => insert('companies', { id: `'new'`, name: `'New'`, ...row });
const branch = (row: Record<string, string>) =>
  insert('branches', { company_id: `'acme'`, id: `'b'`, name: `'B'`, ...row });
const department = (row: Record<string, string>) =>
  insert('departments', { company_id: `'acme'`, id: `'d'`, branch_id: `'north'`, name: `'D'`, ...row });
const token = (row: Record<string, string>) =>
  insert('issued_tokens', { id: `'t'`, user_id: `'boss'`, issued_at: 'now()', expires_at: 'now()', ...row });

const ORGANISATION: Case[] = [
  ...values(user, 'access_level', BROKEN).bad(`'OWNER'`, `'company'`, `''`).good(`'COMPANY'`),
  ...values(user, 'plan', BROKEN).bad(`'professional'`, `''`).good(`'PROFESSIONAL'`),
  ...values(user, 'id', TAKEN).bad(`'boss'`, `'rival'`).good(`'u'`),
  ...values(user, 'id', BROKEN).bad(`''`, `repeat('x', 201)`).good(`'u'`),
  ...values(user, 'company_id', NO_SUCH).bad(`'unknown'`).good(`'globex'`),
  ...values(user, 'branch_id', NO_SUCH).bad(`'west'`).good(`'south'`),
  ...values(user, 'department_id', NO_SUCH).bad(`'west'`).good(`'service'`),
  [
    'a user of a branch without one',
    user({ access_level: `'BRANCH'`, department_id: `'sales'` }),
    BROKEN,
    user({ access_level: `'BRANCH'`, branch_id: `'north'` }),
  ],
  [
    'a user of a department without one',
    user({ access_level: `'DEPARTMENT'`, branch_id: `'north'` }),
    BROKEN,
    user({ access_level: `'DEPARTMENT'`, department_id: `'sales'` }),
  ],
  [
    'a user in the department of another company',
    user({ company_id: `'globex'`, department_id: `'service'` }),
    NO_SUCH,
    user({ company_id: `'acme'`, department_id: `'service'` }),
  ],
  ...values(company, 'id', BROKEN).bad(`''`, `repeat('x', 201)`).good(`repeat('x', 200)`),
  ...values(company, 'id', TAKEN).bad(`'acme'`).good(`'Acme'`),
  ...values(company, 'name', BROKEN).bad(`''`).good(`'Acme'`),
  ...values(status, 'value', BROKEN).bad(`'hot'`).good(`'HOT_2'`),
  ...values(status, 'value', TAKEN).bad(`'NEW'`).good(`'NEWER'`),
  ...values(status, 'position', BROKEN).bad('-1').good('0'),
  ...values(status, 'company_id', NO_SUCH).bad(`'unknown'`).good(`'globex'`),
  ...values(branch, 'id', TAKEN).bad(`'north'`).good(`'North'`),
  ...values(branch, 'name', BROKEN).bad(`''`).good(`'North'`),
  ...values(branch, 'company_id', NO_SUCH).bad(`'unknown'`).good(`'globex'`),
  ...values(department, 'id', TAKEN).bad(`'sales'`).good(`'Sales'`),
  ...values(department, 'name', BROKEN).bad(`''`).good(`'Sales'`),
  ...values(department, 'branch_id', NO_SUCH).bad(`'west'`).good(`'south'`),
  ...values(token, 'expires_at', BROKEN).bad(`'infinity'`).good('now()'),
];

const REMOVALS: Case[] = [
  [
    'a status that a lead has',
    `DELETE FROM leadtap.statuses WHERE value = 'NEW'`,
    NO_SUCH,
    `DELETE FROM leadtap.statuses WHERE value = 'WON'`,
  ],
  [
    'a company that has anything',
    'DELETE FROM leadtap.companies',
    NO_SUCH,
    `${company({})}; DELETE FROM leadtap.companies WHERE id = 'new'`,
  ],
  [
    'a department that a lead is in',
    `DELETE FROM leadtap.departments WHERE (company_id, id) = ('acme', 'sales')`,
    NO_SUCH,
    `DELETE FROM leadtap.departments WHERE id = 'service'`,
  ],
  [
    'a department with leads to another branch',
    `UPDATE leadtap.departments SET branch_id = 'south' WHERE (company_id, id) = ('acme', 'sales')`,
    NO_SUCH,
    `UPDATE leadtap.departments SET branch_id = 'south' WHERE id = 'service'`,
  ],
  ['all companies at once', 'TRUNCATE leadtap.companies', '0A000', 'TRUNCATE leadtap.leads'],
];

const ends: (() => unknown)[] = [];
let client: Client;

beforeAll(async () => {
  const { url } = await databaseWithCompanies((end) => ends.push(end));
  client = await connectSql(url, (end) => ends.unshift(end));
  await client.query(lead({ id: `'known'`, department_id: `'sales'` }));
});
afterAll(async () => {
  for (const end of ends) await end();
});

/** Leaves nothing behind. */
async function tryOut(sql: string) {
  await client.query('BEGIN');
  const refusal = await refusalOf(client, sql);
  await client.query('ROLLBACK');
  return refusal;
}

describe.each([
  ['a lead', LEADS],
  ['a change of a lead', UPDATES],
  ['the organisation', ORGANISATION],
  ['what goes away', REMOVALS],
])('%s', (_about, cases) => {
  test.each(cases)('%s', async (_what, bad, state, good) => {
    expect((await tryOut(bad))?.code).toBe(state);
    expect((await tryOut(good))?.message).toBeUndefined();
  });
});

test.each([
  [lead({ company_id: `'unknown'` }), `there is no company 'unknown'`],
  [lead({ department_id: `'nothing'` }), `company 'acme' has no department 'nothing'`],
  [update(`department_id = 'nothing'`), `company 'acme' has no department 'nothing'`],
  [
    lead({ id: `'known'`, branch_id: `'south'`, department_id: `'sales'` }),
    `department 'sales' is not one of branch 'south'`,
  ],
])('the error of %s names the value', async (bad, message) => {
  expect(await tryOut(bad)).toMatchObject({ message, schema: 'leadtap', table: 'leads' });
});

test('the error for an unknown company says how to add it', async () => {
  expect((await tryOut(lead({ company_id: `'unknown'` })))?.hint).toContain('leadtap org apply');
});

test('a foreign key that the operator has added rejects a lead by its name', async () => {
  const { url, openStore } = await databaseWithCompanies();
  const client = await connectSql(url);
  await client.query('CREATE TABLE public.codes (code text PRIMARY KEY)');
  await client.query(
    'ALTER TABLE leadtap.leads ADD CONSTRAINT known_code FOREIGN KEY (postal_code) REFERENCES public.codes',
  );
  const store = await openStore();
  const { results } = await store.writeLeads([{ companyId: 'acme', id: '1', fields: { postalCode: '1' } }]);
  expect(results).toMatchObject([{ kind: 'rejected', problem: { constraint: 'known_code' } }]);
  await store.close();
});
