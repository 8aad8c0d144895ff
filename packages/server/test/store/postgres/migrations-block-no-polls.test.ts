import { expect, it } from 'vitest';
import { migratePostgres } from '../../../src/store/postgres/store.ts';
import { restoreRelease } from '../../upgrades/release.ts';
import { connectSql } from './sql-client.ts';

/** Longer than the pause between two tries. */
const WAIT_MS = 2500;

it('a migration that waits for a long transaction lets polls and writers through, and names the transaction', async () => {
  const { url } = await restoreRelease('0.1.0');
  // As pg_dump does.
  const [reader, client] = [await connectSql(url), await connectSql(url)];
  await reader.query('BEGIN; SELECT count(*) FROM leadtap.leads');
  const { rows } = await reader.query('SELECT pg_backend_pid() AS pid');
  const message = new RegExp(`nothing was migrated: process ${rows[0].pid} \\(user postgres, `);

  // Only ends the test if a poll or a writer is blocked for good.
  await client.query(`SET lock_timeout = '2min'`);
  let isOver = false;
  const migration = expect(migratePostgres(url, { maxLockWaitMs: WAIT_MS }))
    .rejects.toThrow(message)
    .finally(() => {
      isOver = true;
    });
  while (!isOver) {
    await client.query(`SELECT leadtap.read_page('soleil', NULL, NULL, 0, 100, 0)`);
    await client.query(`INSERT INTO leadtap.leads (company_id, full_name) VALUES ('soleil', 'During')`);
  }
  await migration;

  const again = migratePostgres(url);
  await reader.query('COMMIT');
  expect((await again).applied).not.toEqual([]);
});
