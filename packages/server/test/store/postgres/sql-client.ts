import { Client, DatabaseError } from 'pg';
import { onTestFinished } from 'vitest';
import { makeTestDatabase, type TestDatabase } from '../../../../testing/harness/database.ts';
import { ORGANISATION } from '../../../../testing/harness/organisation.ts';
import type { WhenDone } from '../../../../testing/harness/temp-folder.ts';

/** A client with plain SQL. */
export async function connectSql(url: string, whenDone: WhenDone = onTestFinished): Promise<Client> {
  const client = new Client({ connectionString: url });
  // It may still be connected when the database is dropped.
  client.on('error', () => undefined);
  await client.connect();
  whenDone(() => client.end());
  return client;
}

/** A database with the companies of the harness in it. */
export async function databaseWithCompanies(whenDone: WhenDone = onTestFinished): Promise<TestDatabase> {
  const database = await makeTestDatabase(whenDone);
  const store = await database.openStore();
  await store.applyOrganisation(ORGANISATION);
  await store.close();
  return database;
}

/** The error of statements that the database refuses; undefined when it accepts them. */
export async function refusalOf(client: Client, sql: string): Promise<DatabaseError | undefined> {
  try {
    await client.query(sql);
    return undefined;
  } catch (error) {
    if (error instanceof DatabaseError) return error;
    throw error;
  }
}
