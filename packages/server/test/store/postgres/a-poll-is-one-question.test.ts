import { Client } from 'pg';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { manualClock } from '../../harness/manual-clock.ts';
import { startService } from '../../harness/service.ts';

afterEach(() => void vi.restoreAllMocks());

/** What the service asks of the database while the work goes on. */
async function questionsOf(work: () => Promise<unknown>): Promise<string[]> {
  const query = vi.spyOn(Client.prototype, 'query');
  await work();
  const texts = query.mock.calls.map(([text]) => String(text));
  query.mockRestore();
  return texts;
}

const READ_POLL = expect.stringContaining('leadtap.read_poll');

describe('a poll', () => {
  it.each(['boss', 'north-lead', 'seller'])('of %s is one round trip, empty or full', async (user) => {
    const { add, poll } = await startService();
    await add({ departmentId: 'sales' }, { departmentId: 'sales' });
    const since = 'since=2999-01-01T00:00:00Z';
    expect(await questionsOf(() => poll(user, since))).toEqual([READ_POLL]);
    expect(await questionsOf(() => poll(user))).toEqual([READ_POLL]);
  });

  it.each([
    ['nobody', 404],
    ['starter', 403],
  ])('of %s is answered %i after one', async (user, status) => {
    const { poll } = await startService();
    const questions = await questionsOf(async () => expect((await poll(user)).status).toBe(status));
    expect(questions).toEqual([READ_POLL]);
  });

  it('of a user over the limit reads no page', async () => {
    const { service, poll } = await startService({ clock: manualClock() });
    for (let n = 0; n < 100; n += 1) await poll('starter');
    const begun = vi.spyOn(service.store, 'beginPoll');
    expect((await poll('starter')).status).toBe(429);
    expect(begun.mock.calls.map(([{ page }]) => page)).toEqual([undefined]);
  });
});

describe('the page that was read ahead', () => {
  const leadsAt = async (
    scope: Parameters<Awaited<ReturnType<typeof startService>>['store']['readPage']>[0]['scope'],
  ) => {
    const { add, store } = await startService();
    await add({ branchId: 'north' }, { branchId: 'south' }, { branchId: 'south' });
    const { signal } = new AbortController();
    const session = store.beginPoll?.({ userId: 'boss', page: { limit: 10 }, signal });
    return (await session?.readPage({ scope, limit: 10 }))?.leads.map(({ branchName }) => branchName);
  };

  it('is given for the place that it was read for', async () => {
    expect(await leadsAt({ level: 'COMPANY', companyId: 'acme' })).toEqual(['South', 'South', 'North']);
  });

  it('is not given for another place, whatever the database thinks that the user may see', async () => {
    expect(await leadsAt({ level: 'BRANCH', companyId: 'acme', branchId: 'south' })).toEqual([
      'South',
      'South',
    ]);
    expect(await leadsAt({ level: 'COMPANY', companyId: 'globex' })).toEqual([]);
  });
});
