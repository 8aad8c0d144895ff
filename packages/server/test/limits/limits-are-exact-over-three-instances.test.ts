import { describe, expect, it } from 'vitest';
import { makeTestRedis } from '../harness/redis.ts';
import { startService } from '../harness/service.ts';

describe('three instances with one database and one Redis', () => {
  it('let 100 of 300 requests pass that one user sends to them at once', async () => {
    const { env } = await makeTestRedis();
    const first = await startService({ env });
    const others = await Promise.all([1, 2].map(() => startService({ env, beside: first })));
    const instances = [first, ...others];
    const answers = await Promise.all(
      Array.from({ length: 100 }, () => instances.map((instance) => instance.poll('boss'))).flat(),
    );
    const byStatus = (status: number) => answers.filter((answer) => answer.status === status);
    expect(byStatus(200)).toHaveLength(100);
    expect(byStatus(429)).toHaveLength(200);

    const left = byStatus(200).map(({ headers }) => headers.get('ratelimit')?.replaceAll(/;t=\d+/g, ''));
    const expected = Array.from({ length: 100 }, (_, i) => `"minute";r=${i}, "hour";r=${900 + i}`);
    expect(left.sort()).toEqual(expected.sort());
    for (const { headers } of byStatus(429)) {
      expect(headers.get('ratelimit')).toMatch(/^"minute";r=0;t=\d+, "hour";r=900;t=\d+$/);
      expect(Number(headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    }
    // Nobody else is touched by it.
    for (const { poll } of instances) expect((await poll('north-lead')).status).toBe(200);
  });

  it('let an address fail 600 times, whichever of them it tries', async () => {
    const { env } = await makeTestRedis();
    const first = await startService({ env });
    const second = await startService({ env, beside: first });
    const guess = async ({ url }: { url: string }) => {
      const headers = { authorization: 'Bearer guess' };
      const { status } = await fetch(`${url}/automation/new-leads`, { headers });
      return status;
    };
    const statuses = await Promise.all(
      Array.from({ length: 310 }, () => [guess(first), guess(second)]).flat(),
    );
    expect(statuses.filter((status) => status === 401)).toHaveLength(600);
    expect(statuses.filter((status) => status === 429)).toHaveLength(20);
  });
});
