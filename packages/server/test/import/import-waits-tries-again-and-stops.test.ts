import { expect, test } from 'vitest';
import type { ParsedLine } from '../../src/leads/import/line.ts';
import { StoreUnavailableError } from '../../src/store/store.ts';
import { bad, good, goodLines, inChunks, MemoryStore, runImport } from './importing.ts';

const waitsIn = (events: readonly string[]) => events.filter((event) => event.startsWith('waited'));

test('5,000 new leads of a company are written at once, and 1,000 a second after that', async () => {
  const { outcome, events } = await runImport(inChunks(goodLines(8000), 500));
  expect(events.slice(0, 5)).toEqual([1, 2, 3, 4, 5].map((thousand) => `committed ${thousand}000`));
  const paced = [6, 7, 8].flatMap((thousand) => ['paced', 'waited 1000', `committed ${thousand}000`]);
  expect(events.slice(5)).toEqual(paced);
  expect(outcome.counts.added).toBe(8000);
});

test('leads that are there already need no pace', async () => {
  const store = new MemoryStore();
  await runImport(inChunks(goodLines(8000), 500), { store });
  const { outcome, events } = await runImport(inChunks(goodLines(8000), 500), { store });
  expect(outcome.counts.updated).toBe(8000);
  expect(waitsIn(events)).toEqual([]);
});

test('each company has a pace of its own', async () => {
  const lines = Array.from({ length: 8000 }, (_, n) => good(n + 1, `${n}`, n % 2 === 0 ? 'acme' : 'globex'));
  const { events } = await runImport(inChunks(lines, 500));
  expect(waitsIn(events)).toEqual([]);
});

test('history needs no pace', async () => {
  const { events } = await runImport(inChunks(goodLines(8000), 500), { historical: true });
  expect(waitsIn(events)).toEqual([]);
});

test('a large batch waits until the clock has caught up with all leads before it, and no longer', async () => {
  const { events } = await runImport(inChunks(goodLines(60_000), 1000));
  const waits = waitsIn(events).map((event) => Number(event.slice('waited '.length)));
  const waitedMs = waits.reduce((sum, ms) => sum + ms, 0);
  expect(waitedMs).toBe(60_000 - 5000);
  expect(Math.max(...waits)).toBe(4000);
});

test('a database that is away is tried again, with growing pauses', async () => {
  const store = new MemoryStore();
  store.troubles.push('unavailable', 'unavailable', 'unavailable');
  const { outcome, events } = await runImport(inChunks(goodLines(3), 3), { store });
  expect(events).toEqual(['waited 250', 'waited 500', 'waited 1000', 'committed 3']);
  expect(outcome.kind).toBe('finished');
});

test('a database that stays away ends the import, which tells what is saved', async () => {
  const store = new MemoryStore();
  const awayFrom = (event: string) => {
    if (event === 'committed 1000')
      store.troubles.push(...Array.from({ length: 9 }, () => 'unavailable' as const));
  };
  const { outcome, events } = await runImport(inChunks(goodLines(2500), 100), { store, onEvent: awayFrom });
  expect(outcome).toEqual({
    kind: 'unavailable',
    cause: expect.any(StoreUnavailableError),
    savedLine: 1000,
    counts: { added: 1000, updated: 0, rejected: 0 },
  });
  expect(events.filter((event) => event.startsWith('waited'))).toHaveLength(5);
});

test('each batch has its own patience', async () => {
  const store = new MemoryStore();
  const away = () => store.troubles.push('unavailable', 'unavailable', 'unavailable', 'unavailable');
  away();
  const { outcome } = await runImport(inChunks(goodLines(1500), 100), {
    store,
    onEvent: (event) => event === 'committed 1000' && away(),
  });
  expect(outcome.kind).toBe('finished');
});

test('any other error is not swallowed', async () => {
  const store = new MemoryStore();
  store.troubles.push(new Error('a defect'));
  await expect(runImport(inChunks(goodLines(3), 3), { store })).rejects.toThrow('a defect');
});

test('an import that fails lets go of its input', async () => {
  const store = new MemoryStore();
  store.troubles.push(new Error('a defect'));
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

test('an import that fails does not wait for an input that is silent', async () => {
  const store = new MemoryStore();
  store.troubles.push(new Error('a defect'));
  async function* pipe(): AsyncGenerator<readonly ParsedLine[]> {
    yield goodLines(3);
    await new Promise(() => {});
  }
  await expect(runImport(pipe(), { store, silent: true })).rejects.toThrow('a defect');
});

test('an error of the input is not swallowed', async () => {
  async function* broken(): AsyncGenerator<readonly ParsedLine[]> {
    yield goodLines(3);
    throw new Error('the disk is broken');
  }
  await expect(runImport(broken())).rejects.toThrow('the disk is broken');
});

test('an interrupt finishes the batch in hand, and nobody reads on', async () => {
  const controller = new AbortController();
  let readOn = false;
  async function* interrupted(): AsyncGenerator<readonly ParsedLine[]> {
    yield goodLines(1200);
    controller.abort();
    yield [good(1201), bad(1202)];
    readOn = true;
  }
  const { outcome } = await runImport(interrupted(), { controller });
  expect(outcome).toEqual({
    kind: 'interrupted',
    savedLine: 1202,
    counts: { added: 1201, updated: 0, rejected: 1 },
  });
  expect(readOn).toBe(false);
});

test('an interrupt ends an input that waits for more, and saves what has come', async () => {
  const controller = new AbortController();
  async function* waiting(): AsyncGenerator<readonly ParsedLine[]> {
    yield goodLines(3);
    controller.abort();
    throw new Error('aborted');
  }
  const { outcome } = await runImport(waiting(), { controller });
  expect(outcome).toMatchObject({ kind: 'interrupted', savedLine: 3, counts: { added: 3 } });
});

test('an interrupt ends the waiting for a store that is unavailable', async () => {
  const controller = new AbortController();
  const store = new MemoryStore();
  store.troubles.push(...Array.from({ length: 99 }, () => 'unavailable' as const));
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

test('an interrupt ends the waiting of an import that is paced, which tells what is saved', async () => {
  const controller = new AbortController();
  const { outcome, events } = await runImport(inChunks(goodLines(8000), 500), {
    controller,
    onEvent: (event) => event.startsWith('waited') && controller.abort(),
  });
  expect(outcome).toMatchObject({ kind: 'interrupted', savedLine: 5000, counts: { added: 5000 } });
  expect(waitsIn(events)).toHaveLength(1);
});

test('a pipe that falls silent is not kept waiting for a full batch', async () => {
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
    silent: true,
    onEvent: (event) => event === 'committed 3' && isSaved(),
  });
  expect(events).toEqual(['committed 3', 'committed 4']);
});
