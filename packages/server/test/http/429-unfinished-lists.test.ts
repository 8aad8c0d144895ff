import { expect, it, onTestFinished, vi } from 'vitest';
import { deferred } from '../../../testing/harness/deferred.ts';
import { tokenWith } from '../../../testing/harness/intake.ts';
import { expectProblem } from '../../../testing/harness/problem.ts';
import { startService } from '../../../testing/harness/service.ts';

it.each(['/automation/connections', '/automation/connections/none/log'])(
  '%s: two of a user run, eight wait, and the others are refused',
  async (path) => {
    const test = await startService();
    const end = deferred();
    // Also if the test fails: the service waits for them.
    onTestFinished(() => end.resolve());
    let running = 0;
    const block = async () => {
      running += 1;
      await end.promise;
    };
    vi.spyOn(test.store.connections, 'list').mockImplementation(async () => {
      await block();
      return [];
    });
    vi.spyOn(test.store.connections, 'find').mockImplementation(async () => {
      await block();
      return undefined;
    });
    const get = async (userId: string) => {
      const authorization = `Bearer ${await tokenWith(test, userId, ['leads:read'], `of-${userId}`)}`;
      return fetch(`${test.url}${path}`, { headers: { authorization }, signal: AbortSignal.timeout(10_000) });
    };
    const consumed = vi.spyOn(test.limiters.users, 'consume');
    const answers = Array.from({ length: 10 }, () => get('boss'));
    await vi.waitFor(() => expect(consumed).toHaveBeenCalledTimes(10));
    const refused = await get('boss');
    expect((await expectProblem(refused, 'rate-limit-exceeded')).violatedPolicies).toEqual(['lists']);
    expect(refused.headers.get('retry-after')).toBe('1');
    expect(running).toBe(2);
    answers.push(get('rival'));
    await vi.waitFor(() => expect(running).toBe(3));
    end.resolve();
    const expected = path.endsWith('/log') ? 404 : 200;
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(Array(11).fill(expected));
  },
);
