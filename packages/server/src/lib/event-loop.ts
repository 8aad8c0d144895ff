/** Long synchronous work in parts, so that other requests are answered between them. */
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import { FairQueue } from './fair.ts';

/** Shorter work needs no pause: others hardly notice it. */
const MIN_PAUSED_MS = 3;
/** Of the time of its last turn: then long work of a company takes at most a third of the time. */
const PAUSE_FACTOR = 2;
const turns = new FairQueue({ maxRunning: 1 });
/** Those whose turn, or the pause after it, has not ended. */
const turnsOfCompanies = new FairQueue({ maxRunning: Number.POSITIVE_INFINITY, maxRunningOfUser: 1 });

/**
 * Waits for a turn of the event loop that no other caller gets. With `setImmediate` alone, the parts of all requests that are under way
 * would run in one turn. Companies take turns, and after a long one, a company pauses. Without a company, there is no pause: commits,
 * commands.
 */
export const takeTurn = (companyId?: string): Promise<void> =>
  companyId === undefined
    ? turns.run('', '', () => nextTurn())
    : new Promise(
        (resolve) => void turnsOfCompanies.run(companyId, companyId, () => pace(companyId, resolve)),
      );

async function pace(companyId: string, begin: () => void): Promise<void> {
  await turns.run(companyId, companyId, () => nextTurn());
  const begunAt = performance.now();
  begin();
  await nextTurn();
  const spentMs = performance.now() - begunAt;
  if (spentMs > MIN_PAUSED_MS) await delay(spentMs * PAUSE_FACTOR);
}

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
