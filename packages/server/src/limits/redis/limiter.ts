import { hash } from 'node:crypto';
import type { Limiter, Policy, Verdict } from './limiter.ts';
import { toVerdict } from './verdict.ts';

/** Runs the script that counts all windows of a key in one step. */
export type Evaluate = (keys: readonly string[], args: readonly string[]) => Promise<unknown>;

/** Shared by all instances on one Redis, exact over all of them. Rejects when Redis does not answer. */
export class RedisLimiter implements Limiter {
  readonly #policies: readonly Policy[];
  readonly #evaluate: Evaluate;
  readonly #args: readonly string[];

  constructor(policies: readonly Policy[], evaluate: Evaluate) {
    this.#policies = policies;
    this.#evaluate = evaluate;
    this.#args = policies.flatMap(({ windowS, quota }) => [String(windowS), String(quota)]);
  }

  async consume(key: string): Promise<Verdict> {
    const name = keyName(key);
    const keys = this.#policies.map((policy) => `leadtap:limits:${policy.name}:${name}`);
    const counted = asCounted(await this.#evaluate(keys, this.#args));
    return toVerdict(
      this.#policies.map((policy, i) => {
        const [used, endsInMs, isFull] = counted[i] ?? [0, 0, 0];
        return { policy, used, endsInMs, isFull: isFull === 1 };
      }),
    );
  }
}

/** For each window: used, milliseconds left, and 1 where it had no unit left. */
function asCounted(answer: unknown): readonly (readonly [number, number, number])[] {
  if (Array.isArray(answer)) return answer;
  throw new Error('Redis ran another script than ours');
}

/**
 * Of one length, whatever was sent as a user's id, and telling nobody's name or address to whoever looks into Redis. The
 * braces keep all windows of a key on one node where Redis is a cluster.
 */
const keyName = (key: string): string => `{${hash('sha256', key, 'base64url').slice(0, 22)}}`;
