import { hash } from 'node:crypto';
import { type Limiter, type Policy, toVerdict, type Verdict } from '../limiter.ts';
import type { RedisConnection } from './connection.ts';
import { countsPerKey } from './script.ts';

interface QueuedRequest {
  readonly key: string;
  readonly units: number;
  readonly resolve: (verdict: Verdict | Promise<Verdict>) => void;
}

/** Redis runs nothing else during a script, so a batch is limited: this many keys take well under a millisecond. */
const MAX_BATCH_SIZE = 100;

/**
 * Limits that all instances on one Redis share, exact over all of them. The requests of one turn of the event loop are
 * counted by one script call, in the order in which they arrived, because a call costs more than the counting. While
 * Redis is unavailable, the fallback limits each instance for itself: an answered poll is worth more than an exact limit.
 */
export class RedisLimiter implements Limiter {
  readonly #policies: readonly Policy[];
  readonly #connection: Pick<RedisConnection, 'isUp' | 'consumeAll'>;
  readonly #fallback: Limiter;
  readonly #keyPrefix: string;
  #batch: QueuedRequest[] = [];
  #fallbacks = 0;

  constructor(
    policies: readonly Policy[],
    connection: Pick<RedisConnection, 'isUp' | 'consumeAll'>,
    fallback: Limiter,
  ) {
    this.#policies = policies;
    this.#connection = connection;
    this.#fallback = fallback;
    // The braces keep all keys on one node of a Redis cluster, which runs a script only on keys of one node. The names of
    // the policies are part of the key, because the stored numbers have no meaning under other policies.
    this.#keyPrefix = `leadtap:{limits}:${policies.map(({ name }) => name).join('+')}:`;
  }

  /** The requests that were limited by the fallback. */
  get fallbacks(): number {
    return this.#fallbacks;
  }

  consume(key: string, units = 1): Verdict | Promise<Verdict> {
    if (!this.#connection.isUp) return this.#consumeFallback(key, units);
    return new Promise((resolve) => {
      if (this.#batch.length === 0) setImmediate(() => this.#sendBatch());
      this.#batch.push({ key, units, resolve });
    });
  }

  #consumeFallback(key: string, units: number): Verdict | Promise<Verdict> {
    this.#fallbacks += 1;
    return this.#fallback.consume(key, units);
  }

  #sendBatch(): void {
    const requests = this.#batch;
    this.#batch = [];
    for (let from = 0; from < requests.length; from += MAX_BATCH_SIZE)
      void this.#send(requests.slice(from, from + MAX_BATCH_SIZE));
  }

  async #send(requests: readonly QueuedRequest[]): Promise<void> {
    try {
      const keys = requests.map(({ key }) => `${this.#keyPrefix}${hashKey(key)}`);
      const units = requests.map((request) => request.units);
      const counts = await this.#connection.consumeAll({ policies: this.#policies, keys, units });
      for (const [index, { resolve, units }] of requests.entries()) {
        const at = index * countsPerKey(this.#policies);
        resolve(toVerdict(this.#policies, counts, at + 1, counts[at] === 1, units));
      }
    } catch {
      // The connection has logged the reason.
      for (const { key, units, resolve } of requests) resolve(this.#consumeFallback(key, units));
    }
  }
}

/** Keys have one length, whatever the user id is, and Redis stores no user ids or addresses. */
const hashKey = (key: string): string => hash('sha256', key, 'base64url').slice(0, 22);
