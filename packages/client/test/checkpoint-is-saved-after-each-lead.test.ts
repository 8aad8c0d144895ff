import { type Checkpoint, type CheckpointStore, memoryCheckpoint, newLeads } from '@leadtap/client';
import { describe, expect, it } from 'vitest';
import { deferred } from '../../testing/harness/deferred.ts';
import { startService } from '../../testing/harness/service.ts';
import { serving } from './answering.ts';

const since = '2020-01-01T00:00:00.000Z';

async function startWithLeads(count: number) {
  const service = await startService();
  if (count > 0) await service.add(...Array.from({ length: count }, (_, n) => ({ id: `lead-${n}` })));
  return { ...service, options: { baseUrl: service.url, token: await service.token('boss'), since } };
}

/** A store that notes when it was asked for what. */
function noting(notes: string[]): CheckpointStore & { last(): Checkpoint | null | undefined } {
  const inner = memoryCheckpoint();
  let last: Checkpoint | null | undefined;
  return {
    load: () => inner.load(),
    save: async (checkpoint) => {
      notes.push('saved');
      last = checkpoint;
      await inner.save(checkpoint);
    },
    last: () => last,
  };
}

describe('a lead', () => {
  it('is remembered after the body of the loop is through with it, not before', async () => {
    const { options, leads } = await startWithLeads(3);
    const notes: string[] = [];
    const checkpoint = noting(notes);
    const stop = new AbortController();
    for await (const lead of newLeads({ ...options, checkpoint, signal: stop.signal })) {
      notes.push(lead.id);
      await new Promise(setImmediate);
      notes.push('done');
      if (lead.id === 'lead-2') stop.abort();
    }
    const once = (id: string) => [id, 'done', 'saved'];
    expect(notes).toEqual([...once('lead-0'), ...once('lead-1'), ...once('lead-2')]);
    const all = await leads('boss', `since=${since}`);
    expect(checkpoint.last()).toEqual({
      since: all[2]?.createdAt,
      triggerIds: all.map(({ automation_trigger_id }) => automation_trigger_id),
    });
  });

  it.each(['break', 'throw'])('comes again after a %s', async (way) => {
    const { options } = await startWithLeads(3);
    const checkpoint = memoryCheckpoint();
    const leave = async () => {
      for await (const { id } of newLeads({ ...options, checkpoint })) {
        if (id === 'lead-1' && way === 'throw') throw new Error('the handling failed');
        if (id === 'lead-1') break;
      }
    };
    await leave().catch(() => undefined);
    const again = newLeads({ ...options, checkpoint });
    expect((await again.next()).value?.id).toBe('lead-1');
    expect((await again.next()).value?.id).toBe('lead-2');
  });

  it('that could not be remembered comes again, and the loop ends with the reason', async () => {
    const { options } = await startWithLeads(2);
    const inner = memoryCheckpoint();
    const full: CheckpointStore = {
      load: () => inner.load(),
      save: () => Promise.reject(new Error('the disk is full')),
    };
    const loop = newLeads({ ...options, checkpoint: full });
    await loop.next();
    await expect(loop.next()).rejects.toThrow('the disk is full');
    expect((await newLeads({ ...options, checkpoint: inner }).next()).value?.id).toBe('lead-0');
  });
});

describe('the signal', () => {
  it('ends a loop that waits', async () => {
    const stop = new AbortController();
    const { url } = await serving(() => ({ status: 503, headers: { 'retry-after': '3600' }, body: '' }));
    const loop = newLeads({
      baseUrl: url,
      token: 'any',
      signal: stop.signal,
      // Told before the wait begins.
      onRetry: () => void setImmediate(() => stop.abort()),
    });
    expect(await loop.next()).toEqual({ done: true, value: undefined });
  });

  it('ends a loop whose request is not answered', async () => {
    const stop = new AbortController();
    const { url } = await serving(() => {
      stop.abort();
      return 'never';
    });
    const loop = newLeads({ baseUrl: url, token: 'any', signal: stop.signal });
    expect(await loop.next()).toEqual({ done: true, value: undefined });
  });

  it('given already, lets nothing be sent', async () => {
    let requests = 0;
    const { url } = await serving(() => {
      requests += 1;
      return 'never';
    });
    const loop = newLeads({ baseUrl: url, token: 'any', signal: AbortSignal.abort() });
    expect(await loop.next()).toEqual({ done: true, value: undefined });
    expect(requests).toBe(0);
  });
});

describe('a loop', () => {
  it('without since and checkpoint begins with what comes next', async () => {
    const { options, add } = await startWithLeads(2);
    const { since: _, ...fromNow } = options;
    const checkpoint = memoryCheckpoint();
    const begun = deferred();
    const loop = newLeads({
      ...fromNow,
      intervalMs: 0,
      checkpoint: {
        load: () => checkpoint.load(),
        save: async (saved) => {
          await checkpoint.save(saved);
          begun.resolve();
        },
      },
    });
    const next = loop.next();
    await begun.promise;
    await add({ id: 'the-next' });
    expect((await next).value?.id).toBe('the-next');
  });

  it('goes on from the checkpoint, whatever since says', async () => {
    const { options, leads } = await startWithLeads(3);
    const [first] = await leads('boss', `since=${since}`);
    const checkpoint = memoryCheckpoint({ since: first?.createdAt ?? '', triggerIds: [] });
    expect((await newLeads({ ...options, checkpoint }).next()).value?.id).toBe('lead-1');
  });

  it('hands over no lead that the checkpoint names, even if its time was cut', async () => {
    const { options, leads } = await startWithLeads(3);
    const [first] = await leads('boss', `since=${since}`);
    const checkpoint = memoryCheckpoint({ since, triggerIds: [first?.automation_trigger_id ?? ''] });
    expect((await newLeads({ ...options, checkpoint }).next()).value?.id).toBe('lead-1');
  });

  it.each([
    {},
    { since: 3 },
    { since: '2026-03-02' },
    { since: '', triggerIds: [] },
    'x',
    { since: 'x', triggerIds: [1] },
  ])('refuses a checkpoint that is none: %j', async (loaded) => {
    const checkpoint = { load: () => loaded as Checkpoint, save: () => undefined };
    const loop = newLeads({ baseUrl: 'http://127.0.0.1', token: 'any', checkpoint });
    await expect(loop.next()).rejects.toThrow('not a checkpoint');
  });

  it('tells of every request that it sends again', async () => {
    const stop = new AbortController();
    const { url } = await serving(() => ({ status: 503, headers: { 'retry-after': '7' }, body: '' }));
    const told: [string, number][] = [];
    const loop = newLeads({
      baseUrl: url,
      token: 'any',
      signal: stop.signal,
      environment: { random: () => 0.5, now: () => 0, sleep: async () => stop.abort() },
      onRetry: ({ code }, waitMs) => told.push([code, waitMs]),
    });
    await loop.next();
    expect(told).toEqual([['http-503', 7500]]);
  });
});
