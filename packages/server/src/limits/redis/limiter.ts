import { hash } from 'node:crypto';
import type { Limiter, Policy, Verdict } from '../limiter.ts';
import { toVerdict } from '../verdict.ts';
import type { RedisConnection } from './connection.ts';
import { answerLength } from './consume-all.ts';

interface Waiting {
  readonly key: string;
  readonly resolve: (verdict: Verdict) => void;
  readonly reject: (reason: unknown) => void;
}

/** Redis does nothing else while it counts, so not too many at once: these take it well under a millisecond. */
const MOST_AT_ONCE = 100;

/**
 * Shared by all instances on one Redis, exact over all of them. Rejects when Redis does not answer. All who come in one
 * turn of the event loop are counted by one question, in the order in which they came: a question costs more than the
 * counting.
 */
export class RedisLimiter implements Limiter {
  readonly #policies: readonly Policy[];
  readonly #connection: Pick<RedisConnection, 'consumeAll'>;
  readonly #prefix: string;
  #waiting: Waiting[] = [];

  constructor(policies: readonly Policy[], connection: Pick<RedisConnection, 'consumeAll'>) {
    this.#policies = policies;
    this.#connection = connection;
    this.#prefix = keyPrefix(policies);
  }

  consume(key: string): Promise<Verdict> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.length === 0) setImmediate(() => this.#askForAll());
      this.#waiting.push({ key: `${this.#prefix}${keyName(key)}`, resolve, reject });
    });
  }

  #askForAll(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (let from = 0; from < waiting.length; from += MOST_AT_ONCE)
      void this.#ask(waiting.slice(from, from + MOST_AT_ONCE));
  }

  async #ask(waiting: readonly Waiting[]): Promise<void> {
    const question = { policies: this.#policies, keys: waiting.map(({ key }) => key) };
    try {
      const counts = await this.#connection.consumeAll(question);
      for (const [i, { resolve }] of waiting.entries()) resolve(this.#verdict(counts, i));
    } catch (error) {
      for (const { reject } of waiting) reject(error);
    }
  }

  #verdict(counts: readonly number[], i: number): Verdict {
    const at = i * answerLength(this.#policies);
    return toVerdict(this.#policies, counts, at + 1, counts[at] === 1);
  }
}

/**
 * The braces keep all keys on one node where Redis is a cluster, which lets nobody ask for keys of several nodes at once. The
 * names of the policies tell what the numbers under a key mean: with other policies, all begin anew.
 */
const keyPrefix = (policies: readonly Policy[]): string =>
  `leadtap:{limits}:${policies.map(({ name }) => name).join('+')}:`;

/** Of one length, whatever was sent as a user's id, and telling nobody's name or address to whoever looks into Redis. */
const keyName = (key: string): string => hash('sha256', key, 'base64url').slice(0, 22);
