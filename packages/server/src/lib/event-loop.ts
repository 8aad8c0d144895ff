/** Long synchronous work in parts, so that other requests are answered between them. */
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';

/** Runs work one after the other. Companies take turns, so that one with much work does not delay the others. */
export class CompanyQueue {
  /** The first company is next. */
  readonly #waiting = new Map<string, (() => Promise<void>)[]>();

  run<T>(companyId: string, work: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const isIdle = this.#waiting.size === 0;
      const queue = this.#waiting.get(companyId) ?? [];
      this.#waiting.set(companyId, queue);
      queue.push(() => work().then(resolve, reject));
      if (isIdle) void this.#runAll();
    });
  }

  async #runAll(): Promise<void> {
    for (let [first] = this.#waiting; first; [first] = this.#waiting) {
      const [companyId, queue] = first;
      await queue.shift()?.();
      this.#waiting.delete(companyId);
      // Behind the other companies.
      if (queue.length > 0) this.#waiting.set(companyId, queue);
    }
  }
}

/** Shorter work needs no pause: others hardly notice it. */
const MIN_PAUSED_MS = 3;
/** Of the time of its last turn: then long work of a company takes at most a third of the time. */
const PAUSE_FACTOR = 2;
/** Work that belongs to no company, or to several: commits, commands. It does not pause. */
const NO_COMPANY = '';

/** Turns of the event loop that no other caller gets. After a long one, the company pauses, and others get theirs. */
class Turns {
  /** The first company is next. */
  readonly #waiting = new Map<string, (() => void)[]>();
  readonly #paused = new Set<string>();
  #isRunning = false;

  take(companyId: string): Promise<void> {
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(companyId) ?? [];
      waiting.push(resolve);
      this.#waiting.set(companyId, waiting);
      if (!this.#isRunning) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    await nextTurn();
    for (let companyId = this.#next(); companyId !== undefined; companyId = this.#next()) {
      const startedAt = performance.now();
      this.#grant(companyId);
      await nextTurn();
      const spentMs = performance.now() - startedAt;
      if (companyId !== NO_COMPANY && spentMs > MIN_PAUSED_MS) void this.#pause(companyId, spentMs);
    }
    this.#isRunning = false;
  }

  #next(): string | undefined {
    for (const companyId of this.#waiting.keys()) if (!this.#paused.has(companyId)) return companyId;
    return undefined;
  }

  #grant(companyId: string): void {
    const waiting = this.#waiting.get(companyId) ?? [];
    this.#waiting.delete(companyId);
    waiting.shift()?.();
    // Behind the other companies.
    if (waiting.length > 0) this.#waiting.set(companyId, waiting);
  }

  async #pause(companyId: string, spentMs: number): Promise<void> {
    this.#paused.add(companyId);
    await delay(spentMs * PAUSE_FACTOR);
    this.#paused.delete(companyId);
    if (!this.#isRunning) void this.#run();
  }
}

const turns = new Turns();

/**
 * Waits for a turn of the event loop that no other caller gets. With `setImmediate` alone, the parts of all requests that are
 * under way would run in one turn.
 */
export const takeTurn = (companyId = NO_COMPANY): Promise<void> => turns.take(companyId);

/** So many leads are processed in one turn of the event loop: 2 ms for leads of 1 kB. */
const MAX_LEADS_PER_TURN = 25;
/** Large leads take longer. */
const MAX_MS_PER_TURN = 10;

/** Divides work on leads among turns of the event loop. */
export class Slices {
  readonly #companyId: string | undefined;
  #leads = 0;
  #begunAt = performance.now();

  constructor(companyId?: string) {
    this.#companyId = companyId;
  }

  /** Call it before each lead. Once this turn has done enough, the result is a promise: wait for it. */
  beginLead(): Promise<void> | undefined {
    const isFull = this.#leads === MAX_LEADS_PER_TURN || performance.now() - this.#begunAt > MAX_MS_PER_TURN;
    if (this.#leads > 0 && isFull) return this.#takeTurn();
    this.#leads += 1;
    return undefined;
  }

  async #takeTurn(): Promise<void> {
    await takeTurn(this.#companyId);
    this.#leads = 1;
    this.#begunAt = performance.now();
  }
}

/** Waits for a turn between two slices. */
export async function mapInSlices<Item, Result>(
  items: readonly Item[],
  map: (item: Item, index: number) => Result | Promise<Result>,
  companyId?: string,
): Promise<Result[]> {
  const slices = new Slices(companyId);
  const results: Result[] = [];
  for (const [index, item] of items.entries()) {
    const turn = slices.beginLead();
    if (turn) await turn;
    const result = map(item, index);
    results.push(isPromise(result) ? await result : result);
  }
  return results;
}

/** Continues at once with a value that is there, and otherwise when it is: most of what a poll needs is in memory. */
export const andThen = <T, Result>(
  value: T | Promise<T>,
  next: (value: T) => Result | Promise<Result>,
): Result | Promise<Result> => (isPromise(value) ? value.then(next) : next(value));

/** Also of another class than Node's: an application may use a library for promises. */
export const isPromise = <T>(value: T | Promise<T>): value is Promise<T> =>
  typeof value === 'object' && value !== null && 'then' in value;
