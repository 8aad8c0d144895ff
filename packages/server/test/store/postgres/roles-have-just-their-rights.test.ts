import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { openPostgresStore, type RefusedLeadWithBody } from 'leadtap';
import type { Client } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { isRevoked } from '../../../../store-conformance/src/sample.ts';
import { ORGANISATION } from '../../../../testing/harness/organisation.ts';
import { migratePostgres } from '../../../src/store/postgres/store.ts';
import { openPostgresMoveTarget } from '../../../src/store/postgres/transfer-target.ts';
import { untilChangesAreTracked } from '../../cache/support/change-tracking.ts';
import { ownCluster } from './own-cluster.ts';
import { connectSql, refusalOf } from './sql-client.ts';

const NO_RIGHT = '42501';

const { address, sql, emptyDatabase } = ownCluster();
let name: string;

beforeAll(async () => {
  // It makes the roles.
  await migratePostgres(address('postgres', 'postgres'));
  await sql(`CREATE ROLE app LOGIN IN ROLE leadtap_service; CREATE ROLE crm LOGIN IN ROLE leadtap_writer;
    CREATE ROLE stranger LOGIN`);
});

beforeEach(async () => {
  name = await emptyDatabase();
  await migratePostgres(address('postgres', name));
});

async function openAsService() {
  const store = await openPostgresStore({ url: address('app', name), connections: 2, migrate: false });
  onTestFinished(() => store.close());
  return store;
}

async function withLead(login: string): Promise<Client> {
  const store = await openAsService();
  await store.applyOrganisation(ORGANISATION);
  await store.writeLeads([{ companyId: 'acme', id: 'x', departmentId: 'sales', fields: {} }]);
  return connectSql(address(login, name));
}

const CHANGES_OF_THE_SCHEMA = [
  'ALTER TABLE leadtap.leads ADD COLUMN mine text',
  'ALTER TABLE leadtap.leads DISABLE TRIGGER "~leads_before_insert"',
  'ALTER TABLE leadtap.leads DISABLE TRIGGER ALL',
  'SET session_replication_role = replica',
  'DROP TRIGGER "~leads_before_insert" ON leadtap.leads',
  'DROP TABLE leadtap.leads',
  'DROP SCHEMA leadtap CASCADE',
  'TRUNCATE leadtap.leads',
  'CREATE TABLE leadtap.mine (x integer)',
  'CREATE FUNCTION leadtap.mine() RETURNS integer LANGUAGE sql RETURN 1',
  'CREATE OR REPLACE FUNCTION leadtap.clock_ms() RETURNS bigint LANGUAGE sql RETURN 1::bigint',
  'ALTER FUNCTION leadtap.leads_before_insert() SECURITY INVOKER',
  `INSERT INTO leadtap.migrations (version, name) VALUES (99, 'mine')`,
  'DELETE FROM leadtap.migrations',
  'DELETE FROM leadtap.companies',
  'DELETE FROM leadtap.branches',
  'DELETE FROM leadtap.departments',
  // An instance that misses a change would answer with stale data.
  'DELETE FROM leadtap.changes',
  `UPDATE leadtap.changes SET kind = 'leads-appended'`,
  `INSERT INTO leadtap.changes (kind, id) VALUES ('all', '')`,
  `SELECT leadtap.log_change('all', '')`,
  `UPDATE leadtap.change_log_state SET pruned_below = '3'`,
  'UPDATE leadtap.server_epoch SET id = gen_random_uuid()',
  'SET ROLE leadtap_owner',
  `CREATE TEMP TABLE mine (LIKE leadtap.leads);
   CREATE TRIGGER mine BEFORE INSERT ON mine FOR EACH ROW EXECUTE FUNCTION leadtap.leads_before_insert()`,
];

async function statesOf(client: Client, statements: readonly string[]) {
  const states: Record<string, string | undefined> = {};
  for (const statement of statements) states[statement] = (await refusalOf(client, statement))?.code;
  return states;
}

const allRefused = (statements: readonly string[]) =>
  Object.fromEntries(statements.map((statement) => [statement, NO_RIGHT]));

describe('leadtap_service', () => {
  test('can do all that the service does', async () => {
    const store = await openAsService();
    expect(await store.applyOrganisation(ORGANISATION)).toMatchObject({ kind: 'applied' });
    // Again, with a status less and another name.
    const [acme] = ORGANISATION.companies;
    const statuses = [{ value: 'NEW', label: 'New', color: '#000000', final: false }];
    const renamed = { companies: acme ? [{ ...acme, name: 'Acme & Co', statuses }] : [] };
    expect(await store.applyOrganisation(renamed)).toMatchObject({ kind: 'applied' });

    const written = await store.writeLeads([
      { companyId: 'acme', id: 'x', departmentId: 'sales', fields: {} },
    ]);
    expect(written).toMatchObject({ results: [{ kind: 'added' }] });
    const again = { companyId: 'acme', id: 'x', fields: { firstName: 'Ada' } };
    expect(await store.writeLeads([again])).toMatchObject({ results: [{ kind: 'updated' }] });
    const old = { companyId: 'acme', id: 'old', createdAt: 1000, fields: {} };
    expect(await store.writeLeads([old], { historical: true })).toMatchObject({
      results: [{ createdAt: 1000 }],
    });

    const department = { level: 'DEPARTMENT', companyId: 'acme', departmentId: 'sales' } as const;
    expect(await store.findUser('seller')).toMatchObject({ departmentId: 'sales' });
    expect(await store.readPage({ scope: department, limit: 10 })).toMatchObject({ leads: [{ id: 'x' }] });
    const company = { level: 'COMPANY', companyId: 'acme' } as const;
    expect(await store.readPage({ scope: company, limit: 10 })).toMatchObject({
      leads: [{ id: 'x' }, { id: 'old' }],
    });

    await store.recordTokens([
      { id: 't', userId: 'boss', name: null, issuedAt: 0, expiresAt: 1, scopes: ['leads:read'] },
    ]);
    expect([await store.revokeToken('t'), await store.revokeToken('t')]).toEqual([true, false]);
    expect(await isRevoked(store, 't')).toBe(true);
    expect(await store.findToken('t')).toMatchObject({ userId: 'boss' });
    expect(await store.listTokens('boss')).toHaveLength(1);

    expect(await store.updateUser('boss', { plan: 'BASIC' })).toMatchObject({ kind: 'updated' });
    expect(await store.removeUser('boss')).toBe(true);
    expect(await store.listUsers(undefined, 10)).toHaveLength(6);
    expect(await store.organisation.readCompany('acme')).toMatchObject({ name: 'Acme & Co' });
    expect(await store.organisation.readUsers('acme', undefined, 10)).toHaveLength(3);
    await store.ping();
    expect((await store.status()).latestStamp).toBeGreaterThan(1000);
  });

  test('can erase and prune leads, and add an erased lead again', async () => {
    const store = await openAsService();
    await store.applyOrganisation(ORGANISATION);
    const lead = { companyId: 'acme', id: 'x', fields: { email: 'ada@example.com' } };
    await store.writeLeads([lead]);
    const { removal } = store;
    const found = (await removal.scan({ emails: ['ADA@example.com'], phones: [] }, undefined)).leads;
    expect(await removal.erase(found)).toBe(1);
    expect(await store.writeLeads([lead])).toMatchObject({ results: [{ kind: 'rejected' }] });
    expect(await store.writeLeads([lead], { allowErased: true })).toMatchObject({
      results: [{ kind: 'added' }],
    });
    expect(await removal.prune('acme', Date.now() + 60_000, 10)).toBe(1);
  });

  test('can subscribe, claim, settle, list, remove and prune hooks', async () => {
    const { applyOrganisation, hooks } = await openAsService();
    await applyOrganisation(ORGANISATION);
    const hook = {
      userId: 'boss',
      tokenId: 't',
      tokenExpiresAt: 1000,
      url: 'https://a',
      send: 'event',
      baseUrl: 'https://b',
      since: undefined,
    } as const;
    expect(await hooks.subscribe({ id: 'a', ...hook }, 2)).toMatchObject({ kind: 'created' });
    await hooks.subscribe({ id: 'b', ...hook, url: 'https://c' }, 2);
    expect(await hooks.claim({ claimMs: 3, companies: 'all', limit: 2 })).toEqual([]);
    const listed = await hooks.list({ now: 2, limit: 2 });
    expect(listed).toHaveLength(2);
    await hooks.settle(listed.map(({ hook }) => ({ claimed: hook, progress: hook })));
    expect(await hooks.remove('a')).toBe(true);
    expect(await hooks.prune(1000)).toBe(1);
  });

  test('can keep, count up, find and delete refused leads', async () => {
    const { applyOrganisation, refusedLeads } = await openAsService();
    await applyOrganisation(ORGANISATION);
    const refused: RefusedLeadWithBody = {
      ...{
        id: 'a',
        companyId: 'acme',
        userId: 'boss',
        tokenId: 't',
        source: null,
        client: null,
        answerMap: null,
      },
      ...{
        timeZone: null,
        receivedAt: 1000,
        lastAt: 1000,
        times: 1,
        code: 'invalid-lead' as const,
        errors: [],
      },
      ...{ mediaType: 'application/json', body: Buffer.from('{}'), bodyHash: 'b' },
    };
    await refusedLeads.record([refused]);
    await refusedLeads.record([refused]);
    expect(await refusedLeads.find('a')).toMatchObject({ times: 2 });
    const { companyId, userId, source, lastAt: at, bodyHash } = refused;
    expect(await refusedLeads.removeAccepted([{ companyId, userId, source, at, bodyHash }])).toBe(1);
  });

  test('can be the login of a move, which keeps the stamps of deleted companies', async () => {
    const target = await openPostgresMoveTarget(address('app', name));
    const stamp = Date.now() + 3_600_000;
    await target.raiseStamps([{ companyId: 'acme', stamp }]);
    await target.close();
    const store = await openAsService();
    await store.applyOrganisation(ORGANISATION);
    expect(await store.writeLeads([{ companyId: 'acme', id: 'x', fields: {} }])).toMatchObject({
      results: [{ createdAt: stamp + 1 }],
    });
  });

  test('can revalidate, and gets the changes', async () => {
    const store = await openAsService();
    await store.applyOrganisation(ORGANISATION);
    await untilChangesAreTracked(store);
    const request = { companies: ['acme'], tokens: [{ userId: 'seller', tokenId: 't' }] };
    const before = await store.changeTracking.revalidate(request, undefined);
    expect(before?.accounts).toMatchObject([{ isRevoked: false, user: { departmentId: 'sales' } }]);
    await store.writeLeads([{ companyId: 'acme', id: 'x', departmentId: 'sales', fields: {} }]);
    const after = await store.changeTracking.revalidate(request, before?.seen);
    expect(after?.changes).toEqual([{ kind: 'leads-appended', id: 'acme' }]);
    const scope = { level: 'DEPARTMENT', companyId: 'acme', departmentId: 'sales' } as const;
    expect(await store.changeTracking.readLeads({ scope, limit: 10 })).toMatchObject([
      { json: expect.stringContaining('"id":"x"') },
    ]);
  });

  test('can do no more', async () => {
    const client = await withLead('app');
    const statements = [
      ...CHANGES_OF_THE_SCHEMA,
      // What is revoked stays revoked.
      'DELETE FROM leadtap.revoked_tokens',
      `UPDATE leadtap.revoked_tokens SET token_id = 'other'`,
      // A token is renamed and renewed, and stays that of its user.
      `UPDATE leadtap.issued_tokens SET user_id = 'other'`,
      `UPDATE leadtap.issued_tokens SET expires_at = 'infinity'`,
    ];
    expect(await statesOf(client, statements)).toEqual(allRefused(statements));
  });
});

describe('leadtap_writer', () => {
  test('can write leads in every way', async () => {
    const client = await withLead('crm');
    await client.query(
      `INSERT INTO leadtap.leads (company_id, id, department_id) VALUES ('acme', 'y', 'sales')`,
    );
    await client.query(`INSERT INTO leadtap.leads (company_id, id, first_name) VALUES ('acme', 'x', 'Ada')
      ON CONFLICT (company_id, id) DO UPDATE SET first_name = excluded.first_name`);
    const copy = client.query(copyFrom('COPY leadtap.leads (company_id, id) FROM STDIN'));
    await pipeline(Readable.from(['acme\tz\n', 'acme\tw\n']), copy);
    await client.query(`BEGIN; SET LOCAL leadtap.historical = 'on';
      INSERT INTO leadtap.leads (company_id, id, created_at) VALUES ('acme', 'old', '2024-05-01'); COMMIT`);
    await client.query(`UPDATE leadtap.leads SET department_id = 'service' WHERE id = 'y'`);
    await client.query(`DELETE FROM leadtap.leads WHERE id = 'w'`);
    const { rows } = await client.query(
      'SELECT id, first_name, department_id AS in FROM leadtap.leads ORDER BY id',
    );
    expect(rows).toEqual([
      { id: 'old', first_name: null, in: null },
      { id: 'x', first_name: 'Ada', in: 'sales' },
      { id: 'y', first_name: null, in: 'service' },
      { id: 'z', first_name: null, in: null },
    ]);
    for (const table of ['companies', 'branches', 'departments', 'statuses'])
      expect((await client.query(`SELECT FROM leadtap.${table}`)).rowCount).toBeGreaterThan(0);
  });

  test('can do no more', async () => {
    const client = await withLead('crm');
    const statements = [
      ...CHANGES_OF_THE_SCHEMA,
      ...[
        'users',
        'issued_tokens',
        'revoked_tokens',
        'migrations',
        'erased_leads',
        'connections',
        'hooks',
        'refused_leads',
        'idempotency_keys',
        'lead_moves',
        'deliveries',
      ].map((table) => `SELECT FROM leadtap.${table}`),
      `SELECT leadtap.revalidate('{}', '{boss}', '{t}', NULL)`,
      'SELECT leadtap.prune_changes()',
      `INSERT INTO leadtap.companies (id, name) VALUES ('mine', 'Mine')`,
      `UPDATE leadtap.companies SET name = 'Mine'`,
      'UPDATE leadtap.companies SET stamp_floor = NULL, last_writer = NULL',
      `UPDATE leadtap.statuses SET label = 'Mine'`,
      'DELETE FROM leadtap.erased_leads',
      `INSERT INTO leadtap.branches (company_id, id, name) VALUES ('acme', 'mine', 'Mine')`,
      `UPDATE leadtap.departments SET branch_id = 'south'`,
      `INSERT INTO leadtap.revoked_tokens (token_id, revoked_at) VALUES ('t', now())`,
      'SELECT FROM leadtap.companies FOR UPDATE',
    ];
    expect(await statesOf(client, statements)).toEqual(allRefused(statements));
  });

  /** Objects that the triggers use, in a schema that the writer puts before pg_catalog. */
  const SHADOWS = [
    'current_setting(text, boolean) RETURNS text',
    'set_config(text, text, boolean) RETURNS text',
    'string_to_array(text, text) RETURNS text[]',
    'array_to_string(text[], text) RETURNS text',
    'pg_advisory_xact_lock(integer, integer) RETURNS void',
    'pg_current_xact_id() RETURNS xid8',
    'clock_timestamp() RETURNS timestamptz',
    'gen_random_uuid() RETURNS uuid',
    'hashtext(text) RETURNS integer',
    'char_length(text) RETURNS integer',
    'jsonb_typeof(jsonb) RETURNS text',
    'to_jsonb(anyelement) RETURNS jsonb',
    'equal(text, text) RETURNS boolean',
    'later(timestamptz, timestamptz) RETURNS boolean',
  ];

  test('cannot use the rights of the triggers through objects of the same names', async () => {
    const client = await withLead('crm');
    await sql(`GRANT CREATE, TEMPORARY ON DATABASE ${name} TO crm`);
    const shadows = SHADOWS.map(
      (shadow) => `CREATE FUNCTION mine.${shadow} LANGUAGE plpgsql AS $$ BEGIN RAISE 'called'; END $$;`,
    );
    await client.query(`CREATE SCHEMA mine; GRANT USAGE ON SCHEMA mine TO PUBLIC; ${shadows.join('\n')}
      CREATE OPERATOR mine.= (LEFTARG = text, RIGHTARG = text, FUNCTION = mine.equal);
      CREATE OPERATOR mine.<> (LEFTARG = text, RIGHTARG = text, FUNCTION = mine.equal);
      CREATE OPERATOR mine.> (LEFTARG = timestamptz, RIGHTARG = timestamptz, FUNCTION = mine.later);
      CREATE TEMP TABLE deleted (company_id text, created_at timestamptz);
      SET search_path = mine, pg_catalog`);
    expect((await refusalOf(client, `SELECT 'a'::text = 'b'::text`))?.message).toBe('called');
    await client.query(`INSERT INTO leadtap.leads (company_id, id, department_id) VALUES ('acme', 'y', 'sales');
      INSERT INTO leadtap.leads (company_id, id, first_name) VALUES ('acme', 'y', 'Ada');
      UPDATE leadtap.leads SET department_id = 'south-sales';
      BEGIN;
      SELECT pg_catalog.set_config('leadtap.historical', 'on', true);
      INSERT INTO leadtap.leads (company_id, id, created_at) VALUES ('acme', 'old', '2024-05-01'), ('acme', 'older', '2024-05-01');
      COMMIT;
      DELETE FROM leadtap.leads`);
    const owner = await connectSql(address('postgres', name));
    expect((await owner.query('SELECT FROM leadtap.deleted_stamps')).rows).toHaveLength(1);
  });
});

describe('any other role', () => {
  test('has no right at all', async () => {
    const client = await withLead('stranger');
    const statements = [
      ...['companies', 'leads', 'users', 'migrations'].map((table) => `SELECT FROM leadtap.${table}`),
      `INSERT INTO leadtap.leads (company_id) VALUES ('acme')`,
      'SELECT leadtap.clock_ms()',
      'CREATE FUNCTION leadtap.mine() RETURNS integer LANGUAGE sql RETURN 1',
    ];
    expect(await statesOf(client, statements)).toEqual(allRefused(statements));
  });

  test('cannot call functions with the rights of the owner, even with USAGE on the schema', async () => {
    const client = await connectSql(address('postgres', name));
    const { rows } = await client.query(
      `SELECT p.proname, has_function_privilege('public', p.oid, 'EXECUTE') AS open, p.proconfig
         FROM pg_proc AS p WHERE p.pronamespace = 'leadtap'::regnamespace AND p.prosecdef`,
    );
    expect(rows.length).toBeGreaterThan(0);
    for (const row of rows)
      expect(row).toMatchObject({
        open: false,
        proconfig: expect.arrayContaining(['search_path=pg_catalog, pg_temp']),
      });
  });
});
