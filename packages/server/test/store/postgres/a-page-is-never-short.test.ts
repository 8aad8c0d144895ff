import { expect, test } from 'vitest';
import { eventually } from '../../faults/eventually.ts';
import { connectSql, databaseWithCompanies } from './sql-client.ts';

test('a lead is in the page also when its status is removed while the page is being read', async () => {
  const { url } = await databaseWithCompanies();
  const [poller, writer] = [await connectSql(url), await connectSql(url)];
  await writer.query(`
    INSERT INTO leadtap.statuses VALUES ('acme', 'OLD', 'Old', '#fff', false, 9);
    INSERT INTO leadtap.leads (company_id, id, status_value) VALUES ('acme', 'a', 'OLD'), ('acme', 'b', 'NEW')`);
  const { rows: session } = await poller.query('SELECT pg_backend_pid() AS pid');

  // The leads are read, and the names, which come after them, must wait.
  await writer.query('BEGIN; LOCK TABLE leadtap.companies IN ACCESS EXCLUSIVE MODE');
  const reading = poller.query(`SELECT leads FROM leadtap.read_page('acme', NULL, NULL, 0, 100, 0)`);
  await eventually(async () => {
    const { rows } = await writer.query('SELECT wait_event_type FROM pg_stat_activity WHERE pid = $1', [
      session[0].pid,
    ]);
    expect(rows[0].wait_event_type).toBe('Lock');
  });
  await writer.query(`
    UPDATE leadtap.leads SET status_value = 'NEW' WHERE company_id = 'acme' AND id = 'a';
    DELETE FROM leadtap.statuses WHERE company_id = 'acme' AND value = 'OLD';
    COMMIT`);

  const { rows } = await reading;
  const leads: { id: string; status_value: string }[] = rows[0].leads;
  expect(leads.map(({ id, status_value }) => [id, status_value])).toEqual([
    ['a', 'NEW'],
    ['b', 'NEW'],
  ]);
});
