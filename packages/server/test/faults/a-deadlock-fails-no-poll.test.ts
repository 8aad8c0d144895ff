import { expect, it } from 'vitest';
import { shareCluster } from './cluster.ts';
import { eventually } from './eventually.ts';
import { addLead, serve } from './instance.ts';
import { connect, connectionsOf, holdLock } from './sql.ts';

/** After this wait for a lock, a connection looks for a deadlock once: by then, the test has made it. */
const server = shareCluster({ deadlock_timeout: '3s' });

it('a poll that waits among writers in a deadlock answers what is committed', async () => {
  const { store, poll, metric } = await serve(server().url, { pollLockWaitMs: 120_000 });
  const observer = await connect(server().url);
  await addLead(store, 'committed');
  const [one, two] = [await holdLock(server().url, 'acme'), await holdLock(server().url, 'globex')];
  // PostgreSQL ends the one that finds the deadlock, so it is left to the poll to find it.
  for (const writer of [one, two]) await writer.query(`SET deadlock_timeout = '1h'`);
  const waiting = async () => {
    const { rows } = await observer.query(
      `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name <> 'leadtap'`,
    );
    return rows.length;
  };
  const insert = (companyId: string) => `INSERT INTO leadtap.leads (company_id) VALUES ('${companyId}')`;
  one.query(insert('globex')).catch(() => undefined);
  await eventually(async () => expect(await waiting()).toBe(1));
  const polled = poll('acme', 'since=1970-01-01');
  await eventually(async () =>
    expect(await connectionsOf(observer)).toContainEqual(expect.objectContaining({ waits: true })),
  );
  // It waits behind the poll, so all three wait for each other.
  two.query(insert('acme')).catch(() => undefined);
  await eventually(async () => expect(await waiting()).toBe(2));

  expect(await polled).toMatchObject({ status: 200, leads: [{ id: 'committed' }] });
  expect(await metric('leadtap_polls_unlocked_total')).toMatch(/ 1$/m);
  await observer.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name <> 'leadtap'`,
  );
});

it('a page that could not be read for a lock of its table is an error, and never an empty page', async () => {
  const observer = await connect(server().url);
  // As an operator may set it; a table that is being altered is locked for as long as that takes.
  await observer.query(`ALTER DATABASE ${observer.database} SET lock_timeout = '50ms'`);
  const { store, poll } = await serve(server().url);
  const since = 'since=1970-01-01';
  await observer.query('DELETE FROM leadtap.leads');
  await addLead(store, 'first');
  expect(await poll('acme', since)).toMatchObject({ status: 200, leads: [{ id: 'first' }] });
  await addLead(store, 'second');
  await observer.query('BEGIN; LOCK TABLE leadtap.leads IN ACCESS EXCLUSIVE MODE');
  expect(await poll('acme', since)).toMatchObject({ status: 503 });
  await observer.query('ROLLBACK');
  expect(await poll('acme', since)).toMatchObject({ leads: [{ id: 'first' }, { id: 'second' }] });
  await observer.query(`ALTER DATABASE ${observer.database} RESET lock_timeout`);
});
