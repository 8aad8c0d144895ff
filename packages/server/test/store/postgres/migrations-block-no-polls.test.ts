import process from 'node:process';
import { expect, it } from 'vitest';
import { spawnProgram } from '../../../../testing/harness/leadtap-process.ts';
import { makeNextVersion } from '../../upgrades/next-version.ts';
import { connectSql, databaseWithCompanies } from './sql-client.ts';

/** Longer than the pause between two tries. */
const WAIT_MS = 2500;

const SCRIPT = `
  import { migratePostgres } from './dist/store/postgres/store.js';
  const { applied } = await migratePostgres(process.argv[1], { maxLockWaitMs: ${WAIT_MS} });
  console.log(applied.length);`;

it('a migration that waits for a long transaction lets polls and writers through, and names the transaction', async () => {
  const { url } = await databaseWithCompanies();
  const { folder: cwd } = makeNextVersion();
  const script = [process.execPath, '--input-type=module', '--eval', SCRIPT, url];
  const migrate = () => spawnProgram(script, { cwd }).ended;
  // As pg_dump does.
  const [reader, client] = [await connectSql(url), await connectSql(url)];
  await reader.query('BEGIN; SELECT count(*) FROM leadtap.leads');
  const { rows } = await reader.query('SELECT pg_backend_pid() AS pid');

  // Only ends the test if a poll or a writer is blocked for good.
  await client.query(`SET lock_timeout = '2min'`);
  let isOver = false;
  const migration = migrate().finally(() => {
    isOver = true;
  });
  while (!isOver) {
    await client.query(`SELECT leadtap.read_page('acme', NULL, NULL, 0, 100, 0)`);
    await client.query(`INSERT INTO leadtap.leads (company_id, full_name) VALUES ('acme', 'During')`);
  }
  expect((await migration).stderr).toContain(`nothing was migrated: process ${rows[0].pid} (user postgres, `);

  const again = migrate();
  await reader.query('COMMIT');
  expect(await again).toMatchObject({ code: 0, stdout: expect.stringMatching(/^[1-9]/) });
});
