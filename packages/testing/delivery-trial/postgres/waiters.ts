import type { Client } from 'pg';

/** Not from `pg_stat_activity`, which a transaction sees as it was at its first look. */
const WAITERS = `SELECT count(*)::integer AS waiters, pg_sleep(0.002) FROM pg_locks
  WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid))`;

/** Whether somebody waits for what the transaction of this connection has. */
export async function hasWaiters(client: Client): Promise<boolean> {
  const { rows } = await client.query<{ waiters: number }>(WAITERS);
  return (rows[0]?.waiters ?? 0) > 0;
}
