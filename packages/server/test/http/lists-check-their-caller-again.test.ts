import { afterEach, expect, it, onTestFinished, vi } from 'vitest';
import { deferred } from '../../../testing/harness/deferred.ts';
import { tokenWith } from '../../../testing/harness/intake.ts';
import { expectProblem } from '../../../testing/harness/problem.ts';
import { startService } from '../../../testing/harness/service.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

/** Lists and logs of `boss` that wait until `end`: some are running, the others wait for them. */
async function startLists(path: string, count: number) {
  const test = await startService();
  const end = deferred();
  onTestFinished(() => end.resolve());
  const list = vi.spyOn(test.store.connections, 'list').mockImplementation(async () => {
    await end.promise;
    return [];
  });
  vi.spyOn(test.store.connections, 'find').mockImplementation(async () => {
    await end.promise;
    return undefined;
  });
  const authorization = `Bearer ${await tokenWith(test, 'boss', ['leads:read'], 'of-boss')}`;
  const consumed = vi.spyOn(test.limiters.users, 'consume');
  const answers = Array.from({ length: count }, () =>
    fetch(`${test.url}${path}`, { headers: { authorization } }),
  );
  await vi.waitFor(() => expect(consumed).toHaveBeenCalledTimes(count));
  return { ...test, answers, list, end: () => end.resolve() };
}

it.each(['/automation/connections', '/automation/connections/none/log'])(
  '%s: a token that was revoked while it ran or waited gets 401',
  async (path) => {
    const { answers, store, end } = await startLists(path, 4);
    await store.revokeToken('of-boss');
    end();
    for (const answer of await Promise.all(answers)) await expectProblem(answer, 'token-revoked');
  },
);

it('one that has waited for ten seconds gets 503, and its place is free again', async () => {
  const timeout = new AbortController();
  const timeouts = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(timeout.signal);
  const { answers, list, end } = await startLists('/automation/connections', 10);
  const answered: Response[] = [];
  // Any two of them run.
  for (const answer of answers) void answer.then((response) => answered.push(response));
  await vi.waitFor(() => expect(list).toHaveBeenCalledTimes(2));
  expect(timeouts).toHaveBeenCalledWith(10_000);
  timeout.abort(new DOMException('', 'TimeoutError'));
  await vi.waitFor(() => expect(answered).toHaveLength(8));
  for (const answer of answered.slice(0, 8)) await expectProblem(answer, 'unavailable');
  end();
  await Promise.all(answers);
  expect(answered.slice(8).map(({ status }) => status)).toEqual([200, 200]);
});
