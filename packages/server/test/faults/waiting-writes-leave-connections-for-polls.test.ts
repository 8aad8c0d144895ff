import { expect, it, onTestFinished, vi } from 'vitest';
import { StoreUnavailableError } from '../../src/sql/errors.ts';
import { LockQueue } from '../../src/store/postgres/lock-queue.ts';
import { shareCluster } from './cluster.ts';
import { eventually } from './eventually.ts';
import { serve } from './instance.ts';
import { connect, connectionsOf, holdLock } from './sql.ts';

const server = shareCluster();
const CONNECTIONS = 8;
/** Polls may wait on half of the connections, and groups of several companies use two for a short time. */
const MAX_WAITING = 2;
/** A request with so many leads is not written together with those of other companies. */
const MANY_LEADS = 11;
const WRITES = 30;
const NEVER_MS = 240_000;

const blocked = Array.from({ length: 6 }, (_, index) => `blocked-${index}`);
const ORGANISATION = { companies: blocked.map((id) => ({ id, name: id, branches: [], users: [] })) };

/** Instead of the few seconds of the service, in which a slow machine may not get to the end of the test. */
function waitLong(): void {
  const { run } = LockQueue.prototype;
  const spy = vi.spyOn(LockQueue.prototype, 'run').mockImplementation(function (
    this: LockQueue,
    id,
    _ms,
    attempt,
  ) {
    return run.call(this, id, NEVER_MS, attempt) as ReturnType<typeof attempt>;
  });
  onTestFinished(() => spy.mockRestore());
}

/** Serves, and locks companies until `release`. `send` starts one write in each of these companies. */
async function serveBlocked(companies: readonly string[]) {
  waitLong();
  const { store, poll } = await serve(server().url, { connections: CONNECTIONS });
  await store.applyOrganisation(ORGANISATION);
  const observer = await connect(server().url);
  const writers = await Promise.all(companies.map((companyId) => holdLock(server().url, companyId)));
  let settled = 0;
  const send = (id: string, count = 1) =>
    companies.map(async (companyId) => {
      const leads = Array.from({ length: count }, (_, n) => ({ companyId, id: `${id}-${n}`, fields: {} }));
      try {
        return await store.writeAllLeads(leads, { level: 'COMPANY', companyId });
      } finally {
        settled += 1;
      }
    });
  return {
    send,
    poll,
    settled: () => settled,
    waiting: async () => (await connectionsOf(observer)).filter(({ waits }) => waits).length,
    release: () => Promise.all(writers.map((writer) => writer.end())),
  };
}

it('many writes of a company that is locked use one connection, and polls of other companies are answered', async () => {
  const { send, poll, settled, waiting, release } = await serveBlocked(blocked.slice(0, 1));
  const writes = Array.from({ length: WRITES }, (_, index) => send(`lead-${index}`)).flat();
  await eventually(async () => expect(await waiting()).toBe(1));
  for (let polls = 0; polls < 5; polls += 1) expect(await poll('globex')).toMatchObject({ status: 200 });
  // None while a write moves from a shared queue to that of its company.
  expect(await waiting()).toBeLessThanOrEqual(1);
  expect(settled()).toBe(0);
  await release();
  const outcomes = await Promise.all(writes);
  expect(outcomes.map(({ kind }) => kind)).toEqual(writes.map(() => 'written'));
});

it('writes of many companies that are locked use less than half of the connections', async () => {
  const { send, poll, settled, waiting, release } = await serveBlocked(blocked);
  const writes = send('lead', MANY_LEADS);
  await eventually(async () => expect(await waiting()).toBe(MAX_WAITING));
  expect(await poll('globex')).toMatchObject({ status: 200 });
  expect(await waiting()).toBeLessThanOrEqual(MAX_WAITING);
  expect(settled()).toBe(0);
  await release();
  const outcomes = await Promise.all(writes);
  expect(outcomes.map(({ kind }) => kind)).toEqual(writes.map(() => 'written'));
});

it('a write that has waited too long is unavailable', async () => {
  const { store } = await serve(server().url);
  const run = vi.spyOn(LockQueue.prototype, 'run').mockResolvedValue(undefined);
  onTestFinished(() => run.mockRestore());
  const written = store.writeAllLeads([{ companyId: 'acme', id: 'late', fields: {} }], {
    level: 'COMPANY',
    companyId: 'acme',
  });
  await expect(written).rejects.toThrow(StoreUnavailableError);
});
