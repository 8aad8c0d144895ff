import pg from 'pg';
import { companyId } from '../../made-up/organisation.ts';

/** Where the writers write: all to one company, or each to one of its own. */
export type Spreading = 'one' | 'many';
/** Through the trigger that stamps, or into a table that has none. */
export type Table = 'leadtap.leads' | 'unstamped_leads';

const INSERT: Record<Table, string> = {
  'leadtap.leads': 'INSERT INTO leadtap.leads (company_id, first_name, email) VALUES ($1, $2, $3)',
  unstamped_leads: `INSERT INTO unstamped_leads (company_id, first_name, email, id, created_at, status_value, custom_fields, images,
    same_day, updated_at, automation_trigger_id, automation_created_at)
    VALUES ($1, $2, $3, gen_random_uuid()::text, clock_timestamp(), 'NEW', '{}', '{}', false, clock_timestamp(),
    gen_random_uuid()::text, clock_timestamp())`,
};

/** The same columns, checks and indexes, but that two rows may have the same time. */
export const MAKE_UNSTAMPED = `CREATE TABLE unstamped_leads (LIKE leadtap.leads INCLUDING CONSTRAINTS);
  CREATE INDEX ON unstamped_leads (company_id, created_at);
  CREATE UNIQUE INDEX ON unstamped_leads (company_id, id)`;

/** Leads a second by so many programs at once, each of which inserts one row after the other, a transaction each. */
export async function sqlWriteRate(
  url: string,
  writers: number,
  spreading: Spreading,
  table: Table,
  seconds: number,
): Promise<number> {
  const clients = await Promise.all(
    Array.from({ length: writers }, async () => {
      const client = new pg.Client(url);
      await client.connect();
      return client;
    }),
  );
  let written = 0;
  const startedAt = performance.now();
  const write = async (client: pg.Client, writer: number) => {
    const company = companyId(spreading === 'one' ? 0 : writer);
    while (performance.now() - startedAt < seconds * 1000) {
      await client.query({ name: table, text: INSERT[table], values: [company, 'Ada', 'ada@mail.example'] });
      written += 1;
    }
  };
  try {
    await Promise.all(clients.map(write));
    return written / ((performance.now() - startedAt) / 1000);
  } finally {
    await Promise.all(clients.map((client) => client.end()));
  }
}
