import type { Clock } from '../clock.ts';
import { KeyedHash } from './keyed-hash.ts';
import type { Limiter, Policy, Verdict } from './limiter.ts';
import { RecordTable } from './record-table.ts';
import { toVerdict } from './verdict.ts';

/** Times are kept by their lower 32 bits, which is enough to tell them apart for 49 days. */
const LONGEST_WINDOW_MS = 24 * 86_400_000;
/** A request that comes after a long pause must not do the work of all that did not come. */
const MOST_TIDIED_AT_ONCE = 256;

/**
 * Fixed windows that begin with the first request. The record of a key has two numbers for each window: when it ends,
 * and how much of it is used. A record whose windows have all ended goes within the length of the longest.
 */
export class MemoryLimiter implements Limiter {
  readonly #policies: readonly Policy[];
  readonly #clock: Clock;
  readonly #windowsMs: readonly number[];
  readonly #quotas: readonly number[];
  readonly #longestMs: number;
  readonly #table: RecordTable;
  readonly #counts: number[];
  #now: number;
  #tidiedAt: number;

  constructor(
    policies: readonly Policy[],
    clock: Clock,
    // The type is written out: TypeScript before 5.7 cannot read the one that is inferred, Uint32Array<ArrayBuffer>.
    hashKey: Uint32Array = crypto.getRandomValues(new Uint32Array(2)),
  ) {
    this.#policies = policies;
    this.#clock = clock;
    this.#windowsMs = policies.map(({ windowS }) => windowS * 1000);
    this.#quotas = policies.map(({ quota }) => quota);
    this.#longestMs = Math.max(...this.#windowsMs);
    if (this.#longestMs > LONGEST_WINDOW_MS)
      throw new RangeError('a window of a limit lasts 24 days at most');
    this.#table = new RecordTable(new KeyedHash(hashKey), 2 * policies.length);
    this.#counts = policies.flatMap(() => [0, 0]);
    this.#now = clock();
    this.#tidiedAt = this.#now;
  }

  consume(key: string): Verdict {
    this.#passTime();
    const isNew = !this.#table.find(key);
    if (isNew) this.#table.add();
    const isRefused = this.#beginWindows(isNew);
    this.#count(isRefused ? 0 : 1);
    return toVerdict(this.#policies, this.#counts, 0, isRefused);
  }

  #passTime(): void {
    const now = this.#clock();
    // Nothing is open any more, or all was begun before the clock was set back.
    if (Math.abs(now - this.#now) >= this.#longestMs) this.#table.clear();
    this.#now = now;
    // Each record is looked at once in the length of the longest window, however many there are.
    const passedMs = Math.abs(now - this.#tidiedAt);
    const due = Math.floor((this.#table.count * passedMs) / this.#longestMs);
    if (due === 0) return;
    this.#table.tidy(Math.min(due, MOST_TIDIED_AT_ONCE), this.#isAnyOpen);
    this.#tidiedAt = now;
  }

  readonly #isAnyOpen = (): boolean => {
    const { words, at } = this.#table;
    return this.#windowsMs.some((lengthMs, i) => isOpen(words[at + 2 * i] ?? 0, this.#now, lengthMs));
  };

  /** Begins those windows anew that have ended, and tells whether one of them is full. */
  #beginWindows(isNew: boolean): boolean {
    const { words, at } = this.#table;
    const now = this.#now;
    let isFull = false;
    for (let i = 0, place = at; i < this.#windowsMs.length; i += 1, place += 2) {
      const lengthMs = this.#windowsMs[i] ?? 0;
      if (isNew || !isOpen(words[place] ?? 0, now, lengthMs)) {
        words[place] = now + lengthMs;
        words[place + 1] = 0;
      }
      if ((words[place + 1] ?? 0) >= (this.#quotas[i] ?? 0)) isFull = true;
    }
    return isFull;
  }

  #count(units: number): void {
    const { words, at } = this.#table;
    const now = this.#now;
    const counts = this.#counts;
    for (let i = 0; i < counts.length; i += 2) {
      const used = (words[at + i + 1] ?? 0) + units;
      words[at + i + 1] = used;
      counts[i] = used;
      counts[i + 1] = endsInMs(words[at + i] ?? 0, now);
    }
  }
}

/** A window that ends further away than it is long was begun before the clock was set back. */
function isOpen(end: number, now: number, lengthMs: number): boolean {
  const leftMs = endsInMs(end, now);
  return leftMs > 0 && leftMs <= lengthMs;
}

const endsInMs = (end: number, now: number): number => (end - now) >>> 0;
