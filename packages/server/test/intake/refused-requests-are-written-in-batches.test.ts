import { expect, it, vi } from 'vitest';
import { deferred } from '../../../testing/harness/deferred.ts';
import { sendBody } from '../../../testing/harness/intake.ts';
import { expectProblem } from '../../../testing/harness/problem.ts';
import { startService } from '../../../testing/harness/service.ts';
import { StoreUnavailableError } from '../../src/sql/errors.ts';

it('the answers wait for the commit of their batch, which has the same body once', async () => {
  const test = await startService();
  const { refusedLeads } = test.store;
  const blocked = deferred();
  const { record } = refusedLeads;
  const recording = vi.spyOn(refusedLeads, 'record').mockImplementation(async (rows) => {
    await blocked.promise;
    return record(rows);
  });
  const hold = vi.spyOn(test.service.refusedLeads, 'hold');
  let answered = 0;
  const send = async (mail: string): Promise<boolean | undefined> => {
    const { held } = await expectProblem(await sendBody(test, `{"mail":"${mail}"}`), 'invalid-lead');
    answered += 1;
    return held;
  };
  const answers = [send('first')];
  await vi.waitFor(() => expect(recording).toHaveBeenCalled());
  answers.push(send('ada'), send('ada'), send('ben'));
  await vi.waitFor(() => expect(hold).toHaveBeenCalledTimes(4));
  expect(answered).toBe(0);
  blocked.resolve();
  expect(await Promise.all(answers)).toEqual([true, true, true, true]);
  expect(recording.mock.calls.map(([rows]) => rows.map(({ times }) => times).sort())).toEqual([[1], [1, 2]]);
});

it('a transaction has 512 KiB, and the companies take turns', async () => {
  const test = await startService();
  const recording = vi.spyOn(test.store.refusedLeads, 'record');
  const send = (userId: string, at: number) =>
    sendBody(test, `{"mail":"${at}${'x'.repeat(60_000)}"}`, { userId });
  const large = Array.from({ length: 20 }, (_, at) => send('boss', at));
  await Promise.all([...large, send('rival', 0)]);
  for (const [rows] of recording.mock.calls)
    expect(rows.slice(0, -1).reduce((sum, { body }) => sum + body.length, 0)).toBeLessThan(512 * 1024);
  expect(await test.store.refusedLeads.list({ limit: 100 })).toHaveLength(21);
});

it('while the database cannot be written, the answer is 503: the sender repeats it, and nothing is lost', async () => {
  const test = await startService();
  const failing = vi
    .spyOn(test.store.refusedLeads, 'record')
    .mockRejectedValue(new StoreUnavailableError('the disk is full'));
  const send = () => sendBody(test, '{"mail":"ada@example.com"}');
  await expectProblem(await send(), 'unavailable');
  failing.mockRestore();
  expect(await expectProblem(await send(), 'invalid-lead')).toMatchObject({ held: true });
});
