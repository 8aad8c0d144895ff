import { describe, expect, it } from 'vitest';
import { sendLeads } from '../../../testing/harness/intake.ts';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { expectProblem } from '../../../testing/harness/problem.ts';
import { makeTestRedis } from '../../../testing/harness/redis.ts';
import { startService, type TestService } from '../../../testing/harness/service.ts';

async function useUp({ limiters }: TestService, userId: string, left: number): Promise<void> {
  for (let remaining = Number.POSITIVE_INFINITY; remaining > left; )
    remaining = (await limiters.intake.consume(userId)).windows[0]?.remaining ?? 0;
}

describe('429: requests that send leads', () => {
  it('are limited to 600 a minute for each user, over all tokens', async () => {
    const clock = manualClock();
    const test = await startService({ clock });
    await useUp(test, 'boss', 1);
    const last = await sendLeads(test, { id: 'last', firstName: 'Ada' });
    expect(last.status).toBe(201);
    expect(last.headers.get('ratelimit')).toMatch(/^"intake";r=0;t=60/);
    clock.advance(20_500);
    const answer = await sendLeads(test, { id: 'late', firstName: 'Ada' });
    const { violatedPolicies, detail } = await expectProblem(answer, 'rate-limit-exceeded');
    expect(violatedPolicies).toEqual(['intake']);
    expect(detail).toMatch(/up to 1,000 leads/);
    expect(answer.headers.get('retry-after')).toBe('40');
    expect(answer.headers.get('ratelimit-policy')).toBe('"intake";q=600;w=60');
    expect((await test.leads('boss')).map(({ id }) => id)).toEqual(['last']);
    expect((await sendLeads(test, { id: 'other', firstName: 'Ada' }, { userId: 'starter' })).status).toBe(
      201,
    );
    clock.advance(39_500);
    expect((await sendLeads(test, { id: 'late', firstName: 'Ada' })).status).toBe(201);
  });

  it('the leads of a user are limited, too: before the body is read if none is left', async () => {
    const clock = manualClock();
    const limits = { intakeLeadPolicies: [{ name: 'intake-leads', quota: 5, windowS: 60 }] };
    const test = await startService({ clock, limits });
    const three = (n: number) => [1, 2, 3].map((i) => ({ id: `${n}-${i}`, firstName: 'Ada' }));
    const first = await sendLeads(test, three(1));
    expect(first.status).toBe(201);
    expect(first.headers.get('ratelimit-policy')).toBe('"intake";q=600;w=60, "intake-leads";q=5;w=60');
    expect(first.headers.get('ratelimit')).toBe('"intake";r=599;t=60, "intake-leads";r=2;t=60');
    const second = await sendLeads(test, three(2));
    const { violatedPolicies, detail } = await expectProblem(second, 'rate-limit-exceeded');
    expect(violatedPolicies).toEqual(['intake-leads']);
    expect(detail).toMatch(/too many leads in this minute/);
    expect(second.headers.get('retry-after')).toBe('60');
    expect((await sendLeads(test, { id: 'one', firstName: 'Ada' })).status).toBe(201);
    const late = await sendLeads(test, { id: 'late', firstName: 'Ada' });
    expect([late.status, late.headers.get('ratelimit')]).toEqual([
      429,
      '"intake";r=596;t=60, "intake-leads";r=0;t=60',
    ]);
    expect(await test.leads('boss')).toHaveLength(4);
    expect((await sendLeads(test, three(3), { userId: 'starter' })).status).toBe(201);
    clock.advance(60_000);
    expect((await sendLeads(test, three(2))).status).toBe(201);
  });

  it('polls are not counted, and are not limited by it', async () => {
    const test = await startService({ clock: manualClock() });
    await useUp(test, 'boss', 0);
    const poll = await test.poll('boss');
    expect(poll.status).toBe(200);
    expect(poll.headers.get('ratelimit')).toMatch(/^"minute";r=99;t=60,/);
    expect((await sendLeads(test, { firstName: 'Ada' })).status).toBe(429);
    expect((await test.poll('boss')).headers.get('ratelimit')).toMatch(/"minute";r=98/);
  });

  it('a request that is rejected later counts, one that gets 429 does not', async () => {
    const test = await startService({
      clock: manualClock(),
      limits: { intakePolicies: [{ name: 'intake', quota: 2, windowS: 60 }] },
    });
    expect((await sendLeads(test, [])).status).toBe(422);
    expect((await sendLeads(test, { firstName: 'Ada' }, { scopes: ['leads:read'] })).status).toBe(403);
    for (let i = 0; i < 2; i += 1)
      expect((await sendLeads(test, { firstName: 'Ada' })).headers.get('ratelimit')).toBe(
        '"intake";r=0;t=60',
      );
  });

  it('instances share the limit over Redis, apart from that of polls', async () => {
    const { env } = await makeTestRedis();
    const limits = { intakePolicies: [{ name: 'intake', quota: 2, windowS: 60 }] };
    const one = await startService({ env, limits });
    const other = await startService({ env, limits, beside: one });
    expect((await sendLeads(one, { id: 'a', firstName: 'Ada' })).headers.get('ratelimit')).toMatch(
      /^"intake";r=1;/,
    );
    expect((await sendLeads(other, { id: 'b', firstName: 'Ada' })).headers.get('ratelimit')).toMatch(
      /^"intake";r=0;/,
    );
    expect((await sendLeads(one, { id: 'c', firstName: 'Ada' })).status).toBe(429);
    expect((await other.poll('boss')).headers.get('ratelimit')).toMatch(/^"minute";r=99;/);
  });
});
