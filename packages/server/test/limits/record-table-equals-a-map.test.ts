import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { KeyedHash } from '../../src/limits/keyed-hash.ts';
import { RecordTable } from '../../src/limits/record-table.ts';

const NUMBERS = 2;

/** A table whose records hold a number that the test knows, and its square. */
function makeTable() {
  const table = new RecordTable(new KeyedHash(new Uint32Array([1, 2])), NUMBERS);
  return {
    table,
    read: (key: string): readonly number[] | undefined =>
      table.find(key) ? [...table.words.subarray(table.at, table.at + NUMBERS)] : undefined,
    write(key: string, number: number): void {
      if (!table.find(key)) table.add();
      table.words.set([number, number ** 2], table.at);
    },
    /** Looks at so many records and keeps those whose number is at least this one. */
    tidy(most: number, least: number): number[] {
      const seen: number[] = [];
      table.tidy(most, () => {
        const number = table.words[table.at] ?? 0;
        seen.push(number);
        return number >= least;
      });
      return seen;
    },
  };
}

const key = fc.nat(40).map((n) => `user ${n}`);
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ key, number: fc.nat(1000) }) },
  { weight: 1, arbitrary: fc.record({ least: fc.nat(1000) }) },
  { weight: 1, arbitrary: fc.constant('clear' as const) },
);

describe('the table of records', () => {
  it('holds what a map would hold, whatever comes and goes', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
        const { table, read, write, tidy } = makeTable();
        const map = new Map<string, number>();
        for (const does of steps) {
          if (does === 'clear') {
            table.clear();
            map.clear();
          } else if ('key' in does) {
            write(does.key, does.number);
            map.set(does.key, does.number);
          } else {
            // The rest of a round that was begun before, and a whole one.
            tidy(2 * table.count, does.least);
            for (const [name, number] of map) if (number < does.least) map.delete(name);
          }
          expect(table.count).toBe(map.size);
        }
        for (let n = 0; n <= 40; n += 1) {
          const number = map.get(`user ${n}`);
          expect(read(`user ${n}`)).toEqual(number === undefined ? undefined : [number, number ** 2]);
        }
      }),
      { numRuns: 200 },
    );
  });

  it('holds very many, gives them up one by one, and takes as many again', () => {
    const { table, read, write, tidy } = makeTable();
    const count = 30_000;
    for (const _round of [1, 2]) {
      for (let n = 0; n < count; n += 1) write(`user ${n}`, n);
      expect(table.count).toBe(count);
      tidy(count, 20_000);
      expect(table.count).toBe(10_000);
      const wrong = Array.from({ length: count }, (_, n) => n).filter(
        (n) => read(`user ${n}`)?.join() !== (n < 20_000 ? undefined : `${n},${n ** 2}`),
      );
      expect(wrong).toEqual([]);
      tidy(count, count);
      expect(table.count).toBe(0);
      expect(read('user 29999')).toBeUndefined();
    }
  });

  it('looks at every record in its turn, however few at a time', () => {
    const { write, tidy } = makeTable();
    for (let n = 0; n < 100; n += 1) write(`user ${n}`, n);
    const inTurn = (least: number) => Array.from({ length: 20 }, () => tidy(5, least)).flat();
    const seen = inTurn(0);
    expect([...seen].sort((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, n) => n));
    expect(inTurn(50)).toEqual(seen);
    expect(inTurn(0).filter((n) => n < 50)).toEqual([]);
  });
});
