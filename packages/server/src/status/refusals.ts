/** The requests that this instance refused in the last 24 hours, by problem code and consumer, and its last errors. In memory. */
import { PROBLEMS, type ProblemCode } from '@leadtap/contract';
import { LRUCache } from 'lru-cache';
import { type Clock, toIso } from '../clock.ts';
import { consumerKeyOf } from '../consumers/recorder.ts';
import { type ConsumerKey, consumerKeyText } from '../consumers/store.ts';
import type { RefusedRequest } from '../http/exchange.ts';
import type { RefusalCounts, RefusalsOfCode, RequestError } from './report.ts';
import { StepCounts } from './step-counts.ts';

const STEP_MS = 5 * 60_000;
const STEPS_PER_HOUR = 12;
const STEPS = 24 * STEPS_PER_HOUR;
/** With a consumer: 1 MB. A client that makes up more of them only removes those that were refused longest ago; the sums stay right. */
const MAX_COUNTED = 500;
const MAX_LISTED_CONSUMERS = 5;
const MAX_ERRORS = 20;
/** Longer than the id of any user that exists. */
const MAX_USER_ID_LENGTH = 200;

interface ConsumerRefusals extends ConsumerKey {
  readonly code: ProblemCode;
  readonly counts: StepCounts;
}

export class Refusals {
  readonly #clock: Clock;
  readonly #byCode = new Map<ProblemCode, StepCounts>();
  readonly #byConsumer = new LRUCache<string, ConsumerRefusals>({ max: MAX_COUNTED });
  /** The newest last. */
  readonly #errors: RequestError[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add({ code, status, requestId, path, token }: RefusedRequest): void {
    const now = this.#clock();
    const step = Math.floor(now / STEP_MS);
    let total = this.#byCode.get(code);
    if (!total) {
      total = new StepCounts(STEPS, step);
      this.#byCode.set(code, total);
    }
    total.add(step, 1);
    if (token && token.userId.length <= MAX_USER_ID_LENGTH)
      this.#countOf(code, consumerKeyOf(token), step).add(step, 1);
    if (status < 500) return;
    this.#errors.push({ at: toIso(now), status, code, requestId, path });
    if (this.#errors.length > MAX_ERRORS) this.#errors.shift();
  }

  /** The newest first. */
  readErrors(): RequestError[] {
    return this.#errors.toReversed();
  }

  /** The most frequent of the last hour first. */
  read(): RefusalsOfCode<ConsumerKey>[] {
    const current = Math.floor(this.#clock() / STEP_MS);
    const counted = [...this.#byConsumer.values()];
    return [...this.#byCode]
      .map(([code, counts]) => {
        const total = sumsOf(counts, current);
        const consumers = counted
          .filter((one) => one.code === code)
          .map(({ userId, tokenId, counts: own }) => ({ userId, tokenId, ...sumsOf(own, current) }))
          .filter(({ last24Hours }) => last24Hours > 0)
          .sort(compare)
          .slice(0, MAX_LISTED_CONSUMERS);
        const others = consumers.reduce(subtract, total);
        return { code, status: PROBLEMS[code].status, ...total, consumers, others };
      })
      .filter(({ last24Hours }) => last24Hours > 0)
      .sort(compare);
  }

  #countOf(code: ProblemCode, consumer: ConsumerKey, step: number): StepCounts {
    const { userId, tokenId } = consumer;
    const key = `${code} ${consumerKeyText(consumer)}`;
    const known = this.#byConsumer.get(key);
    if (known) return known.counts;
    const counts = new StepCounts(STEPS, step);
    this.#byConsumer.set(key, { code, userId, tokenId, counts });
    return counts;
  }
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

const sumsOf = (counts: StepCounts, current: number): RefusalCounts => ({
  lastHour: sum(counts.read(current, STEPS_PER_HOUR)),
  last24Hours: sum(counts.read(current)),
});

const subtract = (from: RefusalCounts, { lastHour, last24Hours }: RefusalCounts): RefusalCounts => ({
  lastHour: from.lastHour - lastHour,
  last24Hours: from.last24Hours - last24Hours,
});

const compare = (a: RefusalCounts, b: RefusalCounts): number =>
  b.lastHour - a.lastHour || b.last24Hours - a.last24Hours;
