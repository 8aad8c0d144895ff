import { Client } from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { bare, user } from '../../../../store-conformance/src/sample.ts';
import { makeTestDatabase } from '../../../../testing/harness/database.ts';
import type { Company, Status, UserInput } from '../../../src/accounts/records.ts';
import type { ApplyOutcome } from '../../../src/accounts/store.ts';
import type { Store } from '../../../src/store/store.ts';

const status = (value: string): Status => ({ value, label: value, color: '#000000', final: false });
const ADA: UserInput = {
  id: 'ada',
  plan: 'BASIC',
  accessLevel: 'COMPANY',
  branchId: null,
  departmentId: null,
};

/** A store, and another program that is connected to the same database. */
async function storeAndProgram(company: Company) {
  const database = await makeTestDatabase();
  const store = await database.openStore();
  const program = new Client({ connectionString: database.url });
  await program.connect();
  onTestFinished(async () => {
    await program.end();
    await store.close();
  });
  await store.applyOrganisation({ companies: [company] });
  return { store, program };
}

const apply = (store: Store, company: Company): Promise<ApplyOutcome> =>
  store.applyOrganisation({ companies: [company] });

const WAITING = `SELECT count(*)::integer AS count FROM pg_stat_activity
  WHERE datname = current_database() AND wait_event_type = 'Lock'`;

/** Resolves when as many connections wait for a lock, or when the work that should wait has ended. */
async function untilWaiting(program: Client, work: Promise<unknown>, count = 1): Promise<void> {
  let ended = false;
  const end = () => {
    ended = true;
  };
  work.then(end, end);
  // Within a transaction, the view would show the same each time.
  const revalidate = async () => {
    await program.query('SELECT pg_stat_clear_snapshot()');
    return (await program.query(WAITING)).rows[0].count;
  };
  while (!ended && (await revalidate()) < count);
}

test('a status that a lead is being given is kept', async () => {
  const { store, program } = await storeAndProgram(
    bare('acme', { statuses: [status('OPEN'), status('IDLE')] }),
  );
  await program.query(`INSERT INTO leadtap.leads (company_id, id) VALUES ('acme', '1')`);
  await program.query('BEGIN');
  await program.query(`UPDATE leadtap.leads SET status_value = 'IDLE'`);
  const applied = apply(store, bare('acme', { statuses: [status('OPEN')] }));
  await untilWaiting(program, applied);
  await program.query('COMMIT');
  expect(await applied).toMatchObject({
    kind: 'applied',
    changes: { keptStatuses: [{ companyId: 'acme', value: 'IDLE' }], removedStatuses: [] },
  });
});

test('the first status stays the first for a transaction that has begun to add leads', async () => {
  const { store, program } = await storeAndProgram(
    bare('acme', { statuses: [status('OPEN'), status('DONE')] }),
  );
  await program.query('BEGIN');
  await program.query(`INSERT INTO leadtap.leads (company_id, status_value) VALUES ('acme', 'DONE')`);
  const applied = apply(store, bare('acme', { statuses: [status('DONE')] }));
  await untilWaiting(program, applied);
  const { rows } = await program.query(
    `INSERT INTO leadtap.leads (company_id) VALUES ('acme') RETURNING status_value`,
  );
  await program.query('COMMIT');
  expect(rows).toEqual([{ status_value: 'OPEN' }]);
  expect(await applied).toMatchObject({ changes: { keptStatuses: [{ companyId: 'acme', value: 'OPEN' }] } });
});

test('two files at once are applied one after the other', async () => {
  const { store, program } = await storeAndProgram(bare('acme'));
  await program.query('BEGIN');
  await program.query('LOCK TABLE leadtap.users IN SHARE MODE');
  const files = ['BASIC', 'PROFESSIONAL'].map((plan) =>
    apply(store, bare('acme', { users: [user('ada', { plan }), user('bo')] })),
  );
  await untilWaiting(program, Promise.all(files), 2);
  await program.query('COMMIT');
  const counts = (await Promise.all(files)).map((outcome) => 'changes' in outcome && outcome.changes.users);
  expect(counts).toContainEqual({ created: 2, updated: 0, unchanged: 0 });
  expect(counts).toContainEqual({ created: 0, updated: 1, unchanged: 1 });
});

test('what another program changes of a user meanwhile stays', async () => {
  const { store, program } = await storeAndProgram(bare('acme', { users: [{ ...ADA, name: 'Ada' }] }));
  await program.query('BEGIN');
  await program.query(`UPDATE leadtap.users SET name = 'Ada Lovelace'`);
  const applied = apply(store, bare('acme', { users: [{ ...ADA, plan: 'PROFESSIONAL' }] }));
  await untilWaiting(program, applied);
  await program.query('COMMIT');
  await applied;
  expect(await store.findUser('ada')).toMatchObject({ name: 'Ada Lovelace', plan: 'PROFESSIONAL' });
});

test('a user whom another program adds meanwhile to its company stays there', async () => {
  const { store, program } = await storeAndProgram(bare('acme'));
  await apply(store, bare('globex'));
  await program.query('BEGIN');
  await program.query(
    `INSERT INTO leadtap.users (id, company_id, plan, access_level) VALUES ('ada', 'globex', 'BASIC', 'COMPANY')`,
  );
  const applied = apply(store, bare('acme', { users: [ADA] }));
  await untilWaiting(program, applied);
  await program.query('COMMIT');
  expect(await applied).toMatchObject({
    conflicts: [{ kind: 'user-in-another-company', userId: 'ada', existingCompanyId: 'globex' }],
  });
});

test('a request that sends leads has locked its company, and never waits for a file that waits for it', async () => {
  const { store, program } = await storeAndProgram(bare('acme', { users: [ADA] }));
  await program.query('BEGIN');
  await program.query(`SELECT leadtap.lock_companies(ARRAY['acme'])`);
  const applied = apply(store, bare('acme', { name: 'Acme Ltd', users: [{ ...ADA, plan: 'PROFESSIONAL' }] }));
  await untilWaiting(program, applied);
  await program.query(`SET LOCAL lock_timeout = '1ms'`);
  await program.query(`SELECT leadtap.lock_sender('ada', NULL)`);
  await program.query('COMMIT');
  expect(await applied).toMatchObject({ kind: 'applied' });
});

test('a poll finds its user while a file is being applied', async () => {
  const { store, program } = await storeAndProgram(bare('acme', { users: [ADA] }));
  await program.query('BEGIN');
  await program.query('LOCK TABLE leadtap.users IN SHARE MODE');
  const applied = apply(store, bare('acme', { users: [{ ...ADA, plan: 'PROFESSIONAL' }] }));
  await untilWaiting(program, applied);
  expect(await store.findUser('ada')).toMatchObject({ plan: 'BASIC' });
  await program.query('COMMIT');
  await applied;
  expect(await store.findUser('ada')).toMatchObject({ plan: 'PROFESSIONAL' });
});
