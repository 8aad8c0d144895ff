import { Client } from 'pg';
import { onTestFinished } from 'vitest';
import { makeTestDatabase } from '../../../../testing/harness/database.ts';
import { ORGANISATION } from '../../../../testing/harness/organisation.ts';
import type { SqlDatabase } from '../../../src/sql/sql.ts';
import {
  Database,
  type Session,
  type TransactionOptions,
  type TransactionSession,
} from '../../../src/store/postgres/connection.ts';
import { runTasksOn } from '../../../src/store/postgres/sql.ts';

/** A database with an organisation, whose tasks run on the client and add the plans of their queries, once `explain` is called. */
export async function makeExplainedDatabase() {
  const database = await makeTestDatabase(onTestFinished);
  const store = await database.openStore();
  await store.applyOrganisation(ORGANISATION);
  await store.close();
  const client = new Client({ connectionString: database.url });
  await client.connect();
  onTestFinished(() => client.end());
  const plans: string[] = [];
  client.on('notice', ({ message = '' }) => plans.push(message));
  class ExplainedDatabase extends Database {
    override async transaction<T, Row>(
      work: (session: TransactionSession, opened: Row[]) => Promise<T>,
      { settings = '', opening }: TransactionOptions = {},
    ): Promise<T> {
      await client.query(`BEGIN; ${settings}`);
      const query: Session['query'] = async (text, values = []) =>
        (await client.query(text, [...values])).rows;
      const result = await work({ query }, opening ? await query(opening.text, opening.values) : []);
      await client.query('COMMIT');
      return result;
    }
  }
  const explain = async (): Promise<SqlDatabase> => {
    await client.query(`
      LOAD 'auto_explain';
      SET auto_explain.log_min_duration = 0;
      SET auto_explain.log_analyze = on;
      SET auto_explain.log_timing = off;
      SET client_min_messages = log`);
    return runTasksOn(new ExplainedDatabase(database.url ?? '', 1));
  };
  return { client, plans, explain };
}
