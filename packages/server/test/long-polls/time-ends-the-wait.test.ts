import { expect, test } from 'vitest';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { appliedOf, startWaitingService } from './support/long-polls-service.ts';

const ONE_SECOND = { headers: { prefer: 'wait=1' } };

test('after N seconds the page is read again, and its Date is the time of that read', async () => {
  const clock = manualClock('2026-03-02T09:30:00.000Z');
  const { wait, untilWaiting, waiting, passTime } = await startWaitingService({ clock });
  const answer = wait('boss', 'since=2026-01-01', ONE_SECOND);
  await untilWaiting(1);
  await passTime(999);
  expect(waiting()).toBe(1);
  clock.advance(7000);
  await passTime(1);
  const response = await answer;
  expect(response.status).toBe(200);
  expect(await response.json()).toEqual([]);
  expect(appliedOf(response)).toBe('wait=1');
  expect(response.headers.get('date')).toBe('Mon, 02 Mar 2026 09:30:07 GMT');
  expect(response.headers.get('link')).toContain('since=2026-01-01T00:00:00.000Z&limit=100');
  expect(response.headers.get('connection')).not.toBe('close');
  expect(waiting()).toBe(0);
});

test('the page that is still empty is not modified: 304 after N seconds, not before', async () => {
  const { wait, untilWaiting, waiting, passTime, poll } = await startWaitingService();
  const etag = (await poll('boss', 'since=2026-01-01')).headers.get('etag') ?? '';
  const answer = wait('boss', 'since=2026-01-01', { headers: { prefer: 'wait=1', 'if-none-match': etag } });
  await untilWaiting(1);
  await passTime(999);
  expect(waiting()).toBe(1);
  await passTime(1);
  const response = await answer;
  expect(response.status).toBe(304);
  expect(appliedOf(response)).toBe('wait=1');
});

test('a page with a lead is another one: 200 as soon as the lead is there', async () => {
  const { wait, untilWaiting, poll, add } = await startWaitingService();
  const etag = (await poll('boss', 'since=2026-01-01')).headers.get('etag') ?? '';
  const answer = wait('boss', 'since=2026-01-01', { headers: { 'if-none-match': etag } });
  await untilWaiting(1);
  await add({ id: 'new' });
  const response = await answer;
  expect(response.status).toBe(200);
  expect(await response.json()).toMatchObject([{ id: 'new' }]);
});

test('a page with leads that the client has is not modified: 304 at once', async () => {
  const { wait, add, waiting, poll } = await startWaitingService();
  await add({});
  const etag = (await poll('boss', 'since=2026-01-01')).headers.get('etag') ?? '';
  const response = await wait('boss', 'since=2026-01-01', { headers: { 'if-none-match': etag } });
  expect(response.status).toBe(304);
  expect(waiting()).toBe(0);
});
