import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type GoodToken, nameOf, RememberedTokens } from '../../src/accounts/remembered-tokens.ts';

const MINUTE = 60_000;

const goodToken = (userId: string): GoodToken => ({
  verification: { kind: 'valid', token: { userId, tokenId: undefined } },
  expiresAt: Number.MAX_SAFE_INTEGER,
  notBefore: 0,
  toleranceS: 0,
  keySet: undefined,
});

/** Callers who come by name; whether they were known then. */
function makeMemory(most: number) {
  const memory = new RememberedTokens(most);
  return {
    memory,
    isKnown: (name: string, now: number) => memory.find(name, now, undefined) !== undefined,
    come(name: string, now: number): boolean {
      const isKnown = memory.find(name, now, undefined) !== undefined;
      if (!isKnown) memory.add(name, goodToken(name), now);
      return isKnown;
    },
  };
}

describe('the memory of good tokens', () => {
  it('never holds more than it may, and only those it was given', () => {
    const visit = fc.record({ name: fc.nat(30).map(String), waitMs: fc.nat(20 * MINUTE) });
    fc.assert(
      fc.property(fc.nat(8), fc.array(visit, { maxLength: 100 }), (most, visits) => {
        const { memory, come } = makeMemory(most);
        let now = 0;
        for (const { name, waitMs } of visits) {
          now += waitMs;
          come(name, now);
          expect(memory.size).toBeLessThanOrEqual(most);
          const found = memory.find(name, now, undefined);
          if (found) expect(found).toEqual(goodToken(name).verification);
        }
      }),
    );
  });

  it('keeps those who come in turn, when there are more of them than places', () => {
    const { come } = makeMemory(100);
    const callers = Array.from({ length: 150 }, (_, n) => `caller ${n}`);
    const known = (minute: number) => callers.filter((caller) => come(caller, minute * MINUTE));
    expect(known(0)).toEqual([]);
    for (const minute of [2, 4, 6, 8, 10]) expect(known(minute)).toEqual(callers.slice(0, 100));
  });

  it('gives the places of those who stopped to those who come', () => {
    const { come } = makeMemory(100);
    for (let n = 0; n < 100; n += 1) come(`gone ${n}`, 0);
    for (let minute = 1; minute < 5; minute += 1) expect(come('new', minute * MINUTE)).toBe(false);
    for (let n = 0; n < 100; n += 1) come(`new ${n}`, 5 * MINUTE);
    expect(Array.from({ length: 100 }, (_, n) => come(`new ${n}`, 6 * MINUTE))).not.toContain(false);
    expect(come('gone 1', 6 * MINUTE)).toBe(false);
  });

  it('counts no use of a token that has expired, and forgets one that was verified with other keys', () => {
    const { memory, come, isKnown } = makeMemory(1);
    const keySet = {};
    memory.add('theirs', { ...goodToken('ada'), expiresAt: 60, keySet }, 0);
    expect(memory.find('theirs', 0, keySet)).toEqual(goodToken('ada').verification);
    expect(memory.find('theirs', 0, {})).toBeUndefined();
    expect(memory.find('theirs', 0, undefined)).toBeUndefined();
    for (const minute of [1, 4, 5])
      expect(memory.find('theirs', minute * MINUTE, keySet)).toEqual({ kind: 'expired' });
    come('ours', 5 * MINUTE);
    expect(isKnown('ours', 5 * MINUTE)).toBe(true);
    expect(memory.size).toBe(1);
  });

  it('gives a token its place back when it was verified anew', () => {
    const { memory } = makeMemory(1);
    const keySet = {};
    memory.add('theirs', { ...goodToken('ada'), keySet: {} }, 0);
    memory.add('theirs', { ...goodToken('ada'), keySet }, MINUTE);
    expect(memory.find('theirs', MINUTE, keySet)).toEqual(goodToken('ada').verification);
  });

  it('knows a token by a hash', () => {
    expect(Buffer.from(nameOf('a.b.c'), 'latin1')).toEqual(createHash('sha256').update('a.b.c').digest());
    expect(nameOf('a.b.c')).not.toBe(nameOf('a.b.d'));
  });
});
