import { Client } from 'pg';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { manualClock } from '../../../../testing/harness/manual-clock.ts';
import { startService, type TestService } from '../../../../testing/harness/service.ts';
import { untilChangesAreTracked } from '../../cache/support/change-tracking.ts';

afterEach(() => void vi.restoreAllMocks());

/** The queries of the service during the work. */
async function queriesOf(work: () => Promise<unknown>): Promise<string[]> {
  const query = vi.spyOn(Client.prototype, 'query');
  await work();
  const texts = query.mock.calls.map(([config]) => JSON.stringify(config));
  query.mockRestore();
  return texts.filter((text) => !IGNORED.test(text));
}

/** Pruning and that the instance runs, which no poll waits for, and the clock of the test. */
const IGNORED = /leadtap\.prune_changes|leadtap_test\.|leadtap\.instances|"(?:BEGIN|COMMIT)/;

const REVALIDATE = expect.stringContaining('leadtap.revalidate');
const READ_PAGE = expect.stringContaining('leadtap.read_page');
/** What its connection had, for a poll without `since`: at most every 5 seconds. */
const FIND_KEY = expect.stringContaining('k.number');
const FIND_CONNECTION = expect.stringContaining('leadtap.connections');
const READ_LEADS = expect.stringContaining('leadtap.read_leads');
const IN_THE_FUTURE = 'since=2999-01-01T00:00:00Z';

/** Polls with one token, as clients do. The service has revalidated before. */
async function pollerOf({ store, token, poll }: TestService, user: string) {
  await untilChangesAreTracked(store);
  await poll('rival');
  const init = { headers: { authorization: `Bearer ${await token(user)}` } };
  return async (query = '') => {
    const response = await poll(user, query, init);
    await response.text();
    return response;
  };
}

describe('a poll', () => {
  it.each(['boss', 'north-lead', 'seller'])('of %s is one query, empty or full', async (user) => {
    const service = await startService();
    await service.add({ departmentId: 'sales' }, { departmentId: 'sales' });
    const poll = await pollerOf(service, user);
    // The first one also checks the account after it has read leads.
    expect(await queriesOf(() => poll())).toEqual([
      ...[REVALIDATE, READ_LEADS, FIND_KEY, FIND_CONNECTION, REVALIDATE],
    ]);
    expect(await queriesOf(() => poll())).toEqual([REVALIDATE]);
    expect(await queriesOf(() => poll(IN_THE_FUTURE))).toEqual([REVALIDATE]);
  });

  it('of a user who is not in the cache is one query, if the leads are', async () => {
    const service = await startService();
    await service.add({});
    const poll = await pollerOf(service, 'boss');
    await poll();
    expect(await queriesOf(() => service.poll('boss', IN_THE_FUTURE))).toEqual([REVALIDATE]);
  });

  it('without since that finds no lead reads the page, for the last stamp', async () => {
    const poll = await pollerOf(await startService(), 'boss');
    await poll();
    expect(await queriesOf(() => poll())).toEqual([REVALIDATE, READ_PAGE]);
    expect(await queriesOf(() => poll(IN_THE_FUTURE))).toEqual([REVALIDATE]);
  });

  it('after new leads reads only those', async () => {
    const service = await startService();
    await service.add({}, {});
    const poll = await pollerOf(service, 'boss');
    await poll();
    await service.add({});
    const { changeTracking } = service.store;
    const read = changeTracking && vi.spyOn(changeTracking, 'readLeads');
    await poll();
    expect(read?.mock.settledResults).toMatchObject([{ value: [{}] }]);
  });

  it.each([
    ['unknown', 404],
    ['starter', 403],
  ])('of %s is answered %i after one query', async (user, status) => {
    const poll = await pollerOf(await startService(), user);
    const queries = await queriesOf(async () => expect((await poll()).status).toBe(status));
    expect(queries).toEqual([REVALIDATE]);
  });

  it('of a user over the limit reads no page', async () => {
    const poll = await pollerOf(await startService({ clock: manualClock() }), 'starter');
    for (let n = 0; n < 100; n += 1) await poll();
    const queries = await queriesOf(async () => expect((await poll()).status).toBe(429));
    expect(queries).toEqual([REVALIDATE]);
  });
});
