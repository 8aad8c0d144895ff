// @both-stores for each change
import { Client } from 'pg';
import { expect, inject, it } from 'vitest';
import type { TestDatabase } from '../../../testing/harness/database.ts';
import { sendLeads } from '../../../testing/harness/intake.ts';
import { startService } from '../../../testing/harness/service.ts';
import { Connection } from '../../src/store/sqlite/connection.ts';

/** From now on every statement succeeds, and the commit of a transaction that adds leads fails. */
const failCommits = ({ url }: TestDatabase) =>
  inject('store') === 'postgres' ? failPostgresCommits(url) : failSqliteCommits(url);

async function failPostgresCommits(connectionString: string): Promise<void> {
  const client = new Client({ connectionString });
  await client.connect();
  await client.query(`
    CREATE FUNCTION refuse_commit() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'refused at the commit'; END $$;
    CREATE CONSTRAINT TRIGGER refuse_commit AFTER INSERT ON leadtap.leads DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION refuse_commit()`);
  await client.end();
}

/** A foreign key that is checked at the commit. */
function failSqliteCommits(url: string): void {
  const connection = new Connection(url.replace(/^sqlite:/, ''));
  connection.exec(`
    CREATE TABLE refused (company TEXT REFERENCES companies (id) DEFERRABLE INITIALLY DEFERRED);
    CREATE TRIGGER refuse_commit AFTER INSERT ON leads BEGIN INSERT INTO refused VALUES ('none'); END`);
  connection.close();
}

it('a request whose commit fails is not acknowledged, and neither are those that share the commit', async () => {
  const test = await startService();
  await failCommits(test.database);
  const ids = ['a', 'b', 'c', 'd'];
  const answers = await Promise.all(ids.map((id) => sendLeads(test, { id, firstName: 'Ada' })));
  expect(answers.map(({ status }) => status)).toEqual([500, 500, 500, 500]);
  for (const id of ids) expect(await test.store.findLeads(id)).toEqual([]);
});
