import type { Organisation, User } from 'leadtap';
import { describe, expect, it } from 'vitest';
import { ownRedis } from '../../../testing/harness/redis.ts';
import { startService, type TestService } from '../../../testing/harness/service.ts';
import type { RedisServer } from '../../../testing/servers/redis.ts';
import type { RedisTimeouts } from '../../src/limits/redis/connection.ts';
import { eventually } from '../faults/eventually.ts';
import { ChangingTimeouts } from './support/redis-instances.ts';

const USERS = Array.from({ length: 100 }, (_, i) => `user-${i}`);

const professional = (id: string): Omit<User, 'companyId'> => ({
  id,
  email: null,
  name: null,
  plan: 'PROFESSIONAL',
  accessLevel: 'COMPANY',
  branchId: null,
  departmentId: null,
});

const ORGANISATION: Organisation = {
  companies: [{ id: 'acme', name: 'Acme', branches: [], users: [...USERS, 'boss'].map(professional) }],
};

/** As pino writes them. */

/** A window that does not end during the test. */
const POLICIES = [{ name: 'minute', quota: 100, windowS: 86_400 }];

/** An instance, and the levels of its log lines about Redis. */
async function startInstance(redis: RedisServer, redisTimeouts: RedisTimeouts, beside?: TestService) {
  const lines: { level: string; msg: string }[] = [];
  const service = await startService({
    env: { LEADTAP_REDIS_URL: redis.url },
    organisation: ORGANISATION,
    limits: { userPolicies: POLICIES, redisTimeouts },
    logTo: { write: (line) => void lines.push(JSON.parse(line)) },
    ...(beside && { beside }),
  });
  const levels = () =>
    lines.filter(({ level, msg }) => level !== 'debug' && msg.includes('Redis')).map(({ level }) => level);
  return { ...service, levels };
}

async function metric({ metricsUrl }: TestService, name: string): Promise<number> {
  const text = await (await fetch(metricsUrl)).text();
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1] ?? Number.NaN);
}

const OUTAGES = [
  {
    name: 'is killed and started again',
    inject: (redis: RedisServer) => redis.kill(),
    repair: (redis: RedisServer) => redis.start(),
  },
  {
    name: 'hangs and continues',
    inject: async (redis: RedisServer, timeouts: ChangingTimeouts) => {
      redis.pause();
      timeouts.detectSilence();
    },
    repair: async (redis: RedisServer, timeouts: ChangingTimeouts) => {
      timeouts.wait();
      redis.resume();
    },
  },
];

describe.each(OUTAGES)('while Redis $name', ({ inject, repair }) => {
  it('every poll is answered, and afterwards the limits are exact again', async () => {
    const redis = await ownRedis();
    const timeouts = new ChangingTimeouts();
    const first = await startInstance(redis, timeouts);
    const second = await startInstance(redis, timeouts, first);
    const instances = [first, second];
    const tokens = await Promise.all(USERS.map((user) => first.token(user)));

    let isOver = false;
    const statuses = new Map<number, number>();
    const load = instances.flatMap(({ url }, i) =>
      Array.from({ length: 4 }, async (_, n) => {
        for (let turn = i * 4 + n; !isOver; turn += 8) {
          const headers = { authorization: `Bearer ${tokens[turn % tokens.length]}` };
          const { status } = await fetch(`${url}/automation/new-leads`, { headers });
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
        }
      }),
    );
    const until = (value: number) =>
      Promise.all(
        instances.map((instance) =>
          eventually(async () => expect(await metric(instance, 'leadtap_shared_limits_up')).toBe(value)),
        ),
      );

    await inject(redis, timeouts);
    await until(0);
    for (const { url } of instances) expect((await fetch(`${url}/readyz`)).status).toBe(200);
    const counted = await metric(first, 'leadtap_limits_fallback_total');
    await eventually(async () =>
      expect(await metric(first, 'leadtap_limits_fallback_total')).toBeGreaterThan(counted),
    );
    await repair(redis, timeouts);
    await until(1);
    isOver = true;
    await Promise.all(load);

    // A fast machine may use up the limits of the users.
    statuses.delete(429);
    expect([...statuses.keys()]).toEqual([200]);
    for (const { levels } of instances) expect(levels()).toEqual(['warn', 'info']);
    const answers = await Promise.all(
      Array.from({ length: 60 }, () => instances.map(({ poll }) => poll('boss'))).flat(),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(100);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(20);
  });
});

describe('without a Redis', () => {
  it('there is no metric about it', async () => {
    const { metricsUrl } = await startService();
    const text = await (await fetch(metricsUrl)).text();
    expect(text).toContain('leadtap_polls_total');
    expect(text).not.toMatch(/leadtap_shared_limits_up|leadtap_limits_fallback_total/);
  });
});
