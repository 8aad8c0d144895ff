import type { Store } from 'leadtap';
import type { Client } from 'pg';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { openPostgresStore } from '../../../src/store/postgres/store.ts';
import { connectSql, databaseWithCompanies } from './sql-client.ts';

let client: Client;
let store: Store;

/** One connection, so that each query uses the plans of the ones before it. */
beforeEach(async () => {
  const { url } = await databaseWithCompanies();
  client = await connectSql(url);
  store = await openPostgresStore({ url, connections: 1 });
  onTestFinished(() => store.close());
});

const write = (id: string, firstName: string) =>
  store.writeLeads([{ companyId: 'acme', id, fields: { firstName } }]);

const SCOPES = [
  { level: 'COMPANY', companyId: 'acme' },
  { level: 'BRANCH', companyId: 'acme', branchId: 'north' },
  { level: 'DEPARTMENT', companyId: 'acme', departmentId: 'sales' },
] as const;

async function pollAll(): Promise<string[]> {
  const pages = [];
  for (const scope of SCOPES)
    for (const since of [{}, { since: 0 }]) pages.push(await store.readPage({ scope, ...since, limit: 100 }));
  return pages[1]?.leads.map(({ id, firstName }) => `${id} ${firstName}`) ?? [];
}

/** Statements between the two are planned with the column. */
async function addAndDropColumn(): Promise<void> {
  await client.query('ALTER TABLE leadtap.leads ADD COLUMN note text');
  await write('a', 'Ada');
  await write('b', 'Bea');
  await pollAll();
  await store.ping();
  await client.query('ALTER TABLE leadtap.leads DROP COLUMN note');
}

test('polls and writes succeed after a column was added and dropped', async () => {
  await addAndDropColumn();
  expect(await pollAll()).toEqual(['a Ada', 'b Bea']);
  await write('b', 'Bob');
  await write('c', 'Cy');
  expect(await pollAll()).toEqual(['a Ada', 'b Bob', 'c Cy']);
});

/** As an operator's own function may do: its plan holds whole rows of the table. */
const HOLDS_ROWS = `
  CREATE FUNCTION public.count_leads() RETURNS bigint LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
  DECLARE
    page leadtap.leads[] := ARRAY(SELECT l FROM leadtap.leads AS l);
  BEGIN
    RETURN (SELECT count(l.id) FROM unnest(page) AS l);
  END $$;`;

describe('a plan that does not survive the drop is made again', () => {
  test('for a poll', async () => {
    await client.query(`${HOLDS_ROWS}
      ALTER FUNCTION leadtap.last_stamp(text) RENAME TO last_stamp_before;
      CREATE FUNCTION leadtap.last_stamp(company text) RETURNS timestamptz LANGUAGE plpgsql AS $$
      BEGIN
        PERFORM public.count_leads();
        RETURN leadtap.last_stamp_before(company);
      END $$`);
    await addAndDropColumn();
    await store.ping();
    expect(await pollAll()).toEqual(['a Ada', 'b Bea']);
  });

  test('for a writer', async () => {
    await client.query(`${HOLDS_ROWS}
      CREATE FUNCTION public.own() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM public.count_leads(); RETURN NULL; END $$;
      CREATE TRIGGER own AFTER INSERT ON leadtap.leads FOR EACH ROW EXECUTE FUNCTION public.own()`);
    await addAndDropColumn();
    await write('c', 'Cy');
    expect(await pollAll()).toEqual(['a Ada', 'b Bea', 'c Cy']);
  });
});
