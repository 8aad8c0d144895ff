import type { Client } from 'pg';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { TestDatabase } from '../../../../testing/harness/database.ts';
import { terminal } from '../../cli/terminal.ts';
import { connectSql, databaseWithCompanies, refusalOf } from './sql-client.ts';

const NOON = Date.UTC(2026, 2, 2, 12);

let database: TestDatabase;
let client: Client;

beforeEach(async () => {
  database = await databaseWithCompanies();
  await database.stopClock(NOON);
  client = await connectSql(database.url);
});

/** A trigger for each row, with this body. */
const addTrigger = (name: string, when: string, body: string) =>
  client.query(`CREATE FUNCTION public.own() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${body} END $$;
    CREATE TRIGGER "${name}" ${when} ON leadtap.leads FOR EACH ROW EXECUTE FUNCTION public.own()`);

const insert = (id: string, companyId = 'acme') =>
  `INSERT INTO leadtap.leads (company_id, id) VALUES ('${companyId}', '${id}')`;

async function importLeads(...ids: readonly string[]) {
  const store = await database.openStore();
  onTestFinished(() => store.close());
  const { results } = await store.writeLeads(ids.map((id) => ({ companyId: 'acme', id, fields: {} })));
  return results;
}

/** The leads of a company by their stamps, as milliseconds after noon. */
async function leadsOf(companyId: string): Promise<unknown[]> {
  const { rows } = await client.query(
    `SELECT id, leadtap.to_ms(created_at) - $2 AS ms FROM leadtap.leads WHERE company_id = $1 ORDER BY created_at`,
    [companyId, NOON],
  );
  return rows.map(({ id, ms }) => [id, Number(ms)]);
}

const WAYS_IN = [
  ['INSERT', (id: string) => client.query(insert(id))],
  ['leads import', importLeads],
] as const;

describe.each(WAYS_IN)('with %s', (_way, add) => {
  test('a copy that an AFTER trigger makes in another company is stamped there', async () => {
    await addTrigger(
      'copy',
      'AFTER INSERT',
      `IF NEW.company_id = 'acme' THEN
         NEW.company_id := 'globex';
         INSERT INTO leadtap.leads SELECT NEW.*;
       END IF;
       RETURN NULL;`,
    );
    await client.query(
      `INSERT INTO leadtap.leads (company_id, id) SELECT 'globex', n::text FROM generate_series(1, 5) AS n`,
    );
    await add('a');
    expect(await leadsOf('acme')).toEqual([['a', 1]]);
    expect((await leadsOf('globex')).at(-1)).toEqual(['a', 6]);
  });

  test.each([
    ['company_id', `NEW.company_id := 'globex';`, 'globex', ['a', 2]],
    ['created_at', `NEW.created_at := '2001-01-01';`, 'acme', ['a', 1]],
    ['id', `NEW.id := 'b';`, 'acme', ['b', 1]],
    ['automation_created_at', `NEW.automation_created_at := '2001-01-01';`, 'acme', ['a', 1]],
  ])('what a BEFORE trigger makes of %s is what is stamped', async (_column, change, companyId, lead) => {
    await client.query(insert('first', 'globex'));
    await addTrigger('zz_change', 'BEFORE INSERT', `${change} RETURN NEW;`);
    await add('a');
    expect((await leadsOf(companyId)).at(-1)).toEqual(lead);
  });

  test('the branch follows the department that a BEFORE trigger gives', async () => {
    await addTrigger('zz_change', 'BEFORE INSERT', `NEW.department_id := 'south-sales'; RETURN NEW;`);
    await add('a');
    const { rows } = await client.query('SELECT branch_id, department_id FROM leadtap.leads');
    expect(rows).toEqual([{ branch_id: 'south', department_id: 'south-sales' }]);
  });
});

describe('a BEFORE trigger that would fire after the stamp', () => {
  test.each([
    ['INSERT', 'BEFORE INSERT', insert('b')],
    ['UPDATE', 'BEFORE UPDATE', `UPDATE leadtap.leads SET first_name = 'x'`],
    ['INSERT of a known id', 'BEFORE UPDATE', insert('a')],
  ])('%s is refused, and the error says what to do', async (_what, when, statement) => {
    await client.query(insert('a'));
    await addTrigger('~~late', when, `NEW.company_id := 'globex'; RETURN NEW;`);
    const refusal = await refusalOf(client, statement);
    expect(refusal).toMatchObject({
      code: 'LT001',
      message: expect.stringContaining('trigger "~~late" on leadtap.leads would fire after'),
      hint: expect.stringContaining('ALTER TRIGGER "~~late" ON leadtap.leads RENAME TO'),
    });
    await client.query(`ALTER TABLE leadtap.leads DISABLE TRIGGER "~~late"`);
    await client.query(statement);
  });

  test('stops an import with the same advice', async () => {
    await addTrigger('~~late', 'BEFORE INSERT', 'RETURN NEW;');
    const { code, stderr } = await terminal().run('leads import -', {
      env: database.env,
      stdin: '{"companyId":"acme","phone1":"1"}',
    });
    expect(code).toBe(1);
    expect(stderr).toContain('trigger "~~late" on leadtap.leads would fire after "~leads_before_insert"');
    expect(stderr).toContain('ALTER TRIGGER … ON leadtap.leads RENAME TO …');
    expect(stderr).not.toContain('unexpected error');
  });

  test('may stay when it is an AFTER trigger', async () => {
    await addTrigger('~~late', 'AFTER INSERT OR UPDATE', 'RETURN NULL;');
    await client.query(`${insert('a')}; ${insert('a')}`);
    expect(await leadsOf('acme')).toEqual([['a', 1]]);
  });
});

test('the same id again is accepted when a trigger suppresses the update', async () => {
  await client.query(`CREATE TRIGGER a_suppress BEFORE UPDATE ON leadtap.leads
    FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()`);
  await client.query(`${insert('a')}; ${insert('a')}`);
  expect(await leadsOf('acme')).toEqual([['a', 1]]);
});

describe('the result of a write', () => {
  test('says which leads a BEFORE trigger has suppressed', async () => {
    await addTrigger('filter', 'BEFORE INSERT', `RETURN CASE NEW.id WHEN 'spam' THEN NULL ELSE NEW END;`);
    expect(await importLeads('a', 'spam', 'b')).toEqual([
      { kind: 'added', id: 'a', createdAt: NOON + 1 },
      { kind: 'rejected', problem: { field: 'id', reason: 'not-stored', value: 'spam' } },
      { kind: 'added', id: 'b', createdAt: NOON + 2 },
    ]);
    expect(await leadsOf('acme')).toEqual([
      ['a', 1],
      ['b', 2],
    ]);
  });

  test('has the id that a BEFORE trigger gives to a lead', async () => {
    await addTrigger('rename', 'BEFORE INSERT', `NEW.id := 'crm-' || NEW.id; RETURN NEW;`);
    expect(await importLeads('a')).toEqual([{ kind: 'added', id: 'crm-a', createdAt: NOON + 1 }]);
  });
});
