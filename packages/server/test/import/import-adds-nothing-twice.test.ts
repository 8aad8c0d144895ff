import fc from 'fast-check';
import { expect, test } from 'vitest';
import { bad, good, inChunks, MemoryStore, nameless, runImport } from './importing.ts';

test('leads without an id are there once, and counted as added, when the answer to their commit is lost', async () => {
  const store = new MemoryStore();
  store.troubles.push('answer-lost', 'unavailable', 'answer-lost');
  const { outcome } = await runImport(inChunks([nameless(1), nameless(2), nameless(3)], 3), { store });
  expect(store.size).toBe(3);
  expect(outcome).toEqual({
    kind: 'finished',
    savedLine: 3,
    counts: { added: 3, updated: 0, rejected: 0 },
  });
});

test('whatever the lines and the troubles, every lead is there once and nameless ones count as added', async () => {
  const anyLine = fc.constantFrom('nameless', 'known', 'bad', 'misplaced');
  const anyTroubles = fc.array(fc.constantFrom('answer-lost', 'unavailable'), { maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(fc.array(anyLine, { minLength: 1 }), anyTroubles, async (kinds, troubles) => {
      const store = new MemoryStore();
      store.troubles.push(...troubles);
      const lines = kinds.map((kind, index) => {
        if (kind === 'bad') return bad(index + 1);
        if (kind === 'misplaced') return nameless(index + 1, 'nowhere');
        return kind === 'known' ? good(index + 1, 'known') : nameless(index + 1);
      });
      const { outcome } = await runImport(inChunks(lines, 7), { store });
      const count = (wanted: string) => kinds.filter((kind) => kind === wanted).length;
      const { added, updated, rejected } = outcome.counts;
      expect(store.size).toBe(count('nameless') + Math.min(count('known'), 1));
      expect(rejected).toBe(count('bad') + count('misplaced'));
      expect(added + updated).toBe(count('nameless') + count('known'));
      expect(added).toBeGreaterThanOrEqual(count('nameless'));
    }),
  );
});
