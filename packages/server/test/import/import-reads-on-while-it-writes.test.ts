import { expect, test } from 'vitest';
import { deferred } from '../../../testing/harness/deferred.ts';
import type { ParsedLine } from '../../src/leads/import/line.ts';
import type { LeadInput } from '../../src/store/records.ts';
import type { WriteOutcome } from '../../src/store/store.ts';
import { goodLines, MemoryStore, runImport } from './importing.ts';

/** A store that takes its time: each batch is written when the test says so. */
class SlowStore extends MemoryStore {
  readonly begun: number[] = [];
  readonly #goOn: (() => void)[] = [];

  override async writeLeads(leads: readonly LeadInput[]): Promise<WriteOutcome> {
    this.begun.push(leads.length);
    const { promise, resolve } = deferred();
    this.#goOn.push(resolve);
    await promise;
    return super.writeLeads(leads);
  }

  finish(): void {
    this.#goOn.shift()?.();
  }
}

test('one batch is gathered while another is written, and no more than one', async () => {
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
  // Never two at once, whatever has been read.
  expect(store.batches).toHaveLength(1);
  const rest = setInterval(() => store.finish(), 1);
  const { events } = await running;
  clearInterval(rest);
  expect(events).toHaveLength(6);
});

test('an input that breaks while a batch is written does not keep it from being saved', async () => {
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
