import { expect, it } from 'vitest';
import { tokenWith } from '../../../testing/harness/intake.ts';
import { startService } from '../../../testing/harness/service.ts';

it('lists and logs are answered while a write of leads still waits for the lock', async () => {
  const test = await startService();
  const token = await tokenWith(test, 'boss', ['leads:read', 'leads:write'], 'of-boss');
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const send = async (path: string, body?: string): Promise<number> =>
    (await fetch(`${test.url}${path}`, { headers, ...(body !== undefined && { method: 'POST', body }) }))
      .status;
  const lead = '{"firstName":"Ada"}';
  // What the lists write before they read.
  expect(await send('/leads', lead)).toBe(201);
  expect(await send('/automation/new-leads')).toBe(200);
  const release = await test.database.holdLock('acme');
  // Waits for the lock for as long as a poll may, and then reads without it.
  const begunAt = performance.now();
  expect(await send('/automation/new-leads')).toBe(200);
  const pollMs = performance.now() - begunAt;
  let isWritten = false;
  const written = send('/leads', lead).then((status) => {
    isWritten = true;
    return status;
  });
  // As many as a user may have at once: two run at a time.
  const lists = ['consumers', 'senders', 'consumers', 'senders', 'consumers', 'senders'];
  const logs = ['consumers/none/log', 'senders/none/log', 'consumers/none/log', 'senders/none/log'];
  const listsBegunAt = performance.now();
  const answers = await Promise.all([...lists, ...logs].map((path) => send(`/automation/${path}`)));
  expect(performance.now() - listsBegunAt).toBeLessThan(4 * pollMs);
  expect([answers, isWritten]).toEqual([[...lists.map(() => 200), ...logs.map(() => 404)], false]);
  await release();
  expect(await written).toBe(201);
});
