// @both-stores for each change
import { setImmediate as nextTurn } from 'node:timers/promises';
import { PROBLEMS } from '@leadtap/contract';
import type { Page, PageQuery, Store, User } from 'leadtap';
import { describe, expect, it, vi } from 'vitest';
import { deferred } from '../../../testing/harness/deferred.ts';
import { emptyStore, injectPoll, makeEndpoint } from '../../../testing/harness/endpoint.ts';
import { expectProblem } from '../../../testing/harness/problem.ts';
import { startService, type TestService } from '../../../testing/harness/service.ts';
import { untilChangesAreTracked } from '../cache/support/change-tracking.ts';
import { sampleLead } from '../cache/support/sample-lead.ts';
import { startWaitingService } from '../long-polls/support/long-polls-service.ts';

const TOKEN = { tokenId: 'automation' };
const SINCE = 'since=2026-01-01';

/** Each is committed after the poll was identified, and before a lead that the poll would read. */
const CHANGES: readonly [
  string,
  (store: Store) => Promise<unknown>,
  Parameters<typeof expectProblem>[1] | undefined,
][] = [
  ['the token is revoked', (store) => store.revokeToken(TOKEN.tokenId), 'token-revoked'],
  ['the user is removed', (store) => store.removeUser('boss'), 'user-not-found'],
  [
    'the user loses the plan',
    (store) => store.updateUser('boss', { plan: 'STARTER' }),
    'professional-plan-required',
  ],
  [
    'the access level is lowered',
    (store) => store.updateUser('boss', { accessLevel: 'BRANCH', branchId: 'north' }),
    undefined,
  ],
];

describe.each(CHANGES)('%s, and then a lead is committed', (_title, change, code) => {
  const addLate = ({ add }: TestService) => add({ id: 'late', branchId: 'south' });

  /** Runs the change, and adds the lead, right before the next read. */
  function changeBeforeNextRead(
    test: TestService,
    method: 'readLeads' | 'readPage',
    before = async () => {},
  ) {
    const prepare = async () => {
      await before();
      const other = await test.database.openStore();
      await change(other);
      await other.close();
      await addLate(test);
    };
    if (method === 'readPage') {
      const { readPage } = test.store;
      vi.spyOn(test.store, 'readPage').mockImplementationOnce(async (...query) => {
        await prepare();
        return readPage.apply(test.store, query);
      });
      return;
    }
    const tracking = test.store.changeTracking;
    const { readLeads } = tracking;
    vi.spyOn(tracking, 'readLeads').mockImplementationOnce(async (...query) => {
      await prepare();
      return readLeads.apply(tracking, query);
    });
  }

  async function expectNoLateLead(answer: Response): Promise<void> {
    if (code) await expectProblem(answer, code);
    else expect(await answer.json()).toMatchObject([{ id: 'early' }]);
  }

  const authorized = async (test: TestService) => ({
    headers: { authorization: `Bearer ${await test.token('boss', TOKEN)}` },
  });

  it('a poll that reads its first page does not return it', async () => {
    const test = await startService();
    await test.add({ id: 'early', branchId: 'north' });
    changeBeforeNextRead(test, 'readLeads');
    await expectNoLateLead(await test.poll('boss', SINCE, await authorized(test)));
  });

  it('a poll that appends to a cached page does not return it', async () => {
    const test = await startService();
    const init = await authorized(test);
    expect(await (await test.poll('boss', '', init)).json()).toEqual([]);
    await test.add({ id: 'early', branchId: 'north' });
    expect(await (await test.poll('boss', '', init)).json()).toHaveLength(1);
    await test.add({ id: 'also early', branchId: 'south' });
    changeBeforeNextRead(test, 'readLeads');
    await expectNoLateLead(await test.poll('boss', '', init));
  });

  it('a poll that waits for the lock of a writer does not return it', async () => {
    const test = await startService();
    const init = await authorized(test);
    await test.add({ id: 'early', branchId: 'north' });
    changeBeforeNextRead(test, 'readPage', await test.database.holdLock('acme'));
    await expectNoLateLead(await test.poll('boss', SINCE, init));
  });

  it('a long poll does not return it', async () => {
    const test = await startWaitingService();
    const answer = test.wait('boss', SINCE, await authorized(test));
    await test.untilWaiting(1);
    changeBeforeNextRead(test, 'readLeads');
    await test.add({ id: 'early', branchId: 'north' });
    await expectNoLateLead(await answer);
  });

  if (code)
    it('a HEAD does not show it by its ETag', async () => {
      const test = await startService();
      changeBeforeNextRead(test, 'readLeads');
      const answer = await test.poll('boss', SINCE, { method: 'HEAD', ...(await authorized(test)) });
      expect(answer.status).toBe(code && PROBLEMS[code].status);
      expect(answer.headers.get('etag')).toBeNull();
    });
});

it('a page that another poll has cached after the token was revoked is not returned', async () => {
  const test = await startService();
  await untilChangesAreTracked(test.store);
  const [early = 0] = await test.add({ id: 'early' });
  // What follows the lead is cached, so that the page with it is cached beside.
  for (let n = 0; n < 3; n += 1) await test.poll('boss', `since=${new Date(early).toISOString()}`);
  const { users } = test.limiters;
  const { consume } = users;
  const [identified, release] = [deferred(), deferred()];
  vi.spyOn(users, 'consume').mockImplementationOnce(async (...request) => {
    identified.resolve();
    await release.promise;
    return consume.apply(users, request);
  });
  const headers = { authorization: `Bearer ${await test.token('boss', TOKEN)}` };
  const answer = test.poll('boss', `${SINCE}&limit=2`, { headers });
  await identified.promise;
  const tracking = test.store.changeTracking;
  const { readLeads, revalidate } = tracking;
  vi.spyOn(tracking, 'readLeads').mockImplementationOnce(async (...query) => {
    await test.store.revokeToken(TOKEN.tokenId);
    await test.add({ id: 'late' });
    // The other poll continues once the page is cached, and before the next revalidation.
    vi.spyOn(tracking, 'revalidate').mockImplementationOnce(async (...request) => {
      release.resolve();
      await nextTurn();
      return revalidate.apply(tracking, request);
    });
    return readLeads.apply(tracking, query);
  });
  expect(await test.leads('boss', `${SINCE}&limit=2`)).toMatchObject([{ id: 'early' }, { id: 'late' }]);
  await expectProblem(await answer, 'token-revoked');
});

describe('a page of a busy company', () => {
  const page: Page = { leads: [sampleLead(1000)], readAt: 2000, locked: true };

  it('is sent after the account was read again, unless it is empty', async () => {
    const isTokenRevoked = vi.fn(emptyStore.isTokenRevoked);
    const readPage = vi.fn(emptyStore.readPage);
    const app = makeEndpoint({ isTokenRevoked, readPage });
    expect((await injectPoll(app)).statusCode).toBe(200);
    expect(isTokenRevoked).toHaveBeenCalledTimes(1);
    readPage.mockImplementation(async () => {
      isTokenRevoked.mockResolvedValue(true);
      return page;
    });
    await expectProblem(await injectPoll(app), 'token-revoked');
  });

  it('is read again for the new access level, and answers 503 if that never stays the same', async () => {
    let reads = 0;
    let changes = 1;
    const findUser = async (id: string): Promise<User | undefined> => {
      const user = await emptyStore.findUser(id);
      return user && { ...user, accessLevel: 'BRANCH', branchId: `branch-${Math.min(reads, changes)}` };
    };
    const branches: string[] = [];
    const readPage = async ({ scope }: PageQuery) => {
      reads += 1;
      if (scope.level === 'BRANCH') branches.push(scope.branchId);
      return page;
    };
    const app = makeEndpoint({ findUser, readPage });
    expect((await injectPoll(app)).statusCode).toBe(200);
    expect(branches).toEqual(['branch-0', 'branch-1']);
    changes = Number.POSITIVE_INFINITY;
    await expectProblem(await injectPoll(app), 'unavailable');
  });
});

it('a poll costs one revalidation, and a second one only if its leads were read after the first', async () => {
  const test = await startService();
  const tracking = test.store.changeTracking;
  const revalidate = vi.spyOn(tracking, 'revalidate');
  const readLeads = vi.spyOn(tracking, 'readLeads');
  const init = { headers: { authorization: `Bearer ${await test.token('boss', TOKEN)}` } };
  const count = async (query: string) => {
    revalidate.mockClear();
    readLeads.mockClear();
    const leads = (await (await test.poll('boss', query, init)).json()) as unknown[];
    const [revalidations, reads] = [revalidate.mock.calls.length, readLeads.mock.calls.length];
    return { leads: leads.length, revalidations, reads };
  };
  await test.add({ id: 'first' });
  expect(await count(SINCE)).toEqual({ leads: 1, revalidations: 2, reads: 1 });
  // Other databases of the server can delay, not change, what is cached.
  await expect.poll(() => count(SINCE)).toEqual({ leads: 1, revalidations: 1, reads: 0 });
  expect(await count('since=2200-01-01')).toEqual({ leads: 0, revalidations: 1, reads: 0 });
  await test.add({ id: 'second' });
  expect(await count('since=2200-01-01')).toEqual({ leads: 0, revalidations: 1, reads: 1 });
  expect(await count(SINCE)).toEqual({ leads: 2, revalidations: 1, reads: 0 });
});
