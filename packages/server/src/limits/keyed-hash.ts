const BLOCK_ROUNDS = 2;
const FINAL_ROUNDS = 4;

/**
 * HalfSipHash-2-4 with 64 bits (Aumasson and Bernstein) of a text's UTF-16. Whoever does not know the key cannot find two
 * texts with one hash, so nobody can choose an id in order to share the record of somebody else. Of a million texts that
 * nobody chose, two share a hash once in 37 million times.
 */
export class KeyedHash {
  readonly #first: number;
  readonly #second: number;
  /** The hash of the last text. Written over by the next, because a new object for each would cost as much as the hash. */
  readonly words: Uint32Array = new Uint32Array(2);

  /** @param key two random numbers of 32 bits */
  constructor(key: Uint32Array) {
    this.#first = key[0] ?? 0;
    this.#second = key[1] ?? 0;
  }

  take(text: string): void {
    let v0 = this.#first | 0;
    let v1 = this.#second ^ 0xee;
    let v2 = this.#first ^ 0x6c796765;
    let v3 = this.#second ^ 0x74656462;
    const lastBlock = text.length >> 1;
    // After the text come two blocks of nothing: the two halves of the hash are what is there after each.
    for (let block = 0; block <= lastBlock + 2; block += 1) {
      const bits = block <= lastBlock ? blockOf(text, block) : 0;
      if (block === lastBlock + 1) v2 ^= 0xee;
      if (block === lastBlock + 2) {
        this.words[0] = v1 ^ v3;
        v1 ^= 0xdd;
      }
      v3 ^= bits;
      for (let round = block <= lastBlock ? BLOCK_ROUNDS : FINAL_ROUNDS; round > 0; round -= 1) {
        v0 = (v0 + v1) | 0;
        v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
        v0 = (v0 << 16) | (v0 >>> 16);
        v2 = (v2 + v3) | 0;
        v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
        v0 = (v0 + v3) | 0;
        v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
        v2 = (v2 + v1) | 0;
        v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
        v2 = (v2 << 16) | (v2 >>> 16);
      }
      v0 ^= bits;
    }
    this.words[1] = v1 ^ v3;
  }
}

/** Two units of UTF-16; the last block has what is left of them, and the length in bytes above. */
function blockOf(text: string, block: number): number {
  const at = 2 * block;
  if (at + 1 < text.length) return text.charCodeAt(at) | (text.charCodeAt(at + 1) << 16);
  return (at < text.length ? text.charCodeAt(at) : 0) | (text.length << 25);
}
