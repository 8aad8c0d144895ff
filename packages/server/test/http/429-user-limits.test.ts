import { NEW_LEADS_PATH } from '@leadtap/contract';
import { type Policy, USER_POLICIES } from 'leadtap';
import { describe, expect, it } from 'vitest';
import { type ManualClock, manualClock } from '../../../testing/harness/manual-clock.ts';
import { expectProblem } from '../../../testing/harness/problem.ts';
import { startService } from '../../../testing/harness/service.ts';

const FEW: readonly Policy[] = [
  { name: 'minute', quota: 10, windowS: 60 },
  { name: 'hour', quota: 100, windowS: 3600 },
];

async function startWithClock(userPolicies = USER_POLICIES) {
  const clock = manualClock();
  const test = await startService({ clock, limits: { userPolicies } });
  const ask = (token: string) =>
    test.inject({ url: NEW_LEADS_PATH, headers: { authorization: `Bearer ${token}` } });
  /** Sends this many requests and returns how many passed. */
  const passing = async (token: string, count: number) => {
    let passed = 0;
    for (let i = 0; i < count; i += 1) if ((await ask(token)).statusCode === 200) passed += 1;
    return passed;
  };
  return { ...test, clock, ask, passing };
}

const tokenFor = (test: Awaited<ReturnType<typeof startWithClock>>, userId = 'boss') =>
  test.token(userId, { expiresInMs: 24 * 3_600_000 });

const MINUTE_MS = 60_000;

/** Ten requests in each of ten minutes: the hour is used up. */
async function useUpTheHour(passing: () => Promise<number>, clock: ManualClock) {
  for (let minute = 0; minute < 10; minute += 1) {
    expect(await passing()).toBe(10);
    if (minute < 9) clock.advance(MINUTE_MS);
  }
}

describe('429: a user', () => {
  it('has exactly 100 requests a minute', async () => {
    const test = await startWithClock();
    const token = await tokenFor(test);
    expect(await test.passing(token, 130)).toBe(100);
    test.clock.advance(MINUTE_MS);
    expect(await test.passing(token, 130)).toBe(100);
  });

  it('gets the remaining requests on each response', async () => {
    const test = await startWithClock();
    const token = await tokenFor(test);
    for (let used = 1; used <= 100; used += 1) {
      const { headers } = await test.ask(token);
      expect(headers['ratelimit-policy']).toBe('"minute";q=100;w=60, "hour";q=1000;w=3600');
      expect(headers['ratelimit']).toBe(`"minute";r=${100 - used};t=60, "hour";r=${1000 - used};t=3600`);
    }
    test.clock.advance(17_001);
    const refused = await test.ask(token);
    expect(refused.headers['ratelimit']).toBe('"minute";r=0;t=43, "hour";r=900;t=3583');
    test.clock.advance(42_999);
    expect((await test.ask(token)).headers['ratelimit']).toBe('"minute";r=99;t=60, "hour";r=899;t=3540');
  });

  it('gets a problem with the exceeded policy and a whole number of seconds', async () => {
    const test = await startWithClock(FEW);
    const token = await tokenFor(test);
    await test.passing(token, 10);
    test.clock.advance(16_500);
    const answer = await test.ask(token);
    const { violatedPolicies } = await expectProblem(answer, 'rate-limit-exceeded');
    expect(violatedPolicies).toEqual(['minute']);
    // 43.5 s, as whole seconds after which the request passes.
    expect(answer.headers['retry-after']).toBe('44');
  });

  it('passes after Retry-After and not a second before', async () => {
    const test = await startWithClock(FEW);
    const token = await tokenFor(test);
    await test.passing(token, 10);
    test.clock.advance(16_500);
    const wait = Number((await test.ask(token)).headers['retry-after']);
    test.clock.advance((wait - 1) * 1000);
    expect((await test.ask(token)).statusCode).toBe(429);
    test.clock.advance(1000);
    expect((await test.ask(token)).statusCode).toBe(200);
  });

  it('has an hourly limit too, and Retry-After covers both windows', async () => {
    const test = await startWithClock(FEW);
    const token = await tokenFor(test);
    await useUpTheHour(() => test.passing(token, 11), test.clock);

    const both = await test.ask(token);
    expect((await expectProblem(both, 'rate-limit-exceeded')).violatedPolicies).toEqual(['minute', 'hour']);
    expect(both.headers['retry-after']).toBe(String(3600 - 9 * 60));

    test.clock.advance(MINUTE_MS);
    const hourAlone = await test.ask(token);
    expect((await expectProblem(hourAlone, 'rate-limit-exceeded')).violatedPolicies).toEqual(['hour']);
    expect(hourAlone.headers['retry-after']).toBe('3000');

    test.clock.advance(2_999_000);
    expect((await test.ask(token)).statusCode).toBe(429);
    test.clock.advance(1000);
    expect((await test.ask(token)).headers['ratelimit']).toMatch(/"hour";r=99;t=3600$/);
  });

  it('uses no unit with requests that get 429', async () => {
    const test = await startWithClock(FEW);
    const token = await tokenFor(test);
    await test.passing(token, 10);
    expect(await test.passing(token, 20)).toBe(0);
    test.clock.advance(MINUTE_MS);
    expect((await test.ask(token)).headers['ratelimit']).toBe('"minute";r=9;t=60, "hour";r=89;t=3540');
  });

  it('has one limit for all tokens together', async () => {
    const test = await startWithClock(FEW);
    const tokens = [await tokenFor(test), await tokenFor(test), await tokenFor(test)];
    const passed = [];
    for (const token of tokens) passed.push(await test.passing(token, 4));
    expect(passed).toEqual([4, 4, 2]);
  });

  it('does not affect other users', async () => {
    const test = await startWithClock(FEW);
    await test.passing(await tokenFor(test, 'boss'), 11);
    for (const userId of ['seller', 'rival', 'BOSS', 'unknown']) {
      const { headers } = await test.ask(await tokenFor(test, userId));
      expect(headers['ratelimit']).toBe('"minute";r=9;t=60, "hour";r=99;t=3600');
    }
  });

  it.each(['unknown', 'starter'])('is limited too if a later check fails: %s', async (userId) => {
    const test = await startWithClock(FEW);
    const token = await tokenFor(test, userId);
    await test.passing(token, 10);
    await expectProblem(await test.ask(token), 'rate-limit-exceeded');
  });
});
