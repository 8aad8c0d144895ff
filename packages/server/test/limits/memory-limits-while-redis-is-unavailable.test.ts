import { spawnSync } from 'node:child_process';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { ownRedis } from '../../../testing/harness/redis.ts';
import type { RedisServer } from '../../../testing/servers/redis.ts';
import type { Verdict } from '../../src/limits/limiter.ts';
import { REDIS_TIMEOUTS } from '../../src/limits/redis/connection.ts';
import { afterSelfTest, startFakeRedis } from './support/fake-redis.ts';
import {
  atOnce,
  ChangingTimeouts,
  type Instance,
  LASTING_POLICIES,
  MINUTE_AND_HOUR,
  openInstance,
  openInstances,
  redisCommands,
} from './support/redis-instances.ts';

interface Fault {
  readonly name: string;
  /** Makes Redis unavailable, and returns the way to repair it. */
  readonly inject: (server: RedisServer, timeouts: ChangingTimeouts) => Promise<() => Promise<unknown>>;
  /** Redis loses its data. */
  readonly losesData?: boolean;
}

/** Changes the server by commands over a connection that the fault does not close. */
const byCommands =
  (faultCommands: readonly string[], repairCommands: readonly string[]): Fault['inject'] =>
  async ({ url }) => {
    const commands = await redisCommands(url);
    const run = async (lines: readonly string[]) => {
      for (const line of lines) await commands.sendCommand(line.split(' '));
    };
    await run(faultCommands);
    return () => run(repairCommands);
  };

/** An instance with the default timeout for a reply, and long timeouts for the connection, which these tests are not about. */
async function openWithDefaultSilence(url: string): Promise<Instance> {
  const timeouts = new ChangingTimeouts();
  const instance = await openInstance(url, MINUTE_AND_HOUR, timeouts);
  timeouts.silenceMs = REDIS_TIMEOUTS.silenceMs;
  timeouts.retryMs = REDIS_TIMEOUTS.retryMs;
  return instance;
}

const DISCONNECT_OTHERS = 'CLIENT KILL TYPE normal SKIPME yes';

const FAULTS: readonly Fault[] = [
  {
    name: 'is killed',
    inject: async (server) => {
      await server.kill();
      return () => server.start();
    },
    losesData: true,
  },
  {
    name: 'hangs',
    inject: async (server, timeouts) => {
      server.pause();
      timeouts.detectSilence();
      return async () => {
        timeouts.wait();
        server.resume();
      };
    },
  },
  {
    name: 'becomes a replica, which takes no writes',
    inject: byCommands(['REPLICAOF 127.0.0.1 1'], ['REPLICAOF NO ONE']),
  },
  {
    name: 'is out of memory',
    inject: byCommands(['CONFIG SET maxmemory 1'], ['CONFIG SET maxmemory 0']),
  },
  {
    name: 'has another password',
    inject: byCommands(['CONFIG SET requirepass other', DISCONNECT_OTHERS], ['CONFIG SET requirepass ']),
  },
  {
    name: 'takes away the right to run scripts',
    inject: byCommands(['ACL SETUSER default -eval -evalsha'], ['ACL SETUSER default +@all']),
  },
];

const resolvesAtOnce = (work: unknown): Promise<boolean> =>
  Promise.race([
    Promise.resolve(work).then(() => true),
    new Promise<false>((resolve) => setImmediate(resolve, false)),
  ]);

/** Advances the time of the test, and lets the event loop read its sockets. */
async function pass(ms: number): Promise<void> {
  vi.advanceTimersByTime(ms);
  await new Promise(setImmediate);
}

/** The reply of the script to the first request of a user. */
const COUNTED = '*5\r\n:0\r\n:1\r\n:60000\r\n:1\r\n:3600000\r\n';

/** Blocks this process until Redis has replied to so many commands. */
function blockUntilReplied(port: number, commands: number): void {
  const program = `const socket = require('node:net').connect(${port}, '127.0.0.1');
    const ask = () => socket.write('INFO commandstats\\r\\n');
    socket.on('data', (answer) => {
      const [, calls] = /cmdstat_evalsha:calls=(\\d+)/.exec(answer) ?? [];
      if (calls >= ${commands}) process.exit(0);
      ask();
    });
    ask();`;
  expect(spawnSync(process.execPath, ['-e', program]).status).toBe(0);
}

/** Sends requests until the instance has detected the fault. None of them may fail. */
async function consumeUntilDown({ limiter, limits }: Instance): Promise<void> {
  while (limits.isUp) await limiter.consume('anyone');
}

describe.each(FAULTS)('while Redis $name', ({ inject, losesData = false }) => {
  it('each instance limits by itself without delay, logs one warning, and shares again afterwards', async () => {
    const redis = await ownRedis();
    const timeouts = new ChangingTimeouts();
    const instances = await openInstances(3, redis.url, LASTING_POLICIES, timeouts);
    await atOnce(3, instances, 'known');
    const repair = await inject(redis, timeouts);
    let isRepaired = false;
    const repairOnce = async () => {
      if (!isRepaired) await repair();
      isRepaired = true;
    };
    onTestFinished(repairOnce);

    await Promise.all(instances.map(consumeUntilDown));
    for (const { limiter, limits, log } of instances) {
      const before = limits.fallbacks;
      expect(await resolvesAtOnce(limiter.consume('ada'))).toBe(true);
      const verdicts = await atOnce(12, [{ limiter }], 'ada');
      // One request was counted before.
      expect(verdicts.filter(({ violated }) => violated.length === 0)).toHaveLength(9);
      expect(limits.fallbacks).toBe(before + 13);
      await log.attempts(1);
      expect(log.levels).toEqual(['warn']);
    }

    await repairOnce();
    await Promise.all(instances.map(({ log }) => log.last('info')));
    const verdicts = await atOnce(30, instances, 'ben');
    expect(verdicts.filter(({ violated }) => violated.length === 0)).toHaveLength(10);
    const known = await atOnce(30, instances, 'known');
    expect(known.filter(({ violated }) => violated.length === 0)).toHaveLength(losesData ? 10 : 7);
    for (const { log, limits } of instances) {
      expect(log.levels).toEqual(['warn', 'info']);
      expect(limits.isUp).toBe(true);
    }
  });
});

describe('a request', () => {
  it('waits for a Redis that hangs for 200 ms at most, and the next one not at all', async () => {
    const redis = await ownRedis();
    const { limiter, limits } = await openWithDefaultSilence(redis.url);
    redis.pause();
    onTestFinished(() => redis.resume());
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const waiting = [limiter.consume('ada')];
    for (let passedMs = 0; passedMs < 200; passedMs += 10) {
      // Later requests do not wait longer than the first one.
      if (limits.isUp) waiting.push(limiter.consume('ada'));
      expect(limits.isUp || passedMs > 100).toBe(true);
      await pass(10);
    }
    expect(await resolvesAtOnce(Promise.all(waiting))).toBe(true);
    expect(limits.isUp).toBe(false);
    expect(await resolvesAtOnce(limiter.consume('ada'))).toBe(true);
    expect(limits.fallbacks).toBe(waiting.length + 1);
  });

  it('waits for a Redis that replies slowly', async () => {
    const held: (() => void)[] = [];
    const { port } = await startFakeRedis(
      afterSelfTest((socket) => void held.push(() => socket.write(COUNTED))),
    );
    const { limiter, limits } = await openWithDefaultSilence(`redis://127.0.0.1:${port}`);
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const waiting: (Verdict | Promise<Verdict>)[] = [];
    for (const key of ['ada', 'ben', 'cleo']) {
      waiting.push(limiter.consume(key));
      // Requests of one turn of the event loop would be one batch.
      await new Promise(setImmediate);
    }
    while (held.length < 3) await new Promise(setImmediate);
    for (const [i, answer] of held.entries()) {
      for (let passedMs = 0; passedMs < 100; passedMs += 10) await pass(10);
      answer();
      expect(await waiting[i]).toMatchObject({ windows: [{ remaining: 99 }, { remaining: 999 }] });
    }
    expect(limits).toMatchObject({ isUp: true, fallbacks: 0 });
  });

  it('does not time out when this process was blocked', async () => {
    const redis = await ownRedis();
    const { limiter, limits } = await openWithDefaultSilence(redis.url);
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    redis.pause();
    onTestFinished(() => redis.resume());
    const verdict = limiter.consume('ada');
    // The command is sent within a few turns, and its reply arrives while this process is blocked.
    for (let turn = 0; turn < 10; turn += 1) await new Promise(setImmediate);
    redis.resume();
    blockUntilReplied(redis.port, 2);
    // The timer of the timeout runs before this process reads the reply.
    vi.advanceTimersByTime(REDIS_TIMEOUTS.silenceMs);
    expect((await verdict).violated).toEqual([]);
    expect(limits.fallbacks).toBe(0);
  });
});

describe('an instance without requests', () => {
  it('detects that Redis is unavailable, and that it is back', async () => {
    const redis = await ownRedis();
    const { limits, log } = await openInstance(redis.url, MINUTE_AND_HOUR);
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
    const instances = await openInstances(3, redis.url, LASTING_POLICIES);
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
    for (let round = 1; round <= 2; round += 1) {
      await redis.kill();
      await Promise.all(instances.map(({ log }) => log.last('warn')));
      await redis.start();
      await Promise.all(instances.map(({ log }) => log.last('info')));
    }
    isOver = true;
    for (const answered of await Promise.all(load)) expect(answered).toBeGreaterThan(0);
    for (const { log, limits } of instances) {
      expect(log.levels).toEqual(['warn', 'info', 'warn', 'info']);
      expect(limits.fallbacks).toBeGreaterThan(0);
    }
    const verdicts = await atOnce(30, instances, 'ada');
    expect(verdicts.filter(({ violated }) => violated.length === 0)).toHaveLength(10);
  });
});
