import { createPollHandler } from 'leadtap';
import { inject } from 'light-my-request';
import { expect, test } from 'vitest';
import { noLimit } from '../../../testing/harness/endpoint.ts';
import { ManualTimers, settle } from './support/manual-timers.ts';
import { ModelStore } from './support/model-store.ts';

const STARTED_AT = Date.parse('2026-03-02T09:30:00.000Z');

test('while a writer is busy, `Date` is not later than the newest lead, so that it is a watermark', async () => {
  const timers = new ManualTimers();
  const clock = () => STARTED_AT + timers.nowMs;
  const store = new ModelStore(clock);
  const options = {
    limiter: noLimit,
    clock,
    schedule: timers.schedule,
    verifyToken: async (userId: string) => ({ kind: 'valid', token: { userId } }) as const,
  };
  const app = createPollHandler({ ...options, store });
  const answer = inject(app, {
    url: '/automation/new-leads?since=2026-03-02T09:30:00Z',
    headers: { authorization: 'Bearer acme', prefer: 'wait=50' },
  });
  await settle();
  // `Date` has whole seconds: the lead is committed just before the end of one, and read after it.
  await timers.advance(980);
  store.commitLead('acme', null);
  // The next writer has its stamp, 982 ms, and is not committed yet.
  store.busy.add('acme');
  await timers.advance(50);
  const { headers, body } = await answer;
  expect(JSON.parse(body)).toMatchObject([{ createdAt: '2026-03-02T09:30:00.981Z' }]);
  expect(headers['date']).toBe('Mon, 02 Mar 2026 09:30:00 GMT');
  expect(headers['link']).toContain('since=2026-03-02T09:30:00.981Z');
});
