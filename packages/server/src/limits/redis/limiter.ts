import { hash } from 'node:crypto';
import type { Limiter, Policy, Verdict } from '../limiter.ts';
import { toVerdict } from '../verdict.ts';
import type { RedisConnection } from './connection.ts';

/** Shared by all instances on one Redis, exact over all of them. Rejects when Redis does not answer. */
export class RedisLimiter implements Limiter {
  readonly #policies: readonly Policy[];
  readonly #connection: Pick<RedisConnection, 'consumeAll'>;

  constructor(policies: readonly Policy[], connection: Pick<RedisConnection, 'consumeAll'>) {
    this.#policies = policies;
    this.#connection = connection;
  }

  async consume(key: string): Promise<Verdict> {
    const name = keyName(key);
    const windows = this.#policies.map((policy) => ({
      policy,
      key: `leadtap:limits:${policy.name}:${name}`,
    }));
    return toVerdict(await this.#connection.consumeAll(windows));
  }
}

/**
 * Of one length, whatever was sent as a user's id, and telling nobody's name or address to whoever looks into Redis. The
 * braces keep all windows of a key on one node where Redis is a cluster.
 */
const keyName = (key: string): string => `{${hash('sha256', key, 'base64url').slice(0, 22)}}`;
