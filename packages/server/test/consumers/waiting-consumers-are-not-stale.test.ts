import { expect, it, vi } from 'vitest';
import { untilHeld } from '../../../testing/harness/held-polls.ts';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { startService } from '../../../testing/harness/service.ts';
import { activityOf } from '../../src/status/consumer-states.ts';
import { client, iso, summary } from './support/consumers.ts';

it('a consumer that waits for a lead is active for the whole wait, and stale afterwards', async () => {
  const clock = manualClock();
  const service = await startService({ clock });
  const { poll, position } = await client(service, 'boss', 'n8n');
  // It polls every 5 seconds at first, for 10 minutes.
  const times = Array.from({ length: 121 }, (_, index) => clock() - 5000 * (121 - index));
  await service.store.consumers.record(times.map((lastPollAt) => summary('boss', 'n8n', { lastPollAt })));
  const held = poll(`since=${iso(clock())}`, { headers: { prefer: 'wait=50' } });
  await untilHeld(service);
  const waiting = await position(clock());
  expect(waiting).toMatchObject({ polls: 121, lastPollAt: clock(), heldUntil: clock() + 50_000 });
  for (const elapsedMs of [0, 49_000, 50_000 + 14_000])
    expect(activityOf(waiting, clock() + elapsedMs)).toBe('active');
  expect(activityOf(waiting, clock() + 50_000 + 16_000)).toBe('stale');

  const [added] = await service.add({});
  expect(await (await held).json()).toHaveLength(1);
  expect(await position(clock())).toMatchObject({ polls: 122, deliveredThrough: added });
});

it('a consumer whose client disconnects while it waits has confirmed what it asked to follow', async () => {
  const service = await startService();
  const { poll, position } = await client(service, 'boss', 'n8n');
  const [first = 0] = await service.add({});
  await poll('');
  for (const _ of [1, 2]) {
    const disconnect = new AbortController();
    const init = { headers: { prefer: 'wait=50' }, signal: disconnect.signal };
    const held = poll(`since=${iso(first)}`, init);
    await untilHeld(service);
    disconnect.abort();
    await expect(held).rejects.toThrow();
    await untilHeld(service, 0);
  }
  expect(await position()).toMatchObject({ confirmedThrough: first, deliveredThrough: first, gaps: [] });
});

it('a consumer whose poll finds no free place is not recorded as one that waits', async () => {
  const service = await startService({ env: { LEADTAP_MAX_LONG_POLLS: '0' } });
  const { poll, position } = await client(service, 'boss', 'n8n');
  const answer = await poll(`since=${iso(Date.now())}`, { headers: { prefer: 'wait=50' } });
  expect(await answer.json()).toEqual([]);
  expect(await position()).toMatchObject({ polls: 1, heldUntil: null });
});

it('a recorder that throws fails no poll, also not one that waits', async () => {
  const service = await startService();
  const { recorder } = service.service;
  if (!recorder) throw new Error('the service has no recorder');
  const fail = () => {
    throw new Error('a bug of the recorder');
  };
  vi.spyOn(recorder, 'recordPoll').mockImplementation(fail);
  vi.spyOn(recorder, 'recordWait').mockImplementation(fail);
  const { poll } = await client(service, 'boss', 'n8n');
  const answer = await poll(`since=${iso(Date.now())}`, { headers: { prefer: 'wait=1' } });
  expect(answer.status).toBe(200);
});
