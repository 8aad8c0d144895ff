import { Client } from 'pg';
import { onTestFinished } from 'vitest';
import type { WhenDone } from '../../../testing/harness/temp-folder.ts';

/** A client with plain SQL. It is closed when the test ends. */
export async function connect(url: string, whenDone: WhenDone = onTestFinished): Promise<Client> {
  const client = new Client({ connectionString: url });
  // The test breaks the database, and with it this connection.
  client.on('error', () => undefined);
  whenDone(() => client.end().catch(() => undefined));
  await client.connect();
  return client;
}

const LOCK = 'SELECT pg_advisory_xact_lock(leadtap.lock_class(), leadtap.company_lock($1))';

/** A writer that is stuck between its stamp and its commit. */
export async function holdLock(url: string, companyId: string): Promise<Client> {
  const client = await connect(url);
  await client.query('BEGIN');
  await client.query(LOCK, [companyId]);
  return client;
}

export interface Connection {
  readonly state: string;
  readonly query: string;
  /** Whether it waits for a lock. */
  readonly waits: boolean;
}

/** The connections of Leadtap, from pg_stat_activity. */
export async function connectionsOf(observer: Client): Promise<Connection[]> {
  const { rows } = await observer.query<Connection>(
    `SELECT state, query, wait_event_type IS NOT DISTINCT FROM 'Lock' AS waits FROM pg_stat_activity
      WHERE application_name = 'leadtap' AND pid <> pg_backend_pid()`,
  );
  return rows;
}

export const endAllConnections = (observer: Client) =>
  observer.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'leadtap'`);

export const endWaitingConnections = (observer: Client) =>
  observer.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE application_name = 'leadtap' AND wait_event_type = 'Lock'`,
  );
