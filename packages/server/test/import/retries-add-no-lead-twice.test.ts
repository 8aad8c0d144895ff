import fc from 'fast-check';
import { expect, test } from 'vitest';
import { bad, good, inChunks, MemoryStore, runImport, withoutId } from './support/run-import.ts';

test('leads without an id are stored once, and counted as added, if the answer to their commit is lost', async () => {
  const store = new MemoryStore();
  store.failures.push('answer-lost', 'unavailable', 'answer-lost');
  const { outcome } = await runImport(inChunks([withoutId(1), withoutId(2), withoutId(3)], 3), { store });
  expect(store.size).toBe(3);
  expect(outcome).toEqual({
    kind: 'finished',
    savedLine: 3,
    counts: { added: 3, updated: 0, rejected: 0 },
  });
});

test('after any failures every lead is stored once, and leads without an id count as added', async () => {
  const anyLine = fc.constantFrom('withoutId', 'known', 'bad', 'misplaced');
  const anyFailures = fc.array(fc.constantFrom('answer-lost', 'unavailable'), { maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(fc.array(anyLine, { minLength: 1 }), anyFailures, async (kinds, failures) => {
      const store = new MemoryStore();
      store.failures.push(...failures);
      const lines = kinds.map((kind, index) => {
        if (kind === 'bad') return bad(index + 1);
        if (kind === 'misplaced') return withoutId(index + 1, 'nowhere');
        return kind === 'known' ? good(index + 1, 'known') : withoutId(index + 1);
      });
      const { outcome } = await runImport(inChunks(lines, 7), { store });
      const count = (wanted: string) => kinds.filter((kind) => kind === wanted).length;
      const { added, updated, rejected } = outcome.counts;
      expect(store.size).toBe(count('withoutId') + Math.min(count('known'), 1));
      expect(rejected).toBe(count('bad') + count('misplaced'));
      expect(added + updated).toBe(count('withoutId') + count('known'));
      expect(added).toBeGreaterThanOrEqual(count('withoutId'));
    }),
  );
});
