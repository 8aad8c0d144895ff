import { FairQueue } from '../../lib/fair.ts';

/** The lock of the company was not free in time, or too many wait for it. */
export const COMPANY_BUSY = Symbol('company busy');

/**
 * A poll or a write that waits for the lock of a company occupies a connection. So only one of each company waits in the
 * database, and at most `maxCompanies` companies: otherwise, requests of one company with a stuck writer, or with an import
 * of a hundred thousand leads, occupy the connections that other companies need. The others wait here, in memory.
 */
export class LockQueue {
  readonly #queue: FairQueue;
  readonly #maxSize: number;

  constructor(maxCompanies: number, maxWaiters = Number.POSITIVE_INFINITY) {
    this.#queue = new FairQueue({ maxRunning: maxCompanies, maxRunningOfUser: 1 });
    this.#maxSize = maxCompanies + maxWaiters;
  }

  /** Calls `attempt` with the remaining time, unless no time is left or too many wait. */
  async run<T>(
    companyId: string,
    timeoutMs: number,
    attempt: (remainingMs: number) => Promise<T | typeof COMPANY_BUSY>,
  ): Promise<T | typeof COMPANY_BUSY> {
    if (this.#queue.size >= this.#maxSize) return COMPANY_BUSY;
    const deadline = performance.now() + timeoutMs;
    const timeout = new AbortController();
    const timer = setTimeout(() => timeout.abort(COMPANY_BUSY), timeoutMs);
    const runInTime = async () => {
      clearTimeout(timer);
      const remainingMs = Math.floor(deadline - performance.now());
      return remainingMs > 0 ? attempt(remainingMs) : COMPANY_BUSY;
    };
    return this.#queue.run(companyId, companyId, runInTime, timeout.signal).catch((reason: unknown) => {
      if (reason === COMPANY_BUSY) return COMPANY_BUSY;
      throw reason;
    });
  }
}
