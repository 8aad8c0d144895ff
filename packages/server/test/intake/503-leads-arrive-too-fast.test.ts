import { describe, expect, it, vi } from 'vitest';
import { deferred } from '../../../testing/harness/deferred.ts';
import { sendLeads, startIntake } from '../../../testing/harness/intake.ts';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { expectProblem } from '../../../testing/harness/problem.ts';
import { StampPace } from '../../src/leads/stamp-pace.ts';

const leads = (name: string) => Array.from({ length: 1000 }, (_, index) => ({ id: `${name}-${index}` }));

it('a company gets 503 while more than 5,000 leads are being written, other companies do not', async () => {
  const test = await startIntake();
  const { writeAllLeads } = test.store;
  const released = deferred();
  const write = vi.spyOn(test.store, 'writeAllLeads').mockImplementation(async (...args) => {
    await released.promise;
    return writeAllLeads.apply(test.store, args);
  });
  const accepted = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => sendLeads(test, leads(name)));
  await vi.waitFor(() => expect(write).toHaveBeenCalledTimes(accepted.length), { timeout: 30_000 });

  const answer = await sendLeads(test, { id: 'too-fast' });
  expect(answer.headers.get('retry-after')).toBe('6');
  const { detail } = await expectProblem(answer, 'unavailable');
  expect(detail).toMatch(/faster than 1,000 per second\. Nothing of this request is stored/);
  expect(write).toHaveBeenCalledTimes(accepted.length);

  const other = sendLeads(test, { id: 'other' }, { userId: 'rival' });
  await vi.waitFor(() => expect(write).toHaveBeenCalledTimes(accepted.length + 1), { timeout: 30_000 });
  released.resolve();
  for (const sent of [...accepted, other]) expect((await sent).status).toBe(201);
  expect(await test.store.findLeads('too-fast', 'acme')).toEqual([]);
});

it('writes that failed do not count', async () => {
  const test = await startIntake();
  const failed = vi.spyOn(test.store, 'writeAllLeads').mockRejectedValue(new Error('no'));
  for (let requests = 0; requests < 7; requests += 1)
    await expectProblem(await sendLeads(test, leads('x')), 'internal-error');
  expect(failed).toHaveBeenCalledTimes(7);
  failed.mockRestore();
  expect((await sendLeads(test, { id: 'next' })).status).toBe(201);
});

it('a clock that was set back blocks nothing', async () => {
  const clock = manualClock();
  const test = await startIntake({ clock });
  expect((await sendLeads(test, { id: 'before' })).status).toBe(201);
  clock.advance(-600_000);
  for (const id of ['a', 'b', 'c']) expect((await sendLeads(test, { id })).status).toBe(201);
});

describe('the pace of a company', () => {
  const makePace = () => {
    let now = 1_000_000;
    const pace = new StampPace(() => now);
    return { pace, advance: (ms: number) => (now += ms) };
  };

  it('counts a millisecond for each new lead, and the clock catches up', () => {
    const { pace, advance } = makePace();
    pace.reserve('acme', 1000)(1000);
    pace.reserve('acme', 1000)(1000);
    expect([pace.aheadMs('acme'), pace.aheadMs('beta')]).toEqual([2000, 0]);
    advance(1500);
    expect(pace.aheadMs('acme')).toBe(500);
    advance(1000);
    expect(pace.aheadMs('acme')).toBe(0);
    pace.reserve('acme', 10)(10);
    expect(pace.aheadMs('acme')).toBe(10);
  });

  it('counts leads that are being written until it is known how many are new', () => {
    const { pace, advance } = makePace();
    const settle = pace.reserve('acme', 1000);
    advance(5000);
    expect(pace.aheadMs('acme')).toBe(1000);
    settle(200);
    expect(pace.aheadMs('acme')).toBe(200);
  });
});
