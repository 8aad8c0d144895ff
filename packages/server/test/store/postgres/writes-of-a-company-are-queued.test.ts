import { describe, expect, it } from 'vitest';
import { deferred } from '../../../../testing/harness/deferred.ts';
import { COMPANY_BUSY, LockQueue } from '../../../src/store/postgres/lock-queue.ts';

const NEVER_MS = 600_000;
const MAX_WAITERS = 3;

/** Writes that run until the test ends them, by their names. */
function makeQueue({ maxCompanies = 2, maxWaitMs = NEVER_MS } = {}) {
  const queue = new LockQueue(maxCompanies, MAX_WAITERS);
  const started: string[] = [];
  const write = (companyId: string, name: string) => {
    const ended = deferred();
    const done = queue.run(companyId, maxWaitMs, async () => {
      started.push(name);
      await ended.promise;
      return name;
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
    const failed = queue.run('acme', NEVER_MS, () => Promise.reject(new Error('no')));
    write('acme', 'next');
    await expect(failed).rejects.toThrow('no');
    await new Promise(setImmediate);
    expect(started).toEqual(['next']);
  });

  it('that wait too long never start', async () => {
    const { started, write } = makeQueue({ maxWaitMs: 10 });
    const first = write('acme', 'first');
    expect(await write('acme', 'second').done).toBe(COMPANY_BUSY);
    await first.end();
    expect(started).toEqual(['first']);
    await write('acme', 'third').end();
    expect(started).toEqual(['first', 'third']);
  });

  it('do not wait if too many wait already', async () => {
    const { started, write } = makeQueue({ maxCompanies: 1 });
    for (let count = 0; count <= MAX_WAITERS; count += 1) write('acme', `a${count}`);
    expect(await write('acme', 'one too many').done).toBe(COMPANY_BUSY);
    await new Promise(setImmediate);
    expect(started).toEqual(['a0']);
  });
});
