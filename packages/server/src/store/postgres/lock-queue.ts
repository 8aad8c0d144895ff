import { performance } from 'node:perf_hooks';
import { ClientDisconnectedError } from '../store.ts';

type Attempt<T> = (remainingMs: number) => Promise<T | undefined>;

interface Wait {
  readonly limitMs: number;
  /** Aborted when nobody waits for the answer any more. */
  readonly signal?: AbortSignal | undefined;
}

interface Waiting {
  readonly company: string;
  readonly begin: () => void;
}

const gone = () => new ClientDisconnectedError('the caller has gone');

/**
 * Who waits for the lock of a company holds a connection all the while. One poll of each company does so, in the place
 * of all others of its company, and only so many companies at once: a writer that is stuck, or loads a hundred thousand
 * leads, must not use up the connections that other companies need.
 */
export class LockQueue {
  readonly #mostAtOnce: number;
  readonly #busy = new Set<string>();
  readonly #waiting = new Set<Waiting>();

  constructor(mostAtOnce: number) {
    this.#mostAtOnce = mostAtOnce;
  }

  /** Makes the attempt when it is its turn, with the time that is left for it. Undefined when none was left. */
  async wait<T>(company: string, wait: Wait, attempt: Attempt<T>): Promise<T | undefined> {
    const deadline = performance.now() + wait.limitMs;
    if (!(await this.#turn(company, wait))) return undefined;
    try {
      const remainingMs = Math.floor(deadline - performance.now());
      return remainingMs > 0 ? await attempt(remainingMs) : undefined;
    } finally {
      this.#busy.delete(company);
      this.#next();
    }
  }

  #isFree(company: string): boolean {
    return this.#busy.size < this.#mostAtOnce && !this.#busy.has(company);
  }

  async #turn(company: string, { limitMs, signal }: Wait): Promise<boolean> {
    if (this.#isFree(company)) {
      this.#busy.add(company);
      return true;
    }
    if (signal?.aborted) throw gone();
    return new Promise((resolve, reject) => {
      // At once, not when its promise is looked at: a turn given to one who has gone would never end.
      const leave = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', onGone);
        this.#waiting.delete(waiting);
      };
      const begin = () => {
        leave();
        this.#busy.add(company);
        resolve(true);
      };
      const onLate = () => {
        leave();
        resolve(false);
      };
      const onGone = () => {
        leave();
        reject(gone());
      };
      const waiting: Waiting = { company, begin };
      const timer = setTimeout(onLate, limitMs);
      signal?.addEventListener('abort', onGone, { once: true });
      this.#waiting.add(waiting);
    });
  }

  #next(): void {
    for (const { company, begin } of this.#waiting) if (this.#isFree(company)) begin();
  }
}
