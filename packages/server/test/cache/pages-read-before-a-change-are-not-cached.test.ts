import type { Store } from 'leadtap';
import { describe, expect, it, vi } from 'vitest';
import { startService, type TestService } from '../../../testing/harness/service.ts';
import { untilChangesAreTracked } from './support/change-tracking.ts';

/** After the next read of leads has read the database, and before its result is used. */
function afterNextRead({ changeTracking }: Store, work: () => Promise<unknown>): void {
  const tracking = changeTracking;
  const { readLeads } = tracking;
  vi.spyOn(tracking, 'readLeads').mockImplementationOnce(async (...query) => {
    const leads = await readLeads.apply(tracking, query);
    await work();
    return leads;
  });
}

async function start(): Promise<TestService> {
  const test = await startService();
  await untilChangesAreTracked(test.store);
  // The first revalidation of a cache invalidates everything.
  await test.poll('rival');
  return test;
}

const namesOf = async ({ leads }: TestService) =>
  (await leads('boss', 'since=2026-01-01')).map(({ id, firstName }) => [id, firstName]);

/** A poll of another user of the company: its revalidation is the one that returns the change. */
const pollOfAnother = ({ poll }: TestService) => poll('north-lead', 'since=2200-01-01');

const CHANGES: readonly [string, (test: TestService) => Promise<unknown>, readonly (string | null)[][]][] = [
  [
    'a lead was added',
    ({ add }) => add({ id: 'b' }),
    [
      ['a', null],
      ['b', null],
    ],
  ],
  ['a lead was changed', ({ add }) => add({ id: 'a', fields: { firstName: 'Ada' } }), [['a', 'Ada']]],
];

describe.each(CHANGES)('the next poll sees that %s', (_title, change, expected) => {
  it('while a page was read', async () => {
    const test = await start();
    await test.add({ id: 'a' });
    afterNextRead(test.store, async () => {
      await change(test);
      await pollOfAnother(test);
    });
    expect(await namesOf(test)).toEqual([['a', null]]);
    expect(await namesOf(test)).toEqual(expected);
  });

  it('while new leads were read for a cached page', async () => {
    const test = await start();
    expect(await namesOf(test)).toEqual([]);
    await test.add({ id: 'a' });
    afterNextRead(test.store, async () => {
      await change(test);
      await pollOfAnother(test);
    });
    expect(await namesOf(test)).toEqual([['a', null]]);
    expect(await namesOf(test)).toEqual(expected);
  });
});
