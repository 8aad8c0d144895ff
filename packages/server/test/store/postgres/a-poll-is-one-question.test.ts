import { Client } from 'pg';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { manualClock } from '../../../../testing/harness/manual-clock.ts';
import { startService, type TestService } from '../../../../testing/harness/service.ts';
import { untilChangesAreTracked } from '../../cache/support/change-tracking.ts';

afterEach(() => void vi.restoreAllMocks());

/** What the service asks of the database while the work goes on. */
async function questionsOf(work: () => Promise<unknown>): Promise<string[]> {
  const query = vi.spyOn(Client.prototype, 'query');
  await work();
  const texts = query.mock.calls.map(([text]) => String(text));
  query.mockRestore();
  return texts.filter((text) => !ASIDE.test(text));
}

/** What no poll waits for, and the clock of the test. */
const ASIDE = /leadtap\.tend_changes|leadtap_test\./;

const LOOK = expect.stringContaining('leadtap.look');
const READ_PAGE = expect.stringContaining('leadtap.read_page');
const IN_THE_FUTURE = 'since=2999-01-01T00:00:00Z';

/** Polls with one token, as clients do. The service has looked at what changes before. */
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
  it.each(['boss', 'north-lead', 'seller'])('of %s is one question, empty or full', async (user) => {
    const service = await startService();
    await service.add({ departmentId: 'sales' }, { departmentId: 'sales' });
    const poll = await pollerOf(service, user);
    expect(await questionsOf(() => poll())).toEqual([LOOK, READ_PAGE]);
    expect(await questionsOf(() => poll())).toEqual([LOOK]);
    expect(await questionsOf(() => poll(IN_THE_FUTURE))).toEqual([LOOK]);
  });

  it('of a user who was not there before is one, if the leads are known', async () => {
    const service = await startService();
    await service.add({});
    const poll = await pollerOf(service, 'boss');
    await poll();
    expect(await questionsOf(() => service.poll('boss'))).toEqual([LOOK]);
  });

  it('without since that finds no lead reads the page, for the last stamp', async () => {
    const poll = await pollerOf(await startService(), 'boss');
    await poll();
    expect(await questionsOf(() => poll())).toEqual([LOOK, READ_PAGE]);
    expect(await questionsOf(() => poll(IN_THE_FUTURE))).toEqual([LOOK]);
  });

  it('after new leads reads those alone', async () => {
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
    ['nobody', 404],
    ['starter', 403],
  ])('of %s is answered %i after one', async (user, status) => {
    const poll = await pollerOf(await startService(), user);
    const questions = await questionsOf(async () => expect((await poll()).status).toBe(status));
    expect(questions).toEqual([LOOK]);
  });

  it('of a user over the limit reads no page', async () => {
    const poll = await pollerOf(await startService({ clock: manualClock() }), 'starter');
    for (let n = 0; n < 100; n += 1) await poll();
    const questions = await questionsOf(async () => expect((await poll()).status).toBe(429));
    expect(questions).toEqual([LOOK]);
  });
});
