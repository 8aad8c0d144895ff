import { expect, test } from 'vitest';
import { inBatches } from '../../src/leads/import/batches.ts';
import type { ParsedLine } from '../../src/leads/import/line.ts';
import { good, goodLines, inChunks, MemoryStore, runImport } from './importing.ts';

test('a batch is a thousand lines, or a tenth of what came before it, up to four thousand', async () => {
  const store = new MemoryStore();
  const { outcome } = await runImport(inChunks(goodLines(60_000), 500), { store });
  const sizes = store.batches.map((batch) => batch.length);
  expect(sizes.slice(0, 21)).toEqual([...Array.from({ length: 20 }, () => 1000), 2000]);
  expect(Math.max(...sizes)).toBe(4000);
  let before = 0;
  for (const size of sizes.slice(0, -1)) {
    expect(size % 1000).toBe(0);
    expect(size).toBeLessThanOrEqual(Math.max(1000, before / 10));
    before += size;
  }
  expect(outcome).toMatchObject({ savedLine: 60_000, counts: { added: 60_000 } });
});

test('what a silent pipe has brought counts as before', async () => {
  const silences = Array.from({ length: 3 }, () => [good(1)]);
  async function* pipe(): AsyncGenerator<readonly ParsedLine[]> {
    for (const lines of silences) yield lines;
    yield goodLines(1500);
  }
  const { signal } = new AbortController();
  const sizes: number[] = [];
  for await (const batch of inBatches(pipe(), async () => {}, signal)) sizes.push(batch.length);
  expect(sizes.reduce((sum, size) => sum + size)).toBe(1503);
  expect(Math.max(...sizes)).toBeLessThanOrEqual(1000);
});
