import { expect, it, onTestFinished } from 'vitest';
import { ownTcpProxy } from '../../../testing/harness/own-servers.ts';
import { StoreUnavailableError } from '../../src/sql/errors.ts';
import { shareCluster } from './cluster.ts';
import { eventually } from './eventually.ts';
import { addLead, expectUnavailable, serve } from './instance.ts';
import { connect, endAllConnections } from './sql.ts';
import { startStandby } from './standby.ts';

const primary = shareCluster();

/** Read-only, but no standby: its locks are those of the writers. */
it('a primary that is made read-only answers polls, and takes no leads', async () => {
  const { store, poll, probe } = await serve(primary().url);
  await addLead(store, 'before');
  const admin = await connect(primary().url);
  await admin.query('ALTER ROLE postgres SET default_transaction_read_only = on');
  onTestFinished(async () => {
    await admin.query('ALTER ROLE postgres RESET default_transaction_read_only');
  });
  await endAllConnections(admin);
  await eventually(async () =>
    expect(await poll('acme')).toMatchObject({ status: 200, leads: [{ id: 'before' }] }),
  );
  expect(await probe('/readyz')).toMatchObject({ status: 200 });
  await expect(addLead(store, 'refused')).rejects.toBeInstanceOf(StoreUnavailableError);
});

it('a standby answers no polls, and all of them once it is the primary', async () => {
  const proxy = await ownTcpProxy(primary().port);
  const { store, poll, probe, log } = await serve(proxy.through(primary().url));
  await addLead(store, 'before');
  const standby = await startStandby(primary());
  const replica = await connect(standby.url);
  await eventually(async () =>
    expect((await replica.query('SELECT id FROM leadtap.leads')).rows).toEqual([{ id: 'before' }]),
  );

  await primary().stop('immediate');
  proxy.redirectTo(standby.port);
  expectUnavailable(await poll('acme'));
  expectUnavailable(await probe('/readyz'));
  expect(await probe('/livez')).toMatchObject({ status: 200 });
  expect(log.filter(({ level }) => level === 'error').at(-1)?.err?.message).toContain('standby');
  await expect(addLead(store, 'refused')).rejects.toBeInstanceOf(StoreUnavailableError);

  await replica.query('SELECT pg_promote(wait_seconds => 240)');
  expect(await poll('acme')).toMatchObject({ status: 200, leads: [{ id: 'before' }] });
  expect(await probe('/readyz')).toMatchObject({ status: 200 });
  await addLead(store, 'after');
  expect((await poll('acme', 'since=1970-01-01')).leads).toMatchObject([{ id: 'before' }, { id: 'after' }]);
});
