import { MAX_LEADS_PER_PAGE, NEW_LEADS_PATH, RATE_LIMITS } from '@leadtap/contract';
import { describe, expect, it } from 'vitest';
import { manualClock } from '../../../packages/testing/harness/manual-clock.ts';
import { startService } from '../../../packages/testing/harness/service.ts';
import { newLeadsAddress } from '../src/base-address.ts';
import { recentLeads } from '../src/recent-leads.ts';
import { perform } from '../src/triggers/new-lead.ts';
import { addLeads } from './burst.ts';
import { connect, run } from './connection.ts';
import { recordRequests } from './requests.ts';

const MINUTE_MS = 60_000;

async function startWithClock() {
  const clock = manualClock();
  const test = await startService({ clock });
  return { ...test, clock, requests: recordRequests(test), connection: await connect(test) };
}

const ids = (leads: readonly { readonly id: string }[]) => leads.map(({ id }) => id);

describe('a poll', () => {
  it('returns the leads as the service has them, newest first', async () => {
    const test = await startWithClock();
    await test.add({ id: 'a' }, { id: 'b', fields: { firstName: 'Ada' } }, { id: 'c' });
    const leads = await run(perform, test.connection);
    expect(ids(leads)).toEqual(['c', 'b', 'a']);
    expect(leads).toEqual(await test.leads('boss'));
  });

  it('asks once while the page is not full, or reaches back for half an hour', async () => {
    const test = await startWithClock();
    await addLeads(test, MAX_LEADS_PER_PAGE - 1, 'few');
    expect(await run(perform, test.connection)).toHaveLength(MAX_LEADS_PER_PAGE - 1);
    expect(test.requests).toHaveLength(1);
    await addLeads(test, 150, 'many');
    test.clock.advance(31 * MINUTE_MS);
    expect(await run(perform, test.connection)).toHaveLength(MAX_LEADS_PER_PAGE);
    expect(test.requests).toHaveLength(2);
  });

  it('returns all leads of the last half hour, newest first, when there are more than a page', async () => {
    const test = await startWithClock();
    await addLeads(test, 40, 'before');
    test.clock.advance(31 * MINUTE_MS);
    const since = await addLeads(test, 150, 'early');
    test.clock.advance(28 * MINUTE_MS);
    since.push(...(await addLeads(test, 120, 'late')));
    const leads = await run(perform, test.connection);
    expect(ids(leads)).toEqual(since.reverse());
    expect(test.requests).toHaveLength(1 + 2);
  });

  it('is short for the editor', async () => {
    const test = await startWithClock();
    const all = await addLeads(test, 150, 'lead');
    const samples = await run(perform, test.connection, { isLoadingSample: true });
    expect(ids(samples)).toEqual(all.slice(-3).reverse());
    expect(test.requests.map(({ url }) => url)).toEqual([`${NEW_LEADS_PATH}?limit=3`]);
  });

  it('leaves a fifth of the limits to others', async () => {
    const test = await startWithClock();
    const all = await addLeads(test, 1000, 'lead');
    const spare = RATE_LIMITS.minute.quota / 5;
    for (let used = 0; used < RATE_LIMITS.minute.quota - spare - 3; used += 1) await test.poll('boss');
    test.requests.length = 0;
    const first = await run(perform, test.connection);
    expect(test.requests).toHaveLength(3);
    expect(ids(first)).toEqual([...all.slice(0, 200), ...all.slice(-100)].reverse());
    test.clock.advance(MINUTE_MS);
    expect(ids(await run(perform, test.connection))).toEqual(all.reverse());
  });

  it('stops before its time is over', async () => {
    const test = await startWithClock();
    await addLeads(test, 1000, 'lead');
    let seconds = 0;
    // Each look at the watch is six seconds later.
    const slowly = () => 1000 * 6 * seconds++;
    const leads = await run((z, bundle) => recentLeads(z, bundle, slowly), test.connection);
    expect(test.requests).toHaveLength(1 + 2);
    expect(leads).toHaveLength(300);
  });

  it('goes where the contract says that the leads are', () => {
    expect(newLeadsAddress('https://leads.example.com')).toBe(`https://leads.example.com${NEW_LEADS_PATH}`);
  });
});
