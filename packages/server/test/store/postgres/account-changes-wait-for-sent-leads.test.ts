import type { Store } from 'leadtap';
import { expect, it, onTestFinished } from 'vitest';
import { makeTestDatabase } from '../../../../testing/harness/database.ts';
import { ORGANISATION } from '../../../../testing/harness/organisation.ts';
import { eventually } from '../../faults/eventually.ts';
import { connect } from '../../faults/sql.ts';

/** The key of the lock at which a write waits in the middle of its transaction. */
const HELD = 4711;

it.each<[string, (store: Store) => Promise<unknown>]>([
  ['a revocation', (store) => store.revokeToken('a')],
  ['a removal of the user', (store) => store.removeUser('boss')],
  ['a lower access level', (store) => store.updateUser('boss', { accessLevel: 'BRANCH', branchId: 'north' })],
])('%s waits for leads that were checked before it and are not committed', async (_title, change) => {
  const database = await makeTestDatabase();
  const [store, other] = [await database.openStore(), await database.openStore()];
  onTestFinished(() => Promise.all([store.close(), other.close()]).then(() => undefined));
  await store.applyOrganisation(ORGANISATION);
  const client = await connect(database.url);
  await client.query(`
    CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN PERFORM pg_advisory_xact_lock(${HELD}); RETURN NULL; END $$;
    CREATE TRIGGER hold AFTER INSERT ON leadtap.leads FOR EACH ROW EXECUTE FUNCTION hold();
    SELECT pg_advisory_lock(${HELD})`);
  const untilWaiting = (count: number, isOver = () => false) =>
    eventually(async () => {
      const { rows } = await client.query(
        `SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
            AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
      );
      expect(isOver() || rows.length === count).toBe(true);
    });

  const scope = { level: 'COMPANY', companyId: 'acme' } as const;
  const sender = { userId: 'boss', tokenId: 'a' };
  // So many that they share no transaction with other companies, which would be given up after a moment.
  const leads = Array.from({ length: 20 }, (_, index) => ({ companyId: 'acme', id: `${index}`, fields: {} }));
  const written = store.writeAllLeads(leads, scope, sender);
  await untilWaiting(1);
  let isChanged = false;
  const storedAtChange = change(other).then(() => {
    isChanged = true;
    return other.findLeads('1');
  });
  await untilWaiting(2, () => isChanged);
  expect(isChanged).toBe(false);
  await client.query(`SELECT pg_advisory_unlock(${HELD})`);
  expect((await written).kind).toBe('written');
  expect(await storedAtChange).toHaveLength(1);
});
