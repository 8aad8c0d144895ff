import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { uuidV7 } from '../src/uuid.ts';

const LAST_MS = 2 ** 48 - 1;
const FORM = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

const bitsOf = (uuid: string): string =>
  BigInt(`0x${uuid.replaceAll('-', '')}`)
    .toString(2)
    .padStart(128, '0');

describe('an identifier', () => {
  it('has the form of RFC 9562 and tells its millisecond, whichever came before', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: LAST_MS }), { minLength: 1 }), (moments) => {
        for (const ms of moments.flatMap((moment) => [moment, moment])) {
          const uuid = uuidV7(ms);
          expect(uuid).toMatch(FORM);
          expect(Number.parseInt(uuid.replaceAll('-', '').slice(0, 12), 16)).toBe(ms);
        }
      }),
    );
  });

  it('comes once, and none of its 74 random bits is fixed', () => {
    const count = 20_000;
    const uuids = Array.from({ length: count }, () => uuidV7(1_800_000_000_000));
    expect(new Set(uuids).size).toBe(count);
    const ones = Array.from({ length: 128 }, () => 0);
    for (const uuid of uuids)
      for (const [place, bit] of [...bitsOf(uuid)].entries())
        if (bit === '1') ones[place] = (ones[place] ?? 0) + 1;
    // A fair coin is further off than this less than once in 10^40 times.
    const random = ones.filter((times) => Math.abs(times - count / 2) < 1000);
    expect(random).toHaveLength(74);
  });

  it('has random bits that do not follow each other', () => {
    const count = 2000;
    const uuids = Array.from({ length: count }, () => bitsOf(uuidV7(1_800_000_000_000)));
    const RANDOM = [
      ...Array.from({ length: 12 }, (_, i) => 52 + i),
      ...Array.from({ length: 62 }, (_, i) => 66 + i),
    ];
    for (const [i, a] of RANDOM.entries())
      for (const b of RANDOM.slice(i + 1)) {
        const alike = uuids.filter((bits) => bits[a] === bits[b]).length;
        expect(Math.abs(alike - count / 2), `bits ${a} and ${b}`).toBeLessThan(300);
      }
  });
});
