/** In an order that looks random and is the same every time. */
export function shuffled<T>(values: readonly T[]): T[] {
  const keyed = values.map((value, n) => ({ value, key: mix(n) }));
  return keyed.sort((a, b) => a.key - b.key).map(({ value }) => value);
}

/** The finalizer of MurmurHash3: neighbours land far apart. */
function mix(n: number): number {
  let hash = Math.imul(n ^ (n >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
