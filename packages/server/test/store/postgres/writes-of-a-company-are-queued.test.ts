import { describe, expect, it } from 'vitest';
import { deferred } from '../../../../testing/harness/deferred.ts';
import { WriteQueue } from '../../../src/store/postgres/write-queue.ts';
import { StoreUnavailableError } from '../../../src/store/store.ts';

const NEVER_MS = 600_000;

/** Writes that run until the test ends them, by their names. */
function makeQueue({ maxRunning = 2, maxWaitMs = NEVER_MS } = {}) {
  const queue = new WriteQueue({ maxRunning, maxWaitMs });
  const started: string[] = [];
  const write = (companyId: string, name: string) => {
    const ended = deferred();
    const done = queue.run(companyId, () => {
      started.push(name);
      return ended.promise;
    });
    const end = async () => {
      ended.resolve();
      await done;
      // The next one starts in a later microtask.
      await new Promise(setImmediate);
    };
    return { done, end };
  };
  return { queue, started, write };
}

describe('writes of leads', () => {
  it('of one company run one at a time, in the order of arrival', async () => {
    const { started, write } = makeQueue();
    const [first, second] = ['a1', 'a2', 'a3'].map((name) => write('acme', name));
    await new Promise(setImmediate);
    expect(started).toEqual(['a1']);
    await first?.end();
    expect(started).toEqual(['a1', 'a2']);
    await second?.end();
    expect(started).toEqual(['a1', 'a2', 'a3']);
  });

  it('of all companies use at most so many connections, and a long queue of one company delays no other', async () => {
    const { started, write } = makeQueue();
    const a1 = write('acme', 'a1');
    write('acme', 'a2');
    const b1 = write('beta', 'b1');
    write('gamma', 'c1');
    await new Promise(setImmediate);
    expect(started).toEqual(['a1', 'b1']);
    await b1.end();
    expect(started).toEqual(['a1', 'b1', 'c1']);
    await a1.end();
    expect(started).toEqual(['a1', 'b1', 'c1', 'a2']);
  });

  it('start after one that failed', async () => {
    const { queue, started, write } = makeQueue();
    const failed = queue.run('acme', () => Promise.reject(new Error('no')));
    write('acme', 'next');
    await expect(failed).rejects.toThrow('no');
    await new Promise(setImmediate);
    expect(started).toEqual(['next']);
  });

  it('that wait too long are unavailable, and never start', async () => {
    const { started, write } = makeQueue({ maxWaitMs: 10 });
    const first = write('acme', 'first');
    await expect(write('acme', 'second').done).rejects.toThrow(StoreUnavailableError);
    await first.end();
    expect(started).toEqual(['first']);
    await write('acme', 'third').end();
    expect(started).toEqual(['first', 'third']);
  });

  it('are unavailable at once if too many of their company wait, while other companies can write', async () => {
    const { started, write } = makeQueue({ maxRunning: 1 });
    for (let count = 0; count <= 500; count += 1) write('acme', 'a');
    await expect(write('acme', 'one too many').done).rejects.toThrow(StoreUnavailableError);
    write('beta', 'b');
    for (let company = 0; company < 499; company += 1) write(`company-${company}`, 'c');
    await expect(write('gamma', 'the queue is full').done).rejects.toThrow(StoreUnavailableError);
    expect(started).toEqual(['a']);
  });
});
