import { performance } from 'node:perf_hooks';

/** The lock of the company was not free in time, or too many wait for it. */
export const COMPANY_BUSY = Symbol('company busy');

interface Waiter {
  readonly companyId: string;
  readonly settle: (isAcquired: boolean) => void;
}

/**
 * A poll or a write that waits for the lock of a company occupies a connection. So only one of each company waits in the
 * database, and at most `maxCompanies` companies: otherwise, requests of one company with a stuck writer, or with an import
 * of a hundred thousand leads, occupy the connections that other companies need. The others wait here, in memory.
 */
export class LockQueue {
  readonly #maxCompanies: number;
  readonly #maxWaiters: number;
  readonly #active = new Set<string>();
  readonly #waiters = new Set<Waiter>();

  constructor(maxCompanies: number, maxWaiters = Number.POSITIVE_INFINITY) {
    this.#maxCompanies = maxCompanies;
    this.#maxWaiters = maxWaiters;
  }

  /** Calls `attempt` with the remaining time, unless no time is left or too many wait. */
  async run<T>(
    companyId: string,
    timeoutMs: number,
    attempt: (remainingMs: number) => Promise<T | typeof COMPANY_BUSY>,
  ): Promise<T | typeof COMPANY_BUSY> {
    const deadline = performance.now() + timeoutMs;
    if (!(await this.#acquire(companyId, timeoutMs))) return COMPANY_BUSY;
    try {
      const remainingMs = Math.floor(deadline - performance.now());
      return remainingMs > 0 ? await attempt(remainingMs) : COMPANY_BUSY;
    } finally {
      this.#active.delete(companyId);
      this.#settleWaiters();
    }
  }

  async #acquire(companyId: string, timeoutMs: number): Promise<boolean> {
    if (this.#waiters.size >= this.#maxWaiters) return false;
    return new Promise((resolve) => {
      const settle = (isAcquired: boolean) => {
        clearTimeout(timer);
        this.#waiters.delete(waiter);
        resolve(isAcquired);
      };
      const waiter: Waiter = { companyId, settle };
      const timer = setTimeout(() => settle(false), timeoutMs);
      this.#waiters.add(waiter);
      this.#settleWaiters();
    });
  }

  #settleWaiters(): void {
    for (const { companyId, settle } of this.#waiters) {
      if (this.#active.size >= this.#maxCompanies) return;
      if (this.#active.has(companyId)) continue;
      this.#active.add(companyId);
      settle(true);
    }
  }
}
