import { createClient } from '@redis/client';
import { onTestFinished } from 'vitest';
import { LONG_REDIS_TIMEOUTS } from '../../../../testing/harness/timeouts.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { type Limiter, MemoryLimiter, type Policy } from '../../../src/limits/limiter.ts';
import type { SharedLimits } from '../../../src/limits/open-limiters.ts';
import { RedisConnection, type RedisTimeouts } from '../../../src/limits/redis/connection.ts';
import { RedisLimiter } from '../../../src/limits/redis/limiter.ts';

/** Independent of the limits of the contract, so that another window there changes no test here. */
export const MINUTE_AND_HOUR: readonly Policy[] = [
  { name: 'minute', quota: 100, windowS: 60 },
  { name: 'hour', quota: 1000, windowS: 3600 },
];

/** Small quotas, and windows that do not end during a test. */
export const LASTING_POLICIES: readonly Policy[] = [
  { name: 'minute', quota: 10, windowS: 86_400 },
  { name: 'hour', quota: 100, windowS: 86_400 },
];

/** Timeouts that the test changes while a limiter uses them: short ones would also detect faults that are not there, on a slow machine. */
export class ChangingTimeouts implements RedisTimeouts {
  connectMs = LONG_REDIS_TIMEOUTS.connectMs;
  attemptMs = LONG_REDIS_TIMEOUTS.attemptMs;
  silenceMs = LONG_REDIS_TIMEOUTS.silenceMs;
  retryMs = LONG_REDIS_TIMEOUTS.retryMs;

  /** From now on a Redis that hangs is detected soon. */
  detectSilence(): void {
    Object.assign(this, { connectMs: 1000, attemptMs: 1000, silenceMs: 200 });
  }

  /** From now on only a Redis that never replies is unavailable. */
  wait(): void {
    Object.assign(this, LONG_REDIS_TIMEOUTS);
  }
}

/** A connection of the test itself, to read and to change data. */
export async function redisCommands(url: string) {
  const client = createClient({ url });
  client.on('error', () => undefined);
  await client.connect();
  onTestFinished(() => client.destroy());
  return client;
}

export type Level = 'warn' | 'info' | 'debug';

export interface Line {
  readonly level: Level;
  readonly details: object;
  readonly message: string;
}

/** The log lines, and a way to wait for more. */
export class RecordedLog {
  readonly lines: Line[] = [];
  #waiting: (() => void)[] = [];
  readonly warn = this.#level('warn');
  readonly info = this.#level('info');
  readonly debug = this.#level('debug');

  /** The levels of the lines that an operator sees by default. */
  get levels(): Level[] {
    return this.lines.map(({ level }) => level).filter((level) => level !== 'debug');
  }

  async until(condition: (lines: readonly Line[]) => boolean): Promise<void> {
    while (!condition(this.lines)) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  /** Until a line of this level is the last one. */
  last(level: Level): Promise<void> {
    return this.until((lines) => lines.filter((line) => line.level !== 'debug').at(-1)?.level === level);
  }

  /** Until so many attempts to reconnect have failed. */
  attempts(count: number): Promise<void> {
    return this.until((lines) => lines.filter(({ level }) => level === 'debug').length >= count);
  }

  #level(level: Level) {
    return (details: object, message: string): void => {
      this.lines.push({ level, details, message });
      for (const proceed of this.#waiting.splice(0)) proceed();
    };
  }
}

export interface Instance {
  readonly limits: SharedLimits;
  readonly log: RecordedLog;
  readonly limiter: Limiter;
}

/** The limiter of one instance of Leadtap. */
export async function openInstance(
  url: string,
  policies: readonly Policy[],
  timeouts: RedisTimeouts | undefined = LONG_REDIS_TIMEOUTS,
): Promise<Instance> {
  const log = new RecordedLog();
  const connection = await RedisConnection.open({ url, log, timeouts });
  onTestFinished(() => connection.close());
  const limiter = new RedisLimiter(policies, connection, new MemoryLimiter(policies, systemClock));
  const limits = {
    get isUp() {
      return connection.isUp;
    },
    get fallbacks() {
      return limiter.fallbacks;
    },
  };
  return { limits, log, limiter };
}

export const openInstances = (
  count: number,
  url: string,
  policies: readonly Policy[],
  timeouts?: RedisTimeouts,
): Promise<Instance[]> =>
  Promise.all(Array.from({ length: count }, () => openInstance(url, policies, timeouts)));

/** So many concurrent requests, spread over the instances. */
export const atOnce = (
  count: number,
  instances: readonly Pick<Instance, 'limiter'>[],
  key: string,
  units?: number,
) =>
  Promise.all(
    Array.from({ length: count }, (_, i) => {
      const { limiter } = instances[i % instances.length] ?? {};
      if (!limiter) throw new Error('no instances');
      return limiter.consume(key, units);
    }),
  );
