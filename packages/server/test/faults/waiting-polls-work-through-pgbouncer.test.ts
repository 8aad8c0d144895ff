import { beforeAll, expect, it } from 'vitest';
import { type PgBouncerServer, startPgBouncer } from '../../../testing/servers/pgbouncer.ts';
import { shareCluster } from './cluster.ts';
import { eventually } from './eventually.ts';
import { addLead, serve } from './instance.ts';

const server = shareCluster();
let bouncer: PgBouncerServer;
beforeAll(async () => {
  bouncer = await startPgBouncer({ upstream: server().url, settings: { default_pool_size: 3 } });
  return () => bouncer.remove();
});

it('a lead that another instance writes ends the wait, through PgBouncer in transaction mode', async () => {
  const [first, second] = [await serve(bouncer.url), await serve(bouncer.url)];
  const wait = async (companyId: string) => {
    const headers = { authorization: `Bearer ${await first.token(companyId)}`, prefer: 'wait=50' };
    return fetch(`${first.url}/automation/new-leads?since=2026-01-01`, { headers });
  };
  const answers = Array.from({ length: 10 }, () => wait('acme'));
  const other = wait('globex');
  await eventually(async () =>
    expect(await first.metric('leadtap_waiting_polls')).toMatch(/^leadtap_waiting_polls 11$/m),
  );
  await addLead(second.store, 'through-pgbouncer');
  for (const answer of answers)
    expect(await (await answer).json()).toMatchObject([{ id: 'through-pgbouncer' }]);
  expect(await first.metric('leadtap_waiting_polls')).toMatch(/^leadtap_waiting_polls 1$/m);
  await addLead(second.store, 'of-the-other', 'globex');
  expect(await (await other).json()).toMatchObject([{ id: 'of-the-other' }]);
});
