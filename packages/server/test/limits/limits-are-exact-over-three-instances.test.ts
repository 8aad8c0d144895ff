import { describe, expect, it } from 'vitest';
import { makeTestRedis } from '../../../testing/harness/redis.ts';
import { startService } from '../../../testing/harness/service.ts';
import { LASTING_POLICIES } from './support/redis-instances.ts';

describe('three instances with one database and one Redis', () => {
  it('let 10 of 30 requests pass that one user sends to them at once', async () => {
    const { env } = await makeTestRedis();
    const limits = { userPolicies: LASTING_POLICIES };
    const first = await startService({ env, limits });
    const others = await Promise.all([1, 2].map(() => startService({ env, limits, beside: first })));
    const instances = [first, ...others];
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => instances.map((instance) => instance.poll('boss'))).flat(),
    );
    const byStatus = (status: number) => answers.filter((answer) => answer.status === status);
    expect(byStatus(200)).toHaveLength(10);
    expect(byStatus(429)).toHaveLength(20);

    const left = byStatus(200).map(({ headers }) => headers.get('ratelimit')?.replaceAll(/;t=\d+/g, ''));
    const expected = Array.from({ length: 10 }, (_, i) => `"minute";r=${i}, "hour";r=${90 + i}`);
    expect(left.sort()).toEqual(expected.sort());
    for (const { headers } of byStatus(429)) {
      expect(headers.get('ratelimit')).toMatch(/^"minute";r=0;t=\d+, "hour";r=90;t=\d+$/);
      expect(Number(headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    }
    // Other users are not affected.
    for (const { poll } of instances) expect((await poll('north-lead')).status).toBe(200);
  });

  it('let an address fail 6 times over all instances', async () => {
    const { env } = await makeTestRedis();
    const limits = { failedTokenPolicies: [{ name: 'failed-tokens', quota: 6, windowS: 86_400 }] };
    const first = await startService({ env, limits });
    const second = await startService({ env, limits, beside: first });
    const guess = async ({ url }: { url: string }) => {
      const headers = { authorization: 'Bearer guess' };
      const { status } = await fetch(`${url}/automation/new-leads`, { headers });
      return status;
    };
    const statuses = await Promise.all(Array.from({ length: 8 }, () => [guess(first), guess(second)]).flat());
    expect(statuses.filter((status) => status === 401)).toHaveLength(6);
    expect(statuses.filter((status) => status === 429)).toHaveLength(10);
  });
});
