interface Entry<Value> {
  readonly value: Value;
  readonly weight: number;
  /** How many entries had been added when it was put to the end. */
  movedAt: number;
}

/**
 * The entries that were used lately, as many as fit; the others go. Who is used is moved to the end, away from where entries
 * go, but only if as many have come since as half of those that are there: as long as nobody new comes, a use costs one look into a map.
 */
export class Recent<Value> {
  readonly #capacity: number;
  readonly #weigh: (value: Value) => number;
  readonly #entries = new Map<string, Entry<Value>>();
  #weight = 0;
  #added = 0;

  /** Without a way to weigh them, entries are counted. */
  constructor(capacity: number, weigh: (value: Value) => number = () => 1) {
    this.#capacity = capacity;
    this.#weigh = weigh;
  }

  get(key: string): Value | undefined {
    const entry = this.#entries.get(key);
    if (entry && this.#added - entry.movedAt > this.#entries.size / 2) this.#moveToEnd(key, entry);
    return entry?.value;
  }

  /** Without counting as a use. */
  peek(key: string): Value | undefined {
    return this.#entries.get(key)?.value;
  }

  /** What is heavier than all that fits is not kept. */
  set(key: string, value: Value): void {
    this.delete(key);
    const weight = this.#weigh(value);
    if (weight > this.#capacity) return;
    this.#added += 1;
    this.#moveToEnd(key, { value, weight, movedAt: 0 });
    this.#weight += weight;
    for (const [oldest] of this.#entries) {
      if (this.#weight <= this.#capacity) return;
      this.delete(oldest);
    }
  }

  delete(key: string): void {
    this.#weight -= this.#entries.get(key)?.weight ?? 0;
    this.#entries.delete(key);
  }

  clear(): void {
    this.#entries.clear();
    this.#weight = 0;
  }

  #moveToEnd(key: string, entry: Entry<Value>): void {
    entry.movedAt = this.#added;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
  }
}
