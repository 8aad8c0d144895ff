/**
 * A cache of two generations. Entries that are set or used are in the young one. When it is full, it becomes the old one, and the
 * entries that are left of the old one are evicted: they were not used for longest. So all entries that were used last are cached,
 * as many as fit into `maxSize`, and never more than twice as many. An entry takes 37 bytes beside its key and value; it takes 84
 * in the lists of `lru-cache`.
 */
export class GenerationCache<Value> {
  readonly #maxSize: number;
  readonly #sizeOf: (value: Value, key: string) => number;
  readonly #onEvict: ((value: Value, key: string) => void) | undefined;
  #young = new Map<string, Value>();
  #old = new Map<string, Value>();
  /** Of the young generation. */
  #size = 0;

  /** @param maxSize of one generation, in the unit of `sizeOf`: by default the number of entries */
  constructor(
    maxSize: number,
    sizeOf: (value: Value, key: string) => number = () => 1,
    onEvict?: (value: Value, key: string) => void,
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
    this.#young.set(key, value);
    this.#size += size;
  }

  delete(key: string): Value | undefined {
    const value = this.#young.get(key);
    if (value === undefined) {
      const old = this.#old.get(key);
      this.#old.delete(key);
      return old;
    }
    this.#young.delete(key);
    this.#size -= this.#sizeOf(value, key);
    return value;
  }

  clear(): void {
    this.#young.clear();
    this.#old.clear();
    this.#size = 0;
  }

  #startGeneration(): void {
    const evicted = this.#old;
    this.#old = this.#young;
    this.#young = new Map();
    this.#size = 0;
    if (this.#onEvict) for (const [key, value] of evicted) this.#onEvict(value, key);
  }
}
