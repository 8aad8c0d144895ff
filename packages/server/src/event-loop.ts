/** Long synchronous work in parts, so that other requests are answered between them. */
import { setImmediate as nextTurn } from 'node:timers/promises';

/** What waits for a turn, by company. The first company is next. */
const waiting = new Map<string, (() => void)[]>();

/**
 * Waits for a turn of the event loop that no other caller gets. With `setImmediate` alone, the parts of all requests that are
 * under way would run in one turn. Companies take turns, so that one with much work does not delay the others.
 */
export function takeTurn(companyId = ''): Promise<void> {
  return new Promise((resolve) => {
    const isIdle = waiting.size === 0;
    const queue = waiting.get(companyId);
    if (queue) queue.push(resolve);
    else waiting.set(companyId, [resolve]);
    if (isIdle) void giveTurns();
  });
}

async function giveTurns(): Promise<void> {
  while (waiting.size > 0) {
    await nextTurn();
    for (const [companyId, queue] of waiting) {
      queue.shift()?.();
      waiting.delete(companyId);
      // Behind the other companies.
      if (queue.length > 0) waiting.set(companyId, queue);
      break;
    }
  }
}

/** So many leads are processed in one turn of the event loop: 2 ms for leads of 1 kB. */
const MAX_LEADS_PER_TURN = 25;
/** Large leads take longer. */
const MAX_MS_PER_TURN = 10;

/** Divides work on leads among turns of the event loop. */
export class Slices {
  #leads = 0;
  #begunAt = performance.now();

  /** Call it before each lead. Once this turn has done enough, the result is a promise: wait for it. */
  beginLead(): Promise<void> | undefined {
    const isFull = this.#leads === MAX_LEADS_PER_TURN || performance.now() - this.#begunAt > MAX_MS_PER_TURN;
    if (this.#leads > 0 && isFull) return this.#takeTurn();
    this.#leads += 1;
    return undefined;
  }

  async #takeTurn(): Promise<void> {
    await takeTurn();
    this.#leads = 1;
    this.#begunAt = performance.now();
  }
}

/** Waits for a turn between two slices. */
export async function mapInSlices<Item, Result>(
  items: readonly Item[],
  map: (item: Item, index: number) => Result | Promise<Result>,
): Promise<Result[]> {
  const slices = new Slices();
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
