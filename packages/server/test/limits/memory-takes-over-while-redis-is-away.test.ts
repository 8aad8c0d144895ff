import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { RedisServer } from '../../../../test/servers/redis.ts';
import { USER_POLICIES, type Verdict } from '../../src/limits/limiter.ts';
import { ownRedis } from '../harness/own-servers.ts';
import { provenThen, startImpostor } from './impostor.ts';
import { atOnce, type Instance, openInstance, openInstances, redisCommands } from './sharing.ts';

interface Fault {
  readonly name: string;
  /** Takes Redis away, and gives the way to bring it back. */
  readonly strike: (server: RedisServer) => Promise<() => Promise<unknown>>;
  /** Redis comes back without what it knew. */
  readonly forgets?: boolean;
}

/** Changes the server by commands over a connection that outlives the fault. */
const byCommands =
  (strike: readonly string[], mend: readonly string[]): Fault['strike'] =>
  async ({ url }) => {
    const commands = await redisCommands(url);
    const run = async (lines: readonly string[]) => {
      for (const line of lines) await commands.sendCommand(line.split(' '));
    };
    await run(strike);
    return () => run(mend);
  };

const CUT_THE_OTHERS = 'CLIENT KILL TYPE normal SKIPME yes';

const FAULTS: readonly Fault[] = [
  {
    name: 'is killed',
    strike: async (server) => {
      await server.kill();
      return () => server.start();
    },
    forgets: true,
  },
  {
    name: 'hangs',
    strike: async (server) => {
      server.pause();
      return async () => server.resume();
    },
  },
  {
    name: 'becomes a replica, which takes no writes',
    strike: byCommands(['REPLICAOF 127.0.0.1 1'], ['REPLICAOF NO ONE']),
  },
  {
    name: 'is out of memory',
    strike: byCommands(['CONFIG SET maxmemory 1'], ['CONFIG SET maxmemory 0']),
  },
  {
    name: 'has another password',
    strike: byCommands(['CONFIG SET requirepass other', CUT_THE_OTHERS], ['CONFIG SET requirepass ']),
  },
  {
    name: 'takes away the right to run scripts',
    strike: byCommands(['ACL SETUSER default -eval -evalsha'], ['ACL SETUSER default +@all']),
  },
];

const resolvesAtOnce = (work: unknown): Promise<boolean> =>
  Promise.race([
    Promise.resolve(work).then(() => true),
    new Promise<false>((resolve) => setImmediate(resolve, false)),
  ]);

/** Lets the time of the test go on, and what comes from outside come in. */
async function pass(ms: number): Promise<void> {
  vi.advanceTimersByTime(ms);
  await new Promise(setImmediate);
}

/** What the script answers to the first request of a user. */
const COUNTED = '*5\r\n:0\r\n:1\r\n:60000\r\n:1\r\n:3600000\r\n';

/** One that asks until the instance has noticed; none of its requests may fail. */
async function askUntilAway({ limiter, limits }: Instance): Promise<void> {
  while (limits.isUp) await limiter.consume('anyone');
}

describe.each(FAULTS)('while Redis $name', ({ strike, forgets = false }) => {
  it('each instance limits by itself and at once, says so once, and shares again afterwards', async () => {
    const redis = await ownRedis();
    const instances = await openInstances(3, redis.url, USER_POLICIES);
    await atOnce(30, instances, 'known');
    const mend = await strike(redis);
    let isMended = false;
    const mendOnce = async () => {
      if (!isMended) await mend();
      isMended = true;
    };
    onTestFinished(mendOnce);

    await Promise.all(instances.map(askUntilAway));
    for (const { limiter, limits, log } of instances) {
      const before = limits.fallbacks;
      expect(await resolvesAtOnce(limiter.consume('ada'))).toBe(true);
      const verdicts = await atOnce(120, [{ limiter }], 'ada');
      // One request was before.
      expect(verdicts.filter(({ violated }) => violated.length === 0)).toHaveLength(99);
      expect(limits.fallbacks).toBe(before + 121);
      await log.attempts(1);
      expect(log.levels).toEqual(['warn']);
    }

    await mendOnce();
    await Promise.all(instances.map(({ log }) => log.last('info')));
    const verdicts = await atOnce(300, instances, 'ben');
    expect(verdicts.filter(({ violated }) => violated.length === 0)).toHaveLength(100);
    const known = await atOnce(300, instances, 'known');
    expect(known.filter(({ violated }) => violated.length === 0)).toHaveLength(forgets ? 100 : 70);
    for (const { log, limits } of instances) {
      expect(log.levels).toEqual(['warn', 'info']);
      expect(limits.isUp).toBe(true);
    }
  });
});

describe('a request', () => {
  it('waits for a Redis that hangs for 200 ms at most, and the next one not at all', async () => {
    const redis = await ownRedis();
    const { limiter, limits } = await openInstance(redis.url, USER_POLICIES);
    redis.pause();
    onTestFinished(() => redis.resume());
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const waiting = [limiter.consume('ada')];
    for (let passedMs = 0; passedMs < 200; passedMs += 10) {
      // Whoever came later waits no longer than the first one.
      if (limits.isUp) waiting.push(limiter.consume('ada'));
      expect(limits.isUp || passedMs > 100).toBe(true);
      await pass(10);
    }
    expect(await resolvesAtOnce(Promise.all(waiting))).toBe(true);
    expect(limits.isUp).toBe(false);
    expect(await resolvesAtOnce(limiter.consume('ada'))).toBe(true);
    expect(limits.fallbacks).toBe(waiting.length + 1);
  });

  it('waits for a Redis that is slow but answers', async () => {
    const held: (() => void)[] = [];
    const { port } = await startImpostor(provenThen((socket) => void held.push(() => socket.write(COUNTED))));
    const { limiter, limits } = await openInstance(`redis://127.0.0.1:${port}`, USER_POLICIES);
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const waiting: (Verdict | Promise<Verdict>)[] = [];
    for (const key of ['ada', 'ben', 'cleo']) {
      waiting.push(limiter.consume(key));
      // Those who come in one turn of the event loop would be one question.
      await new Promise(setImmediate);
    }
    await vi.waitUntil(() => held.length === 3);
    for (const [i, answer] of held.entries()) {
      for (let passedMs = 0; passedMs < 100; passedMs += 10) await pass(10);
      answer();
      expect(await waiting[i]).toMatchObject({ windows: [{ remaining: 99 }, { remaining: 999 }] });
    }
    expect(limits).toMatchObject({ isUp: true, fallbacks: 0 });
  });

  it('is not taken for late when it was this process that was busy', async () => {
    const redis = await ownRedis();
    const { limiter, limits } = await openInstance(redis.url, USER_POLICIES);
    const verdict = limiter.consume('ada');
    // The question is on its way by now, and its answer comes while nobody looks.
    await new Promise(setImmediate);
    const until = Date.now() + 400;
    while (Date.now() < until);
    expect((await verdict).violated).toEqual([]);
    expect(limits.fallbacks).toBe(0);
  });
});

describe('an instance without requests', () => {
  it('notices that Redis is gone, and that it is back', async () => {
    const redis = await ownRedis();
    const { limits, log } = await openInstance(redis.url, USER_POLICIES);
    await redis.kill();
    await log.last('warn');
    expect(limits.isUp).toBe(false);
    await redis.start();
    await log.last('info');
    expect(limits.isUp).toBe(true);
    expect(limits.fallbacks).toBe(0);
  });
});

describe('under load', () => {
  it('no request fails while Redis is killed and started again, and the limits are exact afterwards', async () => {
    const redis = await ownRedis();
    const instances = await openInstances(3, redis.url, USER_POLICIES);
    let isOver = false;
    const load = instances.flatMap(({ limiter }, i) =>
      Array.from({ length: 8 }, async (_, n) => {
        let answered = 0;
        for (; !isOver; answered += 1) {
          const { windows } = await limiter.consume(`user ${i} ${n} ${answered % 50}`);
          expect(windows).toHaveLength(2);
          await new Promise(setImmediate);
        }
        return answered;
      }),
    );
    for (let round = 1; round <= 3; round += 1) {
      await redis.kill();
      await Promise.all(instances.map(({ log }) => log.last('warn')));
      await redis.start();
      await Promise.all(instances.map(({ log }) => log.last('info')));
    }
    isOver = true;
    for (const answered of await Promise.all(load)) expect(answered).toBeGreaterThan(0);
    for (const { log, limits } of instances) {
      expect(log.levels).toEqual(['warn', 'info', 'warn', 'info', 'warn', 'info']);
      expect(limits.fallbacks).toBeGreaterThan(0);
    }
    const verdicts = await atOnce(300, instances, 'ada');
    expect(verdicts.filter(({ violated }) => violated.length === 0)).toHaveLength(100);
  });
});
