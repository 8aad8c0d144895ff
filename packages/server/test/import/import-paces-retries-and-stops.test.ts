import { expect, test } from 'vitest';
import type { ParsedLine } from '../../src/import/input-line.ts';
import { StoreUnavailableError } from '../../src/sql/errors.ts';
import { bad, good, goodLines, inChunks, MemoryStore, runImport } from './support/run-import.ts';

const waitsIn = (events: readonly string[]) => events.filter((event) => event.startsWith('waited'));

test('5,000 new leads of a company are written at once, and 1,000 per second after that', async () => {
  const { outcome, events } = await runImport(inChunks(goodLines(8000), 500));
  expect(events.slice(0, 5)).toEqual([1, 2, 3, 4, 5].map((thousand) => `committed ${thousand}000`));
  const paced = [6, 7, 8].flatMap((thousand) => ['paced', 'waited 1000', `committed ${thousand}000`]);
  expect(events.slice(5)).toEqual(paced);
  expect(outcome.counts.added).toBe(8000);
});

test('updates are not paced', async () => {
  const store = new MemoryStore();
  await runImport(inChunks(goodLines(8000), 500), { store });
  const { outcome, events } = await runImport(inChunks(goodLines(8000), 500), { store });
  expect(outcome.counts.updated).toBe(8000);
  expect(waitsIn(events)).toEqual([]);
});

test('each company is paced separately', async () => {
  const lines = Array.from({ length: 8000 }, (_, n) => good(n + 1, `${n}`, n % 2 === 0 ? 'acme' : 'globex'));
  const { events } = await runImport(inChunks(lines, 500));
  expect(waitsIn(events)).toEqual([]);
});

test('an import waits until the clock has caught up, and no longer', async () => {
  const { events } = await runImport(inChunks(goodLines(60_000), 1000));
  const waits = waitsIn(events).map((event) => Number(event.slice('waited '.length)));
  const waitedMs = waits.reduce((sum, ms) => sum + ms, 0);
  expect(waitedMs).toBe(60_000 - 5000);
  expect(Math.max(...waits)).toBe(1000);
});

test('an unreachable database is retried with growing delays', async () => {
  const store = new MemoryStore();
  store.failures.push('unavailable', 'unavailable', 'unavailable');
  const { outcome, events } = await runImport(inChunks(goodLines(3), 3), { store });
  expect(events).toEqual(['waited 250', 'waited 500', 'waited 1000', 'committed 3']);
  expect(outcome.kind).toBe('finished');
});

test('a database that stays unreachable ends the import, which reports what is saved', async () => {
  const store = new MemoryStore();
  const failAfterFirstBatch = (event: string) => {
    if (event === 'committed 1000')
      store.failures.push(...Array.from({ length: 9 }, () => 'unavailable' as const));
  };
  const { outcome, events } = await runImport(inChunks(goodLines(2500), 100), {
    store,
    onEvent: failAfterFirstBatch,
  });
  expect(outcome).toEqual({
    kind: 'unavailable',
    cause: expect.any(StoreUnavailableError),
    savedLine: 1000,
    counts: { added: 1000, updated: 0, rejected: 0 },
  });
  expect(events.filter((event) => event.startsWith('waited'))).toHaveLength(5);
});

test('an import that fails closes its input', async () => {
  const store = new MemoryStore();
  store.failures.push(new Error('a defect'));
  let isOpen = true;
  async function* lines(): AsyncGenerator<readonly ParsedLine[]> {
    try {
      yield goodLines(1000);
      yield goodLines(1000);
    } finally {
      isOpen = false;
    }
  }
  await expect(runImport(lines(), { store })).rejects.toThrow('a defect');
  expect(isOpen).toBe(false);
});

test('an import that fails does not wait for a paused input', async () => {
  const store = new MemoryStore();
  store.failures.push(new Error('a defect'));
  async function* pipe(): AsyncGenerator<readonly ParsedLine[]> {
    yield goodLines(3);
    await new Promise(() => {});
  }
  await expect(runImport(pipe(), { store, pauses: true })).rejects.toThrow('a defect');
});

test('an interrupt finishes the current batch and stops reading', async () => {
  const controller = new AbortController();
  let hasReadOn = false;
  async function* interrupted(): AsyncGenerator<readonly ParsedLine[]> {
    yield goodLines(1200);
    controller.abort();
    yield [good(1201), bad(1202)];
    hasReadOn = true;
  }
  const { outcome } = await runImport(interrupted(), { controller });
  expect(outcome).toEqual({
    kind: 'interrupted',
    savedLine: 1202,
    counts: { added: 1201, updated: 0, rejected: 1 },
  });
  expect(hasReadOn).toBe(false);
});

test('an interrupt ends an input that waits for data, and saves the lines read so far', async () => {
  const controller = new AbortController();
  async function* waiting(): AsyncGenerator<readonly ParsedLine[]> {
    yield goodLines(3);
    controller.abort();
    throw new Error('aborted');
  }
  const { outcome } = await runImport(waiting(), { controller });
  expect(outcome).toMatchObject({ kind: 'interrupted', savedLine: 3, counts: { added: 3 } });
});

test('an interrupt ends the retries', async () => {
  const controller = new AbortController();
  const store = new MemoryStore();
  store.failures.push(...Array.from({ length: 99 }, () => 'unavailable' as const));
  const { outcome, events } = await runImport(inChunks(goodLines(3), 3), {
    store,
    controller,
    onEvent: (event) => event.startsWith('waited') && controller.abort(),
  });
  expect(outcome).toEqual({
    kind: 'interrupted',
    savedLine: 0,
    counts: { added: 0, updated: 0, rejected: 0 },
  });
  expect(waitsIn(events)).toHaveLength(1);
});

test('an interrupt ends the wait of a paced import, which reports what is saved', async () => {
  const controller = new AbortController();
  const { outcome, events } = await runImport(inChunks(goodLines(8000), 500), {
    controller,
    onEvent: (event) => event.startsWith('waited') && controller.abort(),
  });
  expect(outcome).toMatchObject({ kind: 'interrupted', savedLine: 5000, counts: { added: 5000 } });
  expect(waitsIn(events)).toHaveLength(1);
});

test('the lines of a paused pipe are saved before the batch is full', async () => {
  let isSaved = () => {};
  const saved = new Promise<void>((resolve) => {
    isSaved = resolve;
  });
  async function* pipe(): AsyncGenerator<readonly ParsedLine[]> {
    yield goodLines(3);
    await saved;
    yield [good(4)];
  }
  const { events } = await runImport(pipe(), {
    pauses: true,
    onEvent: (event) => event === 'committed 3' && isSaved(),
  });
  expect(events).toEqual(['committed 3', 'committed 4']);
});
