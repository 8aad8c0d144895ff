import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { KeyedHash } from '../../src/limits/keyed-hash.ts';

/** Of the reference implementation: the key is 00 01 … 07, the input 00 01 … and so many bytes long. */
const PUBLISHED = new Map([
  [0, '218d1f59b9b83cc8'],
  [2, '064f39ef7c50eb57'],
  [4, 'd5e78a175be52ea1'],
  [6, 'ce3e91358aa2bc25'],
  [8, 'edfee820bce4858c'],
  [10, '95b0469f06a6f2ee'],
  [12, '7bc71f9faef5c799'],
  [14, '3bb1a870eae8e658'],
  [16, '7336aad25f7bf3b5'],
  [18, 'c9b2db2b9a3e42f9'],
  [20, '1bf52b0a6feea7db'],
  [30, '291aaf864898179d'],
  [32, '28709d46d811626c'],
  [62, 'f90b3ab572d46693'],
]);
const KEY = new Uint32Array([0x03020100, 0x07060504]);

function hashOf(text: string, key = KEY): string {
  const hash = new KeyedHash(key);
  hash.take(text);
  return [...hash.words]
    .map((word) =>
      word
        .toString(16)
        .padStart(8, '0')
        .replace(/(..)(..)(..)(..)/, '$4$3$2$1'),
    )
    .join('');
}

describe('the keyed hash', () => {
  it.each([...PUBLISHED])('of %i bytes is the published one', (length, published) => {
    const text = Buffer.from(Array.from({ length }, (_, i) => i)).toString('utf16le');
    expect(hashOf(text)).toBe(published);
  });

  it('is another one for another text or another key, also where a text is the beginning of the other', () => {
    const word = fc.nat(0xffffffff);
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), word, word, (a, b, x, y) => {
        const key = new Uint32Array([x, y]);
        expect(hashOf(a, key) === hashOf(b, key)).toBe(a === b);
        expect(hashOf(a, key)).not.toBe(hashOf(`${a}\0`, key));
        expect(hashOf(a, key)).not.toBe(hashOf(a, new Uint32Array([x ^ 1, y])));
        expect(hashOf(a, key)).not.toBe(hashOf(a, new Uint32Array([x, y ^ 1])));
      }),
    );
  });

  it('has halves that do not follow from each other, and spreads', () => {
    const words = Array.from({ length: 4096 }, (_, i) => {
      const hash = new KeyedHash(KEY);
      hash.take(`user-${i}`);
      return [...hash.words];
    });
    for (const half of [0, 1]) {
      const lowBits = new Set(words.map((pair) => (pair[half] ?? 0) & 0xfff));
      // Of 4096 chances to be hit, a fair choice leaves out about every third.
      expect(lowBits.size).toBeGreaterThan(2450);
      expect(lowBits.size).toBeLessThan(2730);
    }
    expect(words.filter(([high, low]) => high === low)).toEqual([]);
  });
});
