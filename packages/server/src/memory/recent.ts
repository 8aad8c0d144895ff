interface Entry<Value> {
  readonly value: Value;
  readonly weight: number;
}

/**
 * The entries that were used lately, as many as fit. They are kept in two generations: what is used moves to the younger
 * one, and when that has half of the capacity, the older one goes as a whole. So a use costs one look into a map, and
 * nothing is kept in order.
 */
export class Recent<Value> {
  readonly #mostInOne: number;
  readonly #weigh: (value: Value) => number;
  #young = new Map<string, Entry<Value>>();
  #old = new Map<string, Entry<Value>>();
  /** Of the young ones. */
  #weight = 0;

  /** Without a way to weigh them, entries are counted. */
  constructor(capacity: number, weigh: (value: Value) => number = () => 1) {
    this.#mostInOne = capacity / 2;
    this.#weigh = weigh;
  }

  get(key: string): Value | undefined {
    const young = this.#young.get(key);
    if (young) return young.value;
    const old = this.#old.get(key);
    if (!old) return undefined;
    this.#old.delete(key);
    this.#add(key, old);
    return old.value;
  }

  /** Without counting as a use. */
  peek(key: string): Value | undefined {
    return (this.#young.get(key) ?? this.#old.get(key))?.value;
  }

  /** What is too heavy for all others is not kept. */
  set(key: string, value: Value): void {
    this.delete(key);
    const weight = this.#weigh(value);
    if (weight <= this.#mostInOne) this.#add(key, { value, weight });
  }

  delete(key: string): void {
    this.#weight -= this.#young.get(key)?.weight ?? 0;
    this.#young.delete(key);
    this.#old.delete(key);
  }

  clear(): void {
    this.#young = new Map();
    this.#old = new Map();
    this.#weight = 0;
  }

  #add(key: string, entry: Entry<Value>): void {
    if (this.#weight + entry.weight > this.#mostInOne) {
      this.#old = this.#young;
      this.#young = new Map();
      this.#weight = 0;
    }
    this.#young.set(key, entry);
    this.#weight += entry.weight;
  }
}
