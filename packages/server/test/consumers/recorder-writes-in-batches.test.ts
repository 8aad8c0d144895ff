import { setImmediate } from 'node:timers/promises';
import type { ConsumerStore, PollSummary } from 'leadtap';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { deferred } from '../../../testing/harness/deferred.ts';
import { startService } from '../../../testing/harness/service.ts';
import { ConsumerRecorder, type RecorderOptions } from '../../src/consumers/recorder.ts';
import { client, iso, readConsumers } from './support/consumers.ts';

const NOW = Date.UTC(2026, 2, 2, 9, 30);
const POLL = { at: NOW, status: 200 };

function recorder(store: Partial<ConsumerStore> = {}, options: Partial<RecorderOptions> = {}) {
  const batches: (readonly PollSummary[])[] = [];
  const record = async (summaries: readonly PollSummary[]) => {
    batches.push(summaries);
    return summaries;
  };
  const made = new ConsumerRecorder(
    {
      ...{
        record,
        list: async () => [],
        findPending: async () => undefined,
        findMissed: async () => [],
        listEnded: async () => [],
        findReceivers: async () => [],
        findReceivedHistory: async () => [],
        forget: async () => false,
        prune: async () => 0,
        listDowntimes: async () => [],
      },
      ...{
        recordDowntime: async () => {},
        recordStop: async () => {},
        recordPause: async () => {},
        ...store,
      },
    },
    { clock: () => NOW, flushMs: 3_600_000, ...options },
  );
  return { recorder: made, batches, summaries: () => batches.flat() };
}

describe('the recorder', () => {
  afterEach(() => void vi.useRealTimers());

  it('writes nothing until its time has passed, and then each consumer once', async () => {
    vi.useFakeTimers();
    const { recorder: made, batches } = recorder({}, { flushMs: 5000 });
    for (const tokenId of ['a', 'b', 'a']) made.recordPoll({ userId: 'boss', tokenId }, POLL);
    await vi.advanceTimersByTimeAsync(4999);
    expect(batches).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(batches.flat().map(({ tokenId, polls }) => [tokenId, polls])).toEqual([
      ['a', 2],
      ['b', 1],
    ]);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(batches).toHaveLength(1);
  });

  it('keeps what could not be written, and writes it before later polls', async () => {
    const warnings: string[] = [];
    const written: PollSummary[] = [];
    let isDown = true;
    const { recorder: made } = recorder(
      {
        record: async (summaries) => {
          if (isDown) throw new Error('the database is down');
          written.push(...summaries);
          return summaries;
        },
      },
      { log: { warn: (_line, message) => void warnings.push(message) } },
    );
    made.recordPoll({ userId: 'boss', tokenId: 'a' }, { ...POLL, status: 403 });
    await made.flush();
    await made.flush();
    expect(warnings).toEqual(['polls of consumers could not be recorded']);
    isDown = false;
    made.recordPoll({ userId: 'boss', tokenId: 'a' }, POLL);
    await made.flush();
    expect(written.map(({ lastStatus }) => lastStatus)).toEqual([403, 200]);
  });

  it('holds no more consumers than its limit, also while the database is down', async () => {
    const written: PollSummary[] = [];
    let isDown = true;
    const { recorder: made } = recorder(
      {
        record: async (summaries) => {
          if (isDown) throw new Error('the database is down');
          written.push(...summaries);
          return summaries;
        },
      },
      { maxConsumers: 3 },
    );
    const pollAs = (...ids: number[]) => {
      for (const id of ids) made.recordPoll({ userId: 'boss', tokenId: `token-${id}` }, POLL);
    };
    // A consumer that is in memory already is counted.
    pollAs(0, 1, 2, 3, 0);
    await made.flush();
    pollAs(4);
    isDown = false;
    await made.flush();
    pollAs(5);
    await made.flush();
    expect(written.map(({ tokenId, polls }) => [tokenId, polls])).toEqual([
      ['token-0', 2],
      ['token-1', 1],
      ['token-2', 1],
      ['token-5', 1],
    ]);
  });

  it('writes many consumers in several transactions', async () => {
    const { recorder: made, batches } = recorder();
    for (let index = 0; index < 120; index += 1)
      made.recordPoll({ userId: 'boss', tokenId: `token-${index}` }, POLL);
    await made.flush();
    expect(batches.map(({ length }) => length)).toEqual([50, 50, 20]);
  });

  it('stops writing when its share of the time is used up, and writes the others the next time', async () => {
    vi.useFakeTimers();
    const sizes: number[] = [];
    const slow = async (summaries: readonly PollSummary[]) => {
      sizes.push(summaries.length);
      // More than 2 % of 5 seconds.
      vi.advanceTimersByTime(101);
      return summaries;
    };
    const { recorder: made } = recorder({ record: slow }, { flushMs: 5000 });
    for (let index = 0; index < 80; index += 1)
      made.recordPoll({ userId: 'boss', tokenId: `token-${index}` }, POLL);
    await vi.advanceTimersByTimeAsync(5000);
    await setImmediate();
    expect(sizes).toEqual([50]);
    await vi.advanceTimersByTimeAsync(5000);
    expect(sizes).toEqual([50, 30]);
  });

  it('counts tokens whose id no database can store as tokens without an id, and records no such user', async () => {
    const { recorder: made, summaries } = recorder();
    for (const tokenId of [undefined, '', 'x'.repeat(201), 'a\0b', '\ud800', 'tökén'])
      made.recordPoll({ userId: 'boss', tokenId }, POLL);
    for (const userId of ['x'.repeat(201), 'a\0b', '\ud800']) made.recordPoll({ userId }, POLL);
    await made.flush();
    expect(summaries()).toMatchObject([{ userId: 'boss', tokenId: null, polls: 6 }]);
  });

  it('keeps two users apart whose tokens have the same id', async () => {
    const { recorder: made, summaries } = recorder();
    for (const userId of ['boss', 'seller', 'boss', 'seller', 'starter'])
      made.recordPoll({ userId, tokenId: 'a' }, POLL);
    await made.flush();
    expect(summaries().map(({ userId, tokenId, polls }) => [userId, tokenId, polls])).toEqual([
      ['boss', 'a', 2],
      ['seller', 'a', 2],
      ['starter', 'a', 1],
    ]);
  });

  it('stores no time that a database cannot store', async () => {
    const { recorder: made, summaries } = recorder();
    const page = {
      since: -1e15,
      readAt: NOW,
      limit: 100,
      isFull: false,
      scope: { level: 'COMPANY', companyId: 'acme' } as const,
      leads: { count: 0, first: undefined, last: undefined, createdAt: [] },
    };
    made.recordPoll(
      { userId: 'boss', expiresAt: 1e16 },
      { ...POLL, page: { ...page, isSent: true, isInterrupted: false } },
    );
    await made.flush();
    expect(summaries()).toMatchObject([{ tokenExpiresAt: null, confirmedThrough: null }]);
  });

  it('stores whole milliseconds, also of a token whose exp has a fraction', async () => {
    const service = await startService();
    const { consumers } = service.store;
    const { recorder: made } = recorder(consumers);
    made.recordPoll({ userId: 'boss', tokenId: 'fraction', expiresAt: NOW + 1000.25 }, POLL);
    made.recordPoll({ userId: 'boss', tokenId: 'other' }, POLL);
    await made.flush();
    expect(await consumers.list({ limit: 10, maxPendingLeads: 1, now: NOW })).toMatchObject([
      { tokenId: 'fraction', tokenExpiresAt: NOW + 1000 },
      { tokenId: 'other', tokenExpiresAt: null },
    ]);
  });

  it('prunes after a write, at most once an hour', async () => {
    const pruned: (readonly [number, number])[] = [];
    let now = NOW;
    const { recorder: made } = recorder(
      {
        prune: async (...times) => {
          pruned.push(times);
          return 0;
        },
      },
      { clock: () => now },
    );
    const flush = async () => {
      made.recordPoll({ userId: 'boss' }, POLL);
      await made.flush();
    };
    await flush();
    now += 3_599_999;
    await flush();
    expect(pruned).toEqual([[NOW, NOW - 400 * 86_400_000]]);
    now += 1;
    await flush();
    expect(pruned).toHaveLength(2);
  });

  it('runs one write at a time, also when it stops while others wait', async () => {
    const written: PollSummary[] = [];
    const { promise, resolve } = deferred();
    const { recorder: made } = recorder({
      record: async (summaries) => {
        await promise;
        written.push(...summaries);
        return summaries;
      },
    });
    made.recordPoll({ userId: 'boss', tokenId: 'a' }, POLL);
    const first = made.flush();
    made.recordPoll({ userId: 'boss', tokenId: 'b' }, POLL);
    const others = [made.flush(), made.close()];
    resolve();
    await Promise.all([first, ...others]);
    expect(written.map(({ tokenId, polls }) => [tokenId, polls])).toEqual([
      ['a', 1],
      ['b', 1],
    ]);
  });

  it('ends within its time although the database hangs', async () => {
    // Not `setImmediate`: it is called when the time is over.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { recorder: made } = recorder({ record: () => new Promise(() => undefined) });
    made.recordPoll({ userId: 'boss' }, POLL);
    const closed = made.close();
    await vi.advanceTimersByTimeAsync(2000);
    await closed;
  });
});

describe('the service', () => {
  it('writes what it has recorded when it stops', async () => {
    const service = await startService();
    const [added = 0] = await service.add({});
    const { poll } = await client(service, 'boss', 'n8n');
    await poll(`since=${iso(added - 1)}`);
    await service.stop();
    const store = await service.database.openStore();
    const found = await store.consumers.list({ limit: 10, maxPendingLeads: 10, now: Date.now() });
    await store.close();
    expect(found).toMatchObject([{ tokenId: 'n8n', deliveredThrough: added }]);
  });

  it('answers polls while the consumers cannot be written', async () => {
    const service = await startService();
    const { consumers } = service.store;
    vi.spyOn(consumers, 'record').mockRejectedValue(new Error('the disk is full'));
    const { poll } = await client(service, 'boss', 'n8n');
    expect((await poll()).status).toBe(200);
    await service.service.recorder?.flush();
    expect((await poll()).status).toBe(200);
  });

  it('answers polls while a write of consumers takes long', async () => {
    const service = await startService();
    const { consumers } = service.store;
    const { promise, resolve } = deferred();
    vi.spyOn(consumers, 'record').mockReturnValue(promise.then(() => []));
    const { poll } = await client(service, 'boss', 'n8n');
    await poll();
    const flushed = service.service.recorder?.flush();
    expect((await poll()).status).toBe(200);
    resolve();
    await flushed;
  });

  it('merges the polls of two instances', async () => {
    const first = await startService();
    const second = await startService({ beside: first });
    const [a = 0, b = 0] = await first.add({}, {});
    const one = await client(first, 'boss', 'n8n');
    const other = await client(second, 'boss', 'n8n');
    await one.poll(`since=${iso(b)}`);
    await other.poll(`since=${iso(a - 1)}&limit=1`);
    await readConsumers(second);
    expect(await readConsumers(first)).toMatchObject([
      { polls: 2, confirmedThrough: b, deliveredThrough: a },
    ]);
  });

  it('records nothing if LEADTAP_CONSUMERS is off', async () => {
    const service = await startService({ env: { LEADTAP_CONSUMERS: 'off' } });
    expect((await service.poll('boss')).status).toBe(200);
    expect(service.service.recorder).toBeUndefined();
    expect(await readConsumers(service)).toEqual([]);
    expect(await (await fetch(service.metricsUrl)).text()).not.toContain('leadtap_consumers');
  });
});
