import { join } from 'node:path';
import { openSqliteStore, type SqliteOptions, type Store, StoreUnavailableError } from 'leadtap';
import { describe, expect, it, onTestFinished } from 'vitest';
import { manualClock } from '../../../../testing/harness/manual-clock.ts';
import { ORGANISATION } from '../../../../testing/harness/organisation.ts';
import { tempFolder } from '../../../../testing/harness/temp-folder.ts';
import { Connection } from '../../../src/store/sqlite/connection.ts';

const ACME = { level: 'COMPANY', companyId: 'acme' } as const;

const poll = (store: Store, since = 0) => store.readPage({ scope: ACME, since, limit: 100 });
const write = (store: Store, id: string) => store.writeLeads([{ companyId: 'acme', id, fields: {} }]);

/** A connection of another program that holds the lock. */
function holdLock(file: string): Connection {
  const writer = new Connection(file);
  onTestFinished(() => writer.close());
  writer.exec('BEGIN IMMEDIATE');
  return writer;
}

async function open(options: Partial<SqliteOptions> = {}) {
  const file = join(tempFolder(), 'leadtap.db');
  const clock = manualClock();
  const store = await openSqliteStore({ file, clock, pollLockWaitMs: 40, writeLockWaitMs: 40, ...options });
  onTestFinished(() => store.close());
  await store.applyOrganisation(ORGANISATION);
  await write(store, 'committed');
  return { file, clock, store };
}

/** How often a timer fired during the work: never, if the work blocked the event loop. */
async function ticksDuring(work: () => Promise<unknown>): Promise<number> {
  let ticks = 0;
  const timer = setInterval(() => {
    ticks += 1;
  }, 1);
  await work().finally(() => clearInterval(timer));
  return ticks;
}

describe('while a writer is stuck with the lock', () => {
  it('a thousand polls wait for it, and further ones are rejected', async () => {
    const { file, store } = await open({ pollLockWaitMs: 60_000 });
    const writer = holdLock(file);
    const polls = Promise.allSettled(Array.from({ length: 1010 }, () => poll(store)));
    await expect(poll(store)).rejects.toThrow(StoreUnavailableError);
    writer.exec('COMMIT');
    const outcomes = (await polls).map(({ status }) => status);
    expect(outcomes.filter((status) => status === 'fulfilled')).toHaveLength(1000);
  });

  it('a poll answers from what is committed, with the last stamp as its time', async () => {
    const { file, clock, store } = await open();
    const { latestStamp } = await store.status();
    clock.advance(60_000);
    holdLock(file);
    const { leads, ...page } = await poll(store);
    expect(leads).toMatchObject([{ id: 'committed' }]);
    expect(page).toEqual({ readAt: latestStamp, locked: false, lastStamp: latestStamp });
  });

  it('leads that it commits later have a later stamp, so that no client misses them', async () => {
    const { file, clock, store } = await open();
    const writer = holdLock(file);
    const stamp = clock() + 2;
    writer.exec(`UPDATE companies SET last_stamp = ${stamp} WHERE id = 'acme';
      INSERT INTO leads (company_id, id, created_at, status_value, updated_at, automation_trigger_id, automation_created_at)
      VALUES ('acme', 'stuck', ${stamp}, 'NEW', ${stamp}, 'trigger', ${stamp})`);
    clock.advance(60_000);
    const { readAt } = await poll(store);
    writer.exec('COMMIT');
    expect((await poll(store, readAt)).leads).toMatchObject([{ id: 'stuck' }]);
  });

  it('a poll of a company without leads has the time 0', async () => {
    const { file, store } = await open();
    holdLock(file);
    const scope = { level: 'COMPANY', companyId: 'globex' } as const;
    expect(await store.readPage({ scope, limit: 1 })).toEqual({ leads: [], readAt: 0, locked: false });
  });

  it('the time of a poll is never later than the clock, although stamps are ahead of it', async () => {
    const { file, clock, store } = await open();
    const burst = Array.from({ length: 50 }, (_, id) => ({ companyId: 'acme', id: `${id}`, fields: {} }));
    await store.writeLeads(burst);
    holdLock(file);
    expect((await poll(store)).readAt).toBe(clock());
  });

  it('a write fails with "unavailable" and writes nothing', async () => {
    const { file, store } = await open();
    const writer = holdLock(file);
    await expect(write(store, 'refused')).rejects.toThrow(StoreUnavailableError);
    await expect(store.revokeToken('token')).rejects.toThrow(StoreUnavailableError);
    writer.exec('ROLLBACK');
    expect((await poll(store)).leads).toMatchObject([{ id: 'committed' }]);
  });

  it('a poll and a write that wait do not block the event loop', async () => {
    const { file, store } = await open();
    holdLock(file);
    expect(await ticksDuring(() => poll(store))).toBeGreaterThan(0);
    expect(await ticksDuring(() => write(store, 'refused').catch(() => undefined))).toBeGreaterThan(0);
  });

  it('another program can start, because the schema is up to date', async () => {
    const { file } = await open();
    holdLock(file);
    const second = await openSqliteStore({ file, pollLockWaitMs: 0 });
    expect((await poll(second)).leads).toHaveLength(1);
    await second.close();
  });
});

describe('when the lock is released', () => {
  it('a poll that waits for it reads under it', async () => {
    const { file, clock, store } = await open({ pollLockWaitMs: 60_000 });
    const writer = holdLock(file);
    const waiting = poll(store);
    writer.exec('COMMIT');
    expect(await waiting).toMatchObject({ readAt: clock(), locked: true });
  });

  it('a store whose write timed out works as before', async () => {
    const { file, store } = await open();
    const writer = holdLock(file);
    await expect(write(store, 'later')).rejects.toThrow(StoreUnavailableError);
    writer.exec('COMMIT');
    expect(await write(store, 'later')).toMatchObject({ results: [{ kind: 'added' }] });
    expect(await poll(store)).toMatchObject({ locked: true });
  });
});
