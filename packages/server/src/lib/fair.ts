/** Bounds work that costs much, so that one user or company does not delay the others. */
export interface FairQueueOptions {
  readonly maxRunning: number;
  /** Default: as many as its company may have. */
  readonly maxRunningOfUser?: number;
  /** Default: any number. */
  readonly maxWaitingOfUser?: number;
}

/** The user has as much unfinished work as it may have. */
export class QueueFullError extends Error {}

interface Waiting {
  readonly userId: string;
  readonly start: () => void;
}

/** Runs work in the order of its arrival. Companies take turns, and none has more than half of the places. */
export class FairQueue {
  /** By company. The first company is next. */
  readonly #waiting = new Map<string, Waiting[]>();
  readonly #runningOfCompany = new Map<string, number>();
  readonly #runningOfUser = new Map<string, number>();
  readonly #waitingOfUser = new Map<string, number>();
  readonly #options: FairQueueOptions;
  #running = 0;

  constructor(options: FairQueueOptions) {
    this.#options = options;
  }

  /** The work that runs or waits. */
  get size(): number {
    return [...this.#waiting.values()].reduce((sum, { length }) => sum + length, this.#running);
  }

  /** Rejects with a `QueueFullError`, or with the reason of the signal if it is aborted while the work waits. */
  async run<T>(companyId: string, userId: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    signal?.throwIfAborted();
    if (this.#mayStart(companyId, userId)) this.#count(companyId, userId, 1);
    else await this.#wait(companyId, userId, signal);
    try {
      return await work();
    } finally {
      this.#count(companyId, userId, -1);
      // Also behind those that have come while it ran.
      this.#moveBehind(companyId);
      this.#startNext();
    }
  }

  #wait(companyId: string, userId: string, signal: AbortSignal | undefined): Promise<void> {
    const { maxWaitingOfUser = Number.POSITIVE_INFINITY } = this.#options;
    if ((this.#waitingOfUser.get(userId) ?? 0) >= maxWaitingOfUser) throw new QueueFullError();
    return new Promise((resolve, reject) => {
      const queue = this.#waiting.get(companyId) ?? [];
      const leave = () => {
        queue.splice(queue.indexOf(waiting), 1);
        if (queue.length === 0) this.#waiting.delete(companyId);
        add(this.#waitingOfUser, userId, -1);
        signal?.removeEventListener('abort', abort);
      };
      const abort = () => {
        leave();
        reject(signal?.reason);
      };
      const start = () => {
        leave();
        this.#count(companyId, userId, 1);
        resolve();
      };
      const waiting: Waiting = { userId, start };
      queue.push(waiting);
      this.#waiting.set(companyId, queue);
      add(this.#waitingOfUser, userId, 1);
      signal?.addEventListener('abort', abort);
    });
  }

  #startNext(): void {
    for (const [companyId, queue] of this.#waiting) {
      const next = queue.find(({ userId }) => this.#mayStart(companyId, userId));
      if (!next) continue;
      next.start();
      // The loop comes to it again.
      this.#moveBehind(companyId);
    }
  }

  #moveBehind(companyId: string): void {
    const queue = this.#waiting.get(companyId);
    if (queue && this.#waiting.delete(companyId)) this.#waiting.set(companyId, queue);
  }

  /** A company has at most as many places as it leaves free. */
  #mayStart(companyId: string, userId: string): boolean {
    const { maxRunning, maxRunningOfUser = maxRunning } = this.#options;
    const free = maxRunning - this.#running;
    return (
      (this.#runningOfUser.get(userId) ?? 0) < maxRunningOfUser &&
      (this.#runningOfCompany.get(companyId) ?? 0) < free
    );
  }

  #count(companyId: string, userId: string, by: 1 | -1): void {
    this.#running += by;
    add(this.#runningOfCompany, companyId, by);
    add(this.#runningOfUser, userId, by);
  }
}

/** No entry has 0. */
function add(counts: Map<string, number>, key: string, by: 1 | -1): void {
  const count = (counts.get(key) ?? 0) + by;
  if (count > 0) counts.set(key, count);
  else counts.delete(key);
}
