import type { KeyedHash } from './keyed-hash.ts';

/** Memory is taken and given back in pieces of so many records or chains. */
const PIECE_BITS = 12;
const PIECE = 1 << PIECE_BITS;
const WITHIN_PIECE = PIECE - 1;

/** What a record begins with: the two halves of its hash, and the record that follows in its chain. */
const HIGH = 0;
const LOW = 1;
const NEXT = 2;
const HEAD = 3;
/** No record. The first one is number 1. */
const NONE = 0;

/**
 * Records of a few numbers of 32 bits, found by the hash of a key. They lie side by side in typed arrays, 16 bytes more
 * than their numbers each, where a Map with objects takes two hundred. There are as many chains as records: each new
 * record splits one chain in two (linear hashing), so the table grows and shrinks without ever being built anew.
 * Two keys with the same hash share a record.
 */
export class RecordTable {
  readonly #hash: KeyedHash;
  readonly #stride: number;
  readonly #records: Uint32Array[] = [];
  /** The first record of each chain. */
  readonly #chains: Uint32Array[] = [];
  #count = 0;
  /** The bits of a hash that choose its chain: just enough to reach the last one. */
  #mask = 0;
  /** So many records are not tidied yet in this round. */
  #untidied = 0;
  /** The numbers of the record that was gone to last begin `at` here. */
  words: Uint32Array = new Uint32Array(0);
  at = 0;

  constructor(hash: KeyedHash, numbersInRecord: number) {
    this.#hash = hash;
    this.#stride = HEAD + numbersInRecord;
  }

  get count(): number {
    return this.#count;
  }

  /** Goes to the record of a key, if there is one. */
  find(key: string): boolean {
    this.#hash.take(key);
    const high = this.#hash.words[0] ?? 0;
    const low = this.#hash.words[1] ?? 0;
    let record = this.#firstOf(this.#chainOf(low));
    while (record !== NONE && (this.#word(record, LOW) !== low || this.#word(record, HIGH) !== high))
      record = this.#word(record, NEXT);
    if (record !== NONE) this.#goTo(record);
    return record !== NONE;
  }

  /** Goes to a new record for the key that was not found. Its numbers are whatever was there before. */
  add(): void {
    const record = this.#count + 1;
    this.#splitChain();
    if (record >>> PIECE_BITS >= this.#records.length)
      this.#records.push(new Uint32Array(PIECE * this.#stride));
    this.#set(record, HIGH, this.#hash.words[0] ?? 0);
    this.#set(record, LOW, this.#hash.words[1] ?? 0);
    this.#link(record);
    this.#goTo(record);
  }

  /**
   * Goes to so many records, on from where it was the last time, and removes those that are not to be kept. From the last
   * one to the first: what takes the place of a removed one was seen before.
   */
  tidy(most: number, isKept: () => boolean): void {
    for (let seen = 0; seen < most && this.#count > 0; seen += 1) {
      if (this.#untidied === 0) this.#untidied = this.#count;
      this.#goTo(this.#untidied);
      if (!isKept()) this.#remove(this.#untidied);
      this.#untidied -= 1;
    }
  }

  clear(): void {
    this.#records.length = 0;
    this.#chains.length = 0;
    this.#count = 0;
    this.#mask = 0;
    this.#untidied = 0;
  }

  #goTo(record: number): void {
    this.words = this.#records[record >>> PIECE_BITS] ?? this.words;
    this.at = (record & WITHIN_PIECE) * this.#stride + HEAD;
  }

  #word(record: number, place: number): number {
    return this.#records[record >>> PIECE_BITS]?.[(record & WITHIN_PIECE) * this.#stride + place] ?? 0;
  }

  #set(record: number, place: number, word: number): void {
    const piece = this.#records[record >>> PIECE_BITS];
    if (piece) piece[(record & WITHIN_PIECE) * this.#stride + place] = word;
  }

  #firstOf(chain: number): number {
    return this.#chains[chain >>> PIECE_BITS]?.[chain & WITHIN_PIECE] ?? NONE;
  }

  #setFirst(chain: number, record: number): void {
    const piece = this.#chains[chain >>> PIECE_BITS];
    if (piece) piece[chain & WITHIN_PIECE] = record;
  }

  /** The chain of a hash; where that is not there yet, the one that it will be split from. */
  #chainOf(low: number): number {
    const chain = low & this.#mask;
    return chain < this.#count ? chain : this.#origin(chain);
  }

  #origin(chain: number): number {
    return chain & (this.#mask >>> 1);
  }

  #link(record: number): void {
    const chain = this.#chainOf(this.#word(record, LOW));
    this.#set(record, NEXT, this.#firstOf(chain));
    this.#setFirst(chain, record);
  }

  /** Lets what stands before a record in its chain point to another one. */
  #replace(record: number, by: number): void {
    const chain = this.#chainOf(this.#word(record, LOW));
    let before = this.#firstOf(chain);
    if (before === record) {
      this.#setFirst(chain, by);
      return;
    }
    while (this.#word(before, NEXT) !== record) before = this.#word(before, NEXT);
    this.#set(before, NEXT, by);
  }

  /** The last record takes the place of the removed one, so that they go on lying side by side. */
  #remove(record: number): void {
    this.#replace(record, this.#word(record, NEXT));
    const last = this.#count;
    if (record !== last) {
      this.#replace(last, record);
      for (let place = 0; place < this.#stride; place += 1) this.#set(record, place, this.#word(last, place));
    }
    this.#joinChain();
    // One piece more than needed stays, for whoever comes next.
    if ((this.#count >>> PIECE_BITS) + 2 < this.#records.length) this.#records.pop();
  }
  /** One chain and one record more: what belongs there moves over. */
  #splitChain(): void {
    const chain = this.#count;
    this.#count += 1;
    if (chain > this.#mask) this.#mask = 2 * this.#mask + 1;
    if (chain >>> PIECE_BITS >= this.#chains.length) this.#chains.push(new Uint32Array(PIECE));
    const first = this.#firstOf(this.#origin(chain));
    this.#setFirst(this.#origin(chain), NONE);
    this.#setFirst(chain, NONE);
    this.#linkAll(first);
  }

  /** One chain and one record less: what was there moves back. */
  #joinChain(): void {
    this.#count -= 1;
    const first = this.#firstOf(this.#count);
    if (this.#count - 1 <= this.#mask >>> 1) this.#mask >>>= 1;
    this.#linkAll(first);
    if ((this.#count >>> PIECE_BITS) + 2 < this.#chains.length) this.#chains.pop();
  }

  #linkAll(first: number): void {
    for (let record = first; record !== NONE; ) {
      const next = this.#word(record, NEXT);
      this.#link(record);
      record = next;
    }
  }
}
