/** How a change of an account and a lead are committed while a writer holds the lock of the company. */
import { setTimeout as wait } from 'node:timers/promises';
import type { Store } from 'leadtap';
import { withClient } from '../postgres/with-client.ts';
import { beginImmediate, withDatabase } from '../sqlite/database.ts';
import type { ChangeBehindWriter } from './account-races.ts';

/** The writer has inserted the lead, and commits it after the change. */
export const changeBehindPostgresWriter =
  (url: string): ChangeBehindWriter =>
  ({ companyId, id, branchId }, onLocked, applyChange) =>
    withClient(url, async (client) => {
      await client.query('BEGIN');
      await client.query(
        'INSERT INTO leadtap.leads (company_id, id, branch_id, first_name) VALUES ($1, $2, $3, $4)',
        [...[companyId, id, branchId], 'Ada'],
      );
      onLocked();
      await applyChange();
      await client.query('COMMIT');
    });

/** The lock is one for the whole file, so the change waits for the writer as well. */
export const changeBehindSqliteWriter =
  (file: string, store: Store): ChangeBehindWriter =>
  async ({ companyId, id, branchId }, onLocked, applyChange) => {
    const changed = await withDatabase(file, async (database) => {
      await beginImmediate(database);
      onLocked();
      const change = applyChange();
      await wait(HELD_MS);
      database.exec('ROLLBACK');
      return { change };
    });
    await changed.change;
    await store.writeLeads([{ companyId, id, branchId, fields: { firstName: 'Ada' } }]);
  };

/** Longer than a revalidation waits for the lock: the poll then waits for it in the read of its page. */
const HELD_MS = 30;
