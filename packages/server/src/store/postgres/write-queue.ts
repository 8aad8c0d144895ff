import { StoreUnavailableError } from '../store.ts';

interface WaitingWrite {
  readonly companyId: string;
  readonly start: () => void;
}

export interface WriteQueueOptions {
  /** The number of writes that run at once. */
  readonly maxRunning: number;
  /** A write that has not started after this fails, and nothing is written. */
  readonly maxWaitMs: number;
}

/** Further writes fail at once, so that a database that hangs does not fill the memory. */
const MAX_WAITING = 1000;
/** Less than all, so that the writes of one company do not fill the queue. */
const MAX_WAITING_OF_COMPANY = 500;

/**
 * Queues writes in memory before they take a connection. The lock of a company serialises its writes anyway; without the
 * queue, each write would keep a connection while it waits for the lock, and polls of all companies would find none free.
 */
export class WriteQueue {
  readonly #maxRunning: number;
  readonly #maxWaitMs: number;
  /** The companies whose writes run: at most one of each. */
  readonly #running = new Set<string>();
  /** In the order of arrival. */
  readonly #waiting = new Set<WaitingWrite>();

  constructor({ maxRunning, maxWaitMs }: WriteQueueOptions) {
    this.#maxRunning = maxRunning;
    this.#maxWaitMs = maxWaitMs;
  }

  async run<T>(companyId: string, work: () => Promise<T>): Promise<T> {
    await this.#acquire(companyId);
    try {
      return await work();
    } finally {
      this.#running.delete(companyId);
      this.#startNext();
    }
  }

  #acquire(companyId: string): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#canRun(companyId)) {
        this.#running.add(companyId);
        resolve();
        return;
      }
      if (this.#isFull(companyId)) {
        reject(new StoreUnavailableError('too many writes of leads wait for the database'));
        return;
      }
      const write: WaitingWrite = {
        companyId,
        start: () => {
          clearTimeout(timeout);
          resolve();
        },
      };
      const timeout = setTimeout(() => {
        this.#waiting.delete(write);
        reject(new StoreUnavailableError('a write of leads has waited too long for the writes before it'));
      }, this.#maxWaitMs);
      this.#waiting.add(write);
    });
  }

  #canRun(companyId: string): boolean {
    return this.#running.size < this.#maxRunning && !this.#running.has(companyId);
  }

  #isFull(companyId: string): boolean {
    if (this.#waiting.size >= MAX_WAITING) return true;
    let ofCompany = 0;
    for (const waiting of this.#waiting) if (waiting.companyId === companyId) ofCompany += 1;
    return ofCompany >= MAX_WAITING_OF_COMPANY;
  }

  #startNext(): void {
    for (const write of this.#waiting) {
      if (!this.#canRun(write.companyId)) continue;
      this.#waiting.delete(write);
      this.#running.add(write.companyId);
      write.start();
      return;
    }
  }
}
