import { describe, expect, it } from 'vitest';
import { toIso } from '../../src/lib/clock.ts';
import { appliedOf, idsOf, startWaitingService } from './support/long-polls-service.ts';

describe('a poll that waits', () => {
  it('ends as a lead is committed, and continues from Link', async () => {
    const { wait, untilWaiting, add, url, token } = await startWaitingService();
    const answer = wait('boss');
    await untilWaiting(1);
    await add({ id: 'first' });
    const response = await answer;
    expect(response.status).toBe(200);
    expect(appliedOf(response)).toBe('wait=50');
    expect(await idsOf(response)).toEqual(['first']);
    await untilWaiting(0);

    const [, next = ''] = /^<([^>]*)>; rel="next"$/.exec(response.headers.get('link') ?? '') ?? [];
    expect(next).toContain(url);
    const headers = { authorization: `Bearer ${await token('boss')}`, prefer: 'wait=50' };
    const second = fetch(next, { headers });
    await untilWaiting(1);
    await add({ id: 'second' });
    expect(await idsOf(await second)).toEqual(['second']);
  });

  it('gets the leads that are there already at once', async () => {
    const { wait, add, waiting } = await startWaitingService();
    await add({ id: 'early' });
    const response = await wait('boss');
    expect(await idsOf(response)).toEqual(['early']);
    expect(appliedOf(response)).toBe('wait=50');
    expect(waiting()).toBe(0);
  });

  it('has the Date of its last read', async () => {
    const { wait, untilWaiting, add } = await startWaitingService();
    const answer = wait('boss');
    await untilWaiting(1);
    const [createdAt = 0] = await add({});
    const date = Date.parse((await answer).headers.get('date') ?? '');
    // The date is cut to the second.
    expect(date + 1000).toBeGreaterThan(createdAt);
  });

  it('does not end with a lead that the query leaves out', async () => {
    const { wait, untilWaiting, add, waiting } = await startWaitingService();
    const [createdAt = 0] = await add({ id: 'old' });
    const current = wait('boss', `since=${toIso(createdAt)}`);
    await untilWaiting(1);
    const future = wait('boss', 'since=2999-01-01');
    await untilWaiting(2);
    await add({ id: 'old', fields: { firstName: 'Updated' } });
    await add({ companyId: 'globex', id: 'of another company' });
    await add({ id: 'new' });
    expect(await idsOf(await current)).toEqual(['new']);
    expect(waiting()).toBe(1);
    void future.catch(() => undefined);
  });
});

const PLACES = {
  'without a branch': {},
  north: { branchId: 'north' },
  'north, sales': { branchId: 'north', departmentId: 'sales' },
  'north, service': { branchId: 'north', departmentId: 'service' },
  south: { branchId: 'south' },
};

/** The last column is the lead that ends the wait of each user. */
const ACCESS: readonly [user: string, ignored: (keyof typeof PLACES)[], ends: keyof typeof PLACES][] = [
  ['boss', [], 'without a branch'],
  ['north-lead', ['without a branch', 'south'], 'north'],
  ['north-lead', ['without a branch', 'south'], 'north, service'],
  ['seller', ['without a branch', 'south', 'north', 'north, service'], 'north, sales'],
];

describe('a lead that the user may not see does not end the wait', () => {
  it.each(ACCESS)('%s: not %j, but %s', async (user, ignored, ends) => {
    const { wait, untilWaiting, add, poll } = await startWaitingService();
    const answer = wait(user);
    await untilWaiting(1);
    for (const place of ignored) {
      await add({ id: place, ...PLACES[place] });
      // It revalidates the cache, and so wakes the one that waits.
      await poll('boss');
    }
    await add({ id: ends, ...PLACES[ends] });
    expect(await idsOf(await answer)).toEqual([ends]);
  });
});
