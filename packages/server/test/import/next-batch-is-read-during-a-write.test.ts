import { expect, test } from 'vitest';
import { deferred } from '../../../testing/harness/deferred.ts';
import type { ParsedLine } from '../../src/leads/import/input-line.ts';
import type { LeadInput } from '../../src/store/records.ts';
import type { WriteOutcome } from '../../src/store/store.ts';
import { goodLines, MemoryStore, runImport } from './support/run-import.ts';

/** A store that finishes each write when the test says so. */
class SlowStore extends MemoryStore {
  readonly begun: number[] = [];
  readonly #resume: (() => void)[] = [];

  override async writeLeads(leads: readonly LeadInput[]): Promise<WriteOutcome> {
    this.begun.push(leads.length);
    const { promise, resolve } = deferred();
    this.#resume.push(resolve);
    await promise;
    return super.writeLeads(leads);
  }

  finish(): void {
    this.#resume.shift()?.();
  }
}

test('one batch, and no more, is read while another is written', async () => {
  const store = new SlowStore();
  const read: number[] = [];
  async function* lines(): AsyncGenerator<readonly ParsedLine[]> {
    for (let chunk = 1; chunk <= 6; chunk += 1) {
      read.push(chunk);
      yield goodLines(1000);
    }
  }
  const running = runImport(lines(), { store });
  await expect.poll(() => store.begun.length).toBe(1);
  await expect.poll(() => read.length).toBe(2);
  store.finish();
  await expect.poll(() => store.begun.length).toBe(2);
  await expect.poll(() => read.length).toBe(3);
  // Writes are never concurrent.
  expect(store.batches).toHaveLength(1);
  const rest = setInterval(() => store.finish(), 1);
  const { events } = await running;
  clearInterval(rest);
  expect(events).toHaveLength(6);
});

test('a batch is saved although the input fails during its write', async () => {
  const store = new SlowStore();
  const events: string[] = [];
  async function* broken(): AsyncGenerator<readonly ParsedLine[]> {
    yield goodLines(1000);
    throw new Error('the disk is broken');
  }
  const running = runImport(broken(), { store, onEvent: (event) => events.push(event) });
  const failing = expect(running).rejects.toThrow('the disk is broken');
  await expect.poll(() => store.begun.length).toBe(1);
  store.finish();
  await failing;
  expect(events).toEqual(['committed 1000']);
});
