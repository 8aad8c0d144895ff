/** How many there are, and the first of them. */
export interface Listed<T> {
  readonly total: number;
  readonly first: readonly T[];
}

const SHOWN = 20;

/** Collects any number of things in little memory. */
export class Listing<T> implements Listed<T> {
  readonly first: T[] = [];
  total = 0;

  add(items: readonly T[]): void {
    this.total += items.length;
    this.first.push(...items.slice(0, SHOWN - this.first.length));
  }
}
