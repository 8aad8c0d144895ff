import type { Connection } from './connection.ts';

/** Bounds the memory: senders choose some of the parameters. */
const MAX_CACHED = 10_000;

/**
 * Results of queries for transactions that hold the write lock: a single lead needed nine queries for the account of its sender and
 * for its place. A result is used again until another connection has committed, which `data_version` shows, or `clear` is called.
 */
export class ReadCache {
  readonly #readVersion;
  readonly #caches: Map<string, unknown>[] = [];
  #version: number | undefined;

  constructor(connection: Connection) {
    this.#readVersion = connection.prepare<{ data_version: number }>('PRAGMA data_version');
  }

  /** The same function, with its results cached by what `cacheKeyOf` returns, as JSON: all that the result depends on. */
  of<Parameters extends readonly unknown[], Result>(
    read: (...parameters: Parameters) => Result,
    cacheKeyOf: (...parameters: Parameters) => readonly unknown[] = (...parameters) => parameters,
  ): (...parameters: Parameters) => Result {
    const cached = new Map<string, { readonly result: Result }>();
    this.#caches.push(cached);
    return (...parameters) => {
      const key = JSON.stringify(cacheKeyOf(...parameters));
      const entry = cached.get(key) ?? { result: read(...parameters) };
      cached.set(key, entry);
      return entry.result;
    };
  }

  /** Call it first in each transaction that uses cached results. */
  revalidate(): void {
    const version = this.#readVersion.get()?.data_version;
    const isFull = this.#caches.some(({ size }) => size > MAX_CACHED);
    if (version !== this.#version || isFull) this.clear();
    this.#version = version;
  }

  /** Call it in each transaction of this connection that changes more than leads. */
  clear(): void {
    for (const cached of this.#caches) cached.clear();
  }
}
