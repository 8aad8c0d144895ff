/** What is in the memory of this instance alone: the requests that it refused, its last errors, a proxy that it does not trust, alerts. */
import {
  PROBLEMS,
  type ProblemCode,
  type Refusal,
  type RequestError,
  type StatusFacts,
} from '@leadtap/contract';
import type { RefusedRequest } from '../http/exchange.ts';
import { type Clock, toIso } from '../lib/clock.ts';

const HOUR_MS = 3_600_000;
const REMEMBERED_MS = 24 * HOUR_MS;
export const MAX_ERRORS = 20;

interface Count {
  readonly count: number;
  readonly lastAt: number;
}

interface Remembered {
  readonly text: string;
  readonly at: number;
}

export class InstanceMemory {
  readonly #clock: Clock;
  readonly #startedAt: number;
  readonly #byCode = new Map<ProblemCode, Count>();
  /** The newest first. */
  #errors: RequestError[] = [];
  #proxy: Remembered | undefined;
  #alertFailure: Remembered | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#startedAt = clock();
  }

  readonly addRefusal = ({ code, status, requestId, path }: RefusedRequest): void => {
    const now = this.#clock();
    const before = this.#byCode.get(code);
    const count = before && now - before.lastAt < REMEMBERED_MS ? before.count + 1 : 1;
    this.#byCode.set(code, { count, lastAt: now });
    if (status < 500) return;
    this.#errors = [{ at: toIso(now), status, code, requestId, path }, ...this.#errors].slice(0, MAX_ERRORS);
  };

  /** A proxy that is not trusted has sent `X-Forwarded-Proto: https`. */
  readonly addUntrustedProxy = (address: string): void => {
    this.#proxy = { text: address, at: this.#clock() };
  };

  /** Undefined: the last alert was accepted. */
  readonly setAlertFailure = (reason: string | undefined): void => {
    this.#alertFailure = reason === undefined ? undefined : { text: reason, at: this.#clock() };
  };

  read(): Pick<StatusFacts, 'startedAt' | 'refusals' | 'errors' | 'untrustedProxy' | 'alertFailure'> {
    const recent = (one: Remembered | undefined, ms: number): string | null =>
      one && this.#clock() - one.at <= ms ? one.text : null;
    return {
      startedAt: toIso(this.#startedAt),
      refusals: this.#readRefusals(),
      errors: this.#errors,
      untrustedProxy: recent(this.#proxy, HOUR_MS),
      alertFailure: recent(this.#alertFailure, REMEMBERED_MS),
    };
  }

  /** The most frequent first. */
  #readRefusals(): Refusal[] {
    const now = this.#clock();
    return [...this.#byCode]
      .filter(([, { lastAt }]) => now - lastAt < REMEMBERED_MS)
      .sort(([, a], [, b]) => b.count - a.count || b.lastAt - a.lastAt)
      .map(([code, { count, lastAt }]) => ({
        ...{ code, status: PROBLEMS[code].status, count, lastAt: toIso(lastAt) },
      }));
  }
}
