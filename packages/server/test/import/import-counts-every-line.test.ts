import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ParsedLine } from '../../src/import/input-line.ts';
import { bad, good, goodLines, inChunks, MemoryStore, runImport } from './support/run-import.ts';

test('leads are written in batches of 1,000, and each batch is acknowledged once it is durable', async () => {
  const store = new MemoryStore();
  const { outcome, events } = await runImport(inChunks(goodLines(2500), 170), { store });
  expect(store.batches.map((batch) => batch.length)).toEqual([1000, 1000, 500]);
  expect(events).toEqual(['committed 1000', 'committed 2000', 'committed 2500']);
  expect(outcome).toEqual({
    kind: 'finished',
    savedLine: 2500,
    counts: { added: 2500, updated: 0, rejected: 0 },
  });
});

test('a batch of long lines is smaller, to bound its memory', async () => {
  const store = new MemoryStore();
  const long = goodLines(20).map((line) => ({ ...line, raw: Buffer.alloc(1024 * 1024) }));
  await runImport(inChunks(long, 3), { store });
  expect(store.batches.map((batch) => batch.length)).toEqual([8, 8, 4]);
});

test('lines rejected by the parser and by the store are reported in the order of the file', async () => {
  const lines = [bad(1), good(2, 'a', 'nowhere'), good(3), bad(5), good(6, 'b', 'nowhere')];
  const { outcome, events } = await runImport(inChunks(lines, 2));
  const unknown = 'companyId unknown company "nowhere"; create it with leadtap org apply';
  expect(events).toEqual([
    'rejected 1 email is wrong',
    `rejected 2 ${unknown}`,
    'rejected 5 email is wrong',
    `rejected 6 ${unknown}`,
    'committed 6',
  ]);
  expect(outcome.counts).toEqual({ added: 1, updated: 0, rejected: 4 });
});

test('a batch that was read before the input fails is saved', async () => {
  const events: string[] = [];
  async function* broken(): AsyncGenerator<readonly ParsedLine[]> {
    yield goodLines(1000);
    throw new Error('the disk is broken');
  }
  const running = runImport(broken(), { onEvent: (event) => events.push(event) });
  await expect(running).rejects.toThrow('the disk is broken');
  expect(events).toEqual(['committed 1000']);
});

test('an empty file is finished', async () => {
  const { outcome } = await runImport(inChunks([], 1), { skippedLines: 7 });
  expect(outcome).toEqual({ kind: 'finished', savedLine: 7, counts: { added: 0, updated: 0, rejected: 0 } });
});

test('a row of several lines is saved up to its last line', async () => {
  const { outcome } = await runImport(inChunks([{ ...good(3), lastNumber: 9 }], 1));
  expect(outcome.savedLine).toBe(9);
});

test('every line of any file is added, updated or rejected, once and in order', async () => {
  const kinds = fc.array(fc.constantFrom('good', 'bad', 'nowhere'), { maxLength: 3000 });
  await fc.assert(
    fc.asyncProperty(kinds, fc.integer({ min: 1, max: 1500 }), async (file, size) => {
      const store = new MemoryStore();
      const lines = file.map((kind, index): ParsedLine => {
        if (kind === 'bad') return bad(index + 1);
        return good(index + 1, `${index + 1}`, kind === 'nowhere' ? 'nowhere' : 'acme');
      });
      const { outcome, events } = await runImport(inChunks(lines, size), { store });
      const rejected = lines.filter((_, index) => file[index] !== 'good').map(({ number }) => number);
      const reported = events
        .filter((event) => event.startsWith('rejected'))
        .map((event) => Number(event.split(' ')[1]));
      expect(reported).toEqual(rejected);
      expect(outcome.counts).toEqual({
        added: file.length - rejected.length,
        updated: 0,
        rejected: rejected.length,
      });
      const written = store.batches.flat().map(({ id }) => Number(id));
      expect(written).toEqual(lines.filter((_, index) => file[index] !== 'bad').map(({ number }) => number));
    }),
    { numRuns: 30 },
  );
});
