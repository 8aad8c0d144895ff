import { DatabaseSync } from '@photostructure/sqlite';
import pg from 'pg';

/**
 * What the database alone needs for the same rows: one INSERT into a table with the same columns and indexes, without
 * triggers, foreign keys or anybody who reads and checks the input. Leads a second.
 */
export async function bareInsertRate(url: string, leads: number): Promise<number> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    await client.query('CREATE TABLE bare_leads (LIKE leadtap.leads INCLUDING INDEXES)');
    const startedAt = performance.now();
    await client.query('INSERT INTO bare_leads SELECT * FROM leadtap.leads');
    return leads / ((performance.now() - startedAt) / 1000);
  } finally {
    await client.end();
  }
}

/** The same for SQLite. */
export function bareSqliteInsertRate(file: string, leads: number): number {
  const database = new DatabaseSync(file);
  try {
    database.exec(`PRAGMA synchronous = FULL;
      CREATE TABLE bare_leads AS SELECT * FROM leads WHERE false;
      CREATE UNIQUE INDEX bare_stamp ON bare_leads (company_id, created_at);
      CREATE UNIQUE INDEX bare_id ON bare_leads (company_id, id);
      CREATE INDEX bare_branch ON bare_leads (company_id, branch_id, created_at);
      CREATE INDEX bare_department ON bare_leads (company_id, department_id, created_at);`);
    const startedAt = performance.now();
    database.exec('INSERT INTO bare_leads SELECT * FROM leads');
    return leads / ((performance.now() - startedAt) / 1000);
  } finally {
    database.close();
  }
}
