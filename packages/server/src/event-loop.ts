/** Long synchronous work in parts, so that other requests are answered between them. */
import { setImmediate as nextTurn } from 'node:timers/promises';

let lastTurn: Promise<void> = Promise.resolve();

/**
 * Waits for a turn of the event loop that no other caller gets. With `setImmediate` alone, the parts of all requests that are
 * under way would run in one turn.
 */
export function takeTurn(): Promise<void> {
  lastTurn = lastTurn.then(() => nextTurn());
  return lastTurn;
}

/** So many leads are processed in one turn of the event loop: 2 ms for leads of 1 kB. */
export const SLICE_LEADS = 25;

/** Waits for a turn between two slices. */
export async function mapInSlices<Item, Result>(
  items: readonly Item[],
  map: (item: Item) => Result,
): Promise<Result[]> {
  const results: Result[] = [];
  for (const [index, item] of items.entries()) {
    if (index > 0 && index % SLICE_LEADS === 0) await takeTurn();
    results.push(map(item));
  }
  return results;
}

/** Most of what a poll needs is in memory. Only what is not is awaited: each `await` of a value takes 0.2 µs. */
export const isPromise = <T>(value: T | Promise<T>): value is Promise<T> => value instanceof Promise;
