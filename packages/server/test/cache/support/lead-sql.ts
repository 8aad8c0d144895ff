import { Client } from 'pg';
import { inject } from 'vitest';
import type { TestDatabase } from '../../../../testing/harness/database.ts';
import type { WhenDone } from '../../../../testing/harness/temp-folder.ts';
import { Connection } from '../../../src/store/sqlite/connection.ts';

/** Another program that changes leads, with nothing but SQL. */
export interface LeadSql {
  rename(companyId: string, id: string, firstName: string): Promise<void>;
  remove(companyId: string, id: string): Promise<void>;
}

export const connectLeadSql = (database: TestDatabase, whenDone: WhenDone): Promise<LeadSql> =>
  inject('store') === 'postgres' ? toPostgres(database.url, whenDone) : toSqlite(database.url, whenDone);

async function toPostgres(url: string, whenDone: WhenDone): Promise<LeadSql> {
  const client = new Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  whenDone(() => client.end());
  return {
    rename: async (...values) => {
      await client.query(
        'UPDATE leadtap.leads SET first_name = $3 WHERE company_id = $1 AND id = $2',
        values,
      );
    },
    remove: async (...values) => {
      await client.query('DELETE FROM leadtap.leads WHERE company_id = $1 AND id = $2', values);
    },
  };
}

async function toSqlite(url: string, whenDone: WhenDone): Promise<LeadSql> {
  const connection = new Connection(url.replace(/^sqlite:/, ''));
  whenDone(() => connection.close());
  const rename = connection.prepare('UPDATE leads SET first_name = ? WHERE company_id = ? AND id = ?');
  const remove = connection.prepare('DELETE FROM leads WHERE company_id = ? AND id = ?');
  return {
    rename: async (companyId, id, firstName) => void rename.run(firstName, companyId, id),
    remove: async (companyId, id) => void remove.run(companyId, id),
  };
}
