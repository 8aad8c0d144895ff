import { openPostgresStore } from 'leadtap';
import type { Client } from 'pg';
import { beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { ORGANISATION } from '../../../../testing/harness/organisation.ts';
import { migratePostgres } from '../../../src/store/postgres/store.ts';
import { ownCluster } from './own-cluster.ts';
import { connectSql } from './sql-client.ts';

/** No role, function or setting gets a row past the trigger. */
const { address, sql, emptyDatabase } = ownCluster();
let name: string;

beforeAll(async () => {
  await migratePostgres(address('postgres', 'postgres'));
  await sql(`CREATE ROLE app LOGIN IN ROLE leadtap_service; CREATE ROLE crm LOGIN IN ROLE leadtap_writer;
    CREATE ROLE keeper LOGIN IN ROLE leadtap_owner; CREATE ROLE plain LOGIN; ALTER ROLE leadtap_owner LOGIN`);
});

async function prepare(login: string): Promise<void> {
  const store = await openPostgresStore({ url: address(login, name), connections: 2 });
  await store.applyOrganisation(ORGANISATION);
  await store.close();
}

beforeEach(async () => {
  name = await emptyDatabase();
});

/** A row with everything that the trigger would supply, and a time that no new lead can have. */
const FORGED = `INSERT INTO leadtap.leads (company_id, id, created_at, status_value, custom_fields, images, same_day, updated_at,
    automation_trigger_id, automation_created_at)
  VALUES ('acme', 'forged', '2001-01-01', 'NEW', '{}', '{}', false, '2001-01-01', 'mine', '2001-01-01')`;

async function isStamped(client: Client): Promise<boolean> {
  const { rows } = await client.query(
    `SELECT created_at > now() - interval '1 minute' AND automation_trigger_id <> 'mine' AS stamped FROM leadtap.leads`,
  );
  expect(rows).toHaveLength(1);
  return rows[0].stamped;
}

describe('a forged row is stamped when it is inserted by', () => {
  test.each([
    ['the superuser', 'postgres', ''],
    ['the superuser in the name of the owner', 'postgres', 'SET ROLE leadtap_owner'],
    ['the superuser for the owner', 'postgres', 'SET SESSION AUTHORIZATION leadtap_owner'],
    ['the owner itself', 'leadtap_owner', ''],
    ['a member of the owner', 'keeper', ''],
    ['a member in the name of the owner', 'keeper', 'SET ROLE leadtap_owner'],
    ['the service', 'app', ''],
    ['a writer', 'crm', ''],
    [
      'a writer with settings',
      'crm',
      `SET leadtap.role = 'leadtap_owner'; SET leadtap.who = 'leadtap_owner'`,
    ],
  ])('%s', async (_who, login, before) => {
    await prepare('postgres');
    const client = await connectSql(address(login, name));
    await client.query(`${before}; ${FORGED}`);
    expect(await isStamped(client)).toBe(true);
  });

  test('a function with the rights of the owner', async () => {
    await prepare('postgres');
    const client = await connectSql(address('crm', name));
    await sql(
      `CREATE FUNCTION public.forge() RETURNS void LANGUAGE sql SECURITY DEFINER AS $$ ${FORGED} $$;
       ALTER FUNCTION public.forge() OWNER TO leadtap_owner`,
      name,
    );
    await client.query('SELECT public.forge()');
    expect(await isStamped(client)).toBe(true);
  });

  test('the owner of a schema that leadtap_owner does not own', async () => {
    await sql(`GRANT CREATE ON DATABASE ${name} TO plain`);
    await prepare('plain');
    const client = await connectSql(address('plain', name));
    await client.query(FORGED);
    expect(await isStamped(client)).toBe(true);
  });
});

test('where leadtap_owner is not the owner, batches end as they do elsewhere', async () => {
  await sql(`GRANT CREATE ON DATABASE ${name} TO plain`);
  await prepare('plain');
  const store = await openPostgresStore({ url: address('plain', name), connections: 2 });
  onTestFinished(() => store.close());
  const leads = ['a', 'b', 'a'].map((id) => ({ companyId: 'acme', id, fields: { firstName: id } }));
  const outcome = await store.writeLeads(leads);
  expect(outcome).toMatchObject({ results: [{ kind: 'added' }, { kind: 'added' }, { kind: 'updated' }] });
  const past = ['c', 'd'].map((id) => ({ companyId: 'acme', id, createdAt: 1000, fields: {} }));
  expect(await store.writeLeads(past, { historical: true })).toMatchObject({
    results: [{ createdAt: 1000 }, { createdAt: 1001 }],
  });
});
