import { ClientDisconnectedError } from 'leadtap';
import { describe, expect, it } from 'vitest';
import { LockQueue } from '../../../src/store/postgres/lock-queue.ts';

const LONG = { limitMs: 60_000 };

/** A queue in which one has the turn of a company until the test ends it, and a second waits. */
async function occupy({ limitMs }: { limitMs: number } = LONG) {
  const queue = new LockQueue(1);
  const caller = new AbortController();
  let first: Promise<string | undefined> | undefined;
  const endTurn = await new Promise<() => void>((begun) => {
    first = queue.wait('acme', LONG, () => new Promise<string>((resolve) => begun(() => resolve('first'))));
  });
  const second = queue.wait('acme', { limitMs, signal: caller.signal }, async () => 'second');
  return { queue, first, second, caller, endTurn };
}

describe('the turn to wait for the lock of a company', () => {
  it('goes to the next in the queue', async () => {
    const { first, second, endTurn } = await occupy();
    endTurn();
    expect(await Promise.all([first, second])).toEqual(['first', 'second']);
  });

  it('passes over one who has waited too long, and over one who has gone', async () => {
    const { queue, second, endTurn } = await occupy({ limitMs: 1 });
    const caller = new AbortController();
    const third = queue.wait('acme', { ...LONG, signal: caller.signal }, async () => 'third');
    caller.abort();
    await expect(third).rejects.toThrow(ClientDisconnectedError);
    expect(await second).toBeUndefined();
    endTurn();
    expect(await queue.wait('acme', LONG, async () => 'fourth')).toBe('fourth');
  });

  it('is not lost with a caller who goes at the very moment of it', async () => {
    const { queue, first, second, caller, endTurn } = await occupy();
    endTurn();
    caller.abort();
    await Promise.allSettled([first, second]);
    expect(await queue.wait('acme', LONG, async () => 'third')).toBe('third');
  });

  it('is not given to one who had gone before', async () => {
    const { queue, endTurn } = await occupy();
    const late = queue.wait('acme', { ...LONG, signal: AbortSignal.abort() }, async () => 'late');
    await expect(late).rejects.toThrow(ClientDisconnectedError);
    endTurn();
  });

  it('is for one company at a time where only one may wait', async () => {
    const { queue, endTurn } = await occupy();
    let hasBegun = false;
    const other = queue.wait('globex', LONG, async () => {
      hasBegun = true;
      return 'other';
    });
    await new Promise(setImmediate);
    expect(hasBegun).toBe(false);
    endTurn();
    expect(await other).toBe('other');
  });
});
