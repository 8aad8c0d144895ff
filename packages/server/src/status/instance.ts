/** What is in the memory of this instance alone: the requests that it refused, its last errors, and a proxy that it does not trust. */
import { LEADS_PATH, PROBLEMS, type ProblemCode } from '@leadtap/contract';
import { LRUCache } from 'lru-cache';
import { tokenKeyOf, tokenKeyText } from '../accounts/token-key.ts';
import type { ConsumerKey } from '../consumers/store.ts';
import type { RefusedRequest } from '../http/exchange.ts';
import { type Clock, toIso } from '../lib/clock.ts';
import type { InstanceFacts, Refusal, RequestError } from './report.ts';

const HOUR_MS = 3_600_000;
const REMEMBERED_MS = 24 * HOUR_MS;
/** A client that makes up more consumers only removes those that were refused longest ago; the counts by code stay right. */
const MAX_CONSUMERS = 500;
const MAX_LISTED_CONSUMERS = 5;
export const MAX_ERRORS = 20;
/** Longer than the id of any user that exists. */
const MAX_USER_ID_LENGTH = 200;

interface Count {
  readonly count: number;
  readonly lastAt: number;
}

interface ConsumerCount extends Count {
  readonly code: ProblemCode;
  readonly consumer: ConsumerKey;
  readonly sendsLeads: boolean;
}

export class InstanceMemory {
  readonly #clock: Clock;
  readonly #startedAt: number;
  readonly #byCode = new Map<ProblemCode, Count>();
  readonly #byConsumer = new LRUCache<string, ConsumerCount>({ max: MAX_CONSUMERS });
  /** The newest first. */
  #errors: RequestError[] = [];
  #proxy: { readonly address: string; readonly at: number } | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#startedAt = clock();
  }

  readonly addRefusal = ({ code, status, requestId, path, token }: RefusedRequest): void => {
    const now = this.#clock();
    this.#byCode.set(code, countAfter(this.#byCode.get(code), now));
    if (token && token.userId.length <= MAX_USER_ID_LENGTH) {
      const consumer = tokenKeyOf(token);
      const key = `${code} ${tokenKeyText(consumer)}`;
      const sendsLeads = path === LEADS_PATH;
      this.#byConsumer.set(key, {
        ...{ code, consumer, sendsLeads },
        ...countAfter(this.#byConsumer.get(key), now),
      });
    }
    if (status >= 500)
      this.#errors = [{ at: toIso(now), status, code, requestId, path }, ...this.#errors].slice(
        0,
        MAX_ERRORS,
      );
  };

  /** A proxy that is not trusted has sent `X-Forwarded-Proto: https`. */
  readonly addUntrustedProxy = (address: string): void => {
    this.#proxy = { address, at: this.#clock() };
  };

  read(): Omit<InstanceFacts, 'redis'> {
    const now = this.#clock();
    const proxy = this.#proxy;
    return {
      startedAt: toIso(this.#startedAt),
      refusals: this.#readRefusals(now),
      errors: this.#errors,
      untrustedProxy: proxy && now - proxy.at <= HOUR_MS ? proxy.address : null,
    };
  }

  /** The most frequent first. The names of tokens are in the database. */
  #readRefusals(now: number): Refusal[] {
    const consumers = [...this.#byConsumer.values()].filter((one) => isRemembered(one, now)).sort(compare);
    return [...this.#byCode]
      .filter(([, count]) => isRemembered(count, now))
      .sort(([, a], [, b]) => compare(a, b))
      .map(([code, { count, lastAt }]) => ({
        ...{ code, status: PROBLEMS[code].status, count, lastAt: toIso(lastAt) },
        consumers: consumers
          .filter((one) => one.code === code)
          .slice(0, MAX_LISTED_CONSUMERS)
          .map(({ consumer, sendsLeads, count, lastAt }) => ({
            ...{ name: null, ...consumer, sendsLeads, count, lastAt: toIso(lastAt) },
          })),
      }));
  }
}

const isRemembered = ({ lastAt }: Count, now: number): boolean => now - lastAt < REMEMBERED_MS;

const countAfter = (before: Count | undefined, now: number): Count => ({
  count: before && isRemembered(before, now) ? before.count + 1 : 1,
  lastAt: now,
});

const compare = (a: Count, b: Count): number => b.count - a.count || b.lastAt - a.lastAt;
