/**
 * A cache of two generations. Entries that are set or used are in the young one. When it is full, it becomes the old one, and the
 * entries that are left of the old one are evicted: they were not used for longest. So all entries that were used last are cached,
 * as many as fit into `maxSize`, and never more than twice as many. An entry takes 37 bytes beside its key and value; it takes 84
 * in the lists of `lru-cache`.
 */
export class GenerationCache<Value> {
  readonly #maxSize: number;
  readonly #sizeOf: (value: Value, key: string) => number;
  readonly #onEvict: ((value: Value) => void) | undefined;
  #young = new Map<string, Value>();
  #old = new Map<string, Value>();
  /** Evicted entries that `onEvict` was not called for yet: for 100,000 at once it would block the event loop. */
  #evicted = new Map<string, Value>();
  #nextEvicted = this.#evicted.entries();
  /** Of the young generation. */
  #size = 0;

  /** @param maxSize of one generation, in the unit of `sizeOf`: by default the number of entries */
  constructor(
    maxSize: number,
    sizeOf: (value: Value, key: string) => number = () => 1,
    onEvict?: (value: Value) => void,
  ) {
    this.#maxSize = maxSize;
    this.#sizeOf = sizeOf;
    this.#onEvict = onEvict;
  }

  get(key: string): Value | undefined {
    const young = this.#young.get(key);
    if (young !== undefined) return young;
    const old = this.#old.get(key);
    if (old === undefined) return undefined;
    this.#old.delete(key);
    this.set(key, old);
    return old;
  }

  set(key: string, value: Value): void {
    this.delete(key);
    const size = this.#sizeOf(value, key);
    if (this.#size + size > this.#maxSize) this.#startGeneration();
    // Two for each new entry: all are gone when the next generation starts.
    this.#callOnEvict(2);
    this.#young.set(key, value);
    this.#size += size;
  }

  /** Returns what `onEvict` will not be called for any more. */
  delete(key: string): Value | undefined {
    const young = this.#young.get(key);
    if (young !== undefined) {
      this.#young.delete(key);
      this.#size -= this.#sizeOf(young, key);
      return young;
    }
    const generation = this.#old.has(key) ? this.#old : this.#evicted;
    const value = generation.get(key);
    generation.delete(key);
    return value;
  }

  #startGeneration(): void {
    this.#callOnEvict(this.#evicted.size);
    if (this.#onEvict) this.#evicted = this.#old;
    this.#nextEvicted = this.#evicted.entries();
    this.#old = this.#young;
    this.#young = new Map();
    this.#size = 0;
  }

  #callOnEvict(count: number): void {
    for (let n = 0; n < count && this.#evicted.size > 0; n += 1) {
      const next = this.#nextEvicted.next();
      if (next.done) return;
      const [key, value] = next.value;
      this.#evicted.delete(key);
      this.#onEvict?.(value);
    }
  }
}
