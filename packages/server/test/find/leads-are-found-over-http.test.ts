import { FIND_LEADS_PATH, type Lead, MAX_SEARCH_LENGTH, SINCE_EXAMPLE } from '@leadtap/contract';
import type { Store } from 'leadtap';
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { deferred } from '../../../testing/harness/deferred.ts';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { expectProblem } from '../../../testing/harness/problem.ts';
import { startService, type TestService } from '../../../testing/harness/service.ts';
import { shareService } from '../../../testing/harness/shared-service.ts';

const TOKEN = { tokenId: 'person' };

async function find(
  { url, token }: TestService,
  userId: string,
  query: Record<string, string> | string = '',
  init: RequestInit = {},
): Promise<Response> {
  const authorization = `Bearer ${await token(userId, TOKEN)}`;
  return fetch(`${url}${FIND_LEADS_PATH}?${new URLSearchParams(query)}`, {
    ...init,
    headers: { authorization },
  });
}

const nextOf = (response: Response): string | undefined =>
  /^<([^>]+)>; rel="next"$/.exec(response.headers.get('link') ?? '')?.[1];

/** The ids of all pages. */
async function findAll(
  test: TestService,
  userId: string,
  query: Record<string, string> = {},
): Promise<string[]> {
  const ids: string[] = [];
  for (let next: URLSearchParams | undefined = new URLSearchParams(query); next; ) {
    const response: Response = await find(test, userId, next.toString());
    expect(response.status).toBe(200);
    ids.push(...((await response.json()) as Lead[]).map(({ id }) => id));
    const link = nextOf(response);
    next = link === undefined ? undefined : new URL(link).searchParams;
  }
  return ids;
}

/** Who sees a lead of which place. Both companies have a branch `north` with a department `sales`. */
const PLACES = {
  company: { companyId: 'acme' },
  north: { companyId: 'acme', branchId: 'north' },
  'north/sales': { companyId: 'acme', departmentId: 'sales' },
  'north/service': { companyId: 'acme', departmentId: 'service' },
  south: { companyId: 'acme', branchId: 'south' },
  'other company: north/sales': { companyId: 'globex', departmentId: 'sales' },
};
const SEES: readonly (readonly [userId: string, places: readonly (keyof typeof PLACES)[]])[] = [
  ['boss', ['south', 'north/service', 'north/sales', 'north', 'company']],
  ['north-lead', ['north/service', 'north/sales', 'north']],
  ['seller', ['north/sales']],
  ['rival', ['other company: north/sales']],
  ['rival-seller', ['other company: north/sales']],
];

describe('leads are found', () => {
  const shared = shareService();
  const fields = { fullName: 'Zoë Lefèvre', email: 'zoe@example.com', phone1: '+33 6 12 34 56 78' };
  beforeAll(async () => {
    for (const [id, place] of Object.entries(PLACES)) await shared().add({ id, ...place, fields });
  });

  it.each(SEES)('%s sees the leads of the access level, and no others', async (userId, places) => {
    expect(await findAll(shared(), userId)).toEqual(places);
    for (const q of ['zoe lefevre', 'ZOE@', '06 12 34 56 78', 'Lefe\u0300vre'])
      expect(await findAll(shared(), userId, { q, limit: '1' }), q).toEqual(places);
    expect(await findAll(shared(), userId, { q: 'mallory' })).toEqual([]);
    expect(await findAll(shared(), userId, { q: 'south' })).toEqual(places.filter((id) => id === 'south'));
  });

  it('leads have the bytes of a poll, and no cache keeps them', async () => {
    const test = shared();
    const found = await find(test, 'boss');
    expect(await found.text()).toBe(await (await test.poll('boss')).text());
    expect(found.headers.get('cache-control')).toBe('private, no-store');
    expect(found.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(found.headers.get('ratelimit')).toMatch(/^"minute";r=\d+;t=\d+/);
    expect(nextOf(found)).toBeUndefined();
    const head = await find(test, 'boss', '', { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([200, '']);
  });

  it('`before` is exclusive, and `next` continues with the same text and limit', async () => {
    const test = shared();
    const [newest, second] = (await (await find(test, 'boss')).json()) as Lead[];
    const response = await find(test, 'boss', { before: newest?.createdAt ?? '', q: ' zoë & ', limit: '1' });
    expect(await response.json()).toEqual([]);
    const page = await find(test, 'boss', { before: newest?.createdAt ?? '', q: ' Zoë ', limit: '1' });
    expect(await page.json()).toEqual([second]);
    expect(nextOf(page)).toBe(`${test.url}${FIND_LEADS_PATH}?before=${second?.createdAt}&q=Zo%C3%AB&limit=1`);
    expect(await (await find(test, 'boss', { before: '9999-01-01', q: '  ' })).json()).toHaveLength(5);
  });

  it('a query that is not valid is refused, with every bad parameter', async () => {
    const errorsOf = async (query: string) =>
      (await expectProblem(await find(shared(), 'boss', query), 'invalid-query')).errors;
    expect(await errorsOf(`before=yesterday&limit=0&q=${'a'.repeat(MAX_SEARCH_LENGTH + 1)}`)).toEqual([
      { parameter: 'before', detail: `Give an ISO 8601 date-time, such as ${SINCE_EXAMPLE}.` },
      { parameter: 'limit', detail: 'Give a whole number of at least 1; above 100 it counts as 100.' },
      { parameter: 'q', detail: 'Give at most 200 characters.' },
    ]);
    expect(await errorsOf('q=a&q=b&before=&limit=')).toHaveLength(3);
    expect((await find(shared(), 'boss', { q: ` ${'a'.repeat(MAX_SEARCH_LENGTH)} ` })).status).toBe(200);
  });

  it('it is no poll of a connection', async () => {
    const test = await startService();
    await test.add({ id: 'a' });
    await find(test, 'boss');
    await test.service.connections.flush();
    expect(await (await fetch(test.statusUrl.replace(/\/status$/, '/status.json'))).json()).toMatchObject({
      out: [],
    });
  });
});

const CHANGES: readonly (readonly [
  string,
  (store: Store) => Promise<unknown>,
  Parameters<typeof expectProblem>[1] | undefined,
])[] = [
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

it.each(CHANGES)('%s during the search: no later lead is returned', async (_title, change, code) => {
  const test = await startService();
  await test.add({ id: 'early', branchId: 'north' });
  const { searchLeads } = test.store;
  vi.spyOn(test.store, 'searchLeads').mockImplementationOnce(async (...search) => {
    await change(test.store);
    await test.add({ id: 'late', branchId: 'south' });
    return searchLeads.apply(test.store, search);
  });
  const answer = await find(test, 'boss');
  if (code) await expectProblem(answer, code);
  else expect(await answer.json()).toMatchObject([{ id: 'early' }]);
});

describe('the searches of a user', () => {
  /** A service whose searches end when the test ends them, with the texts of those that run. */
  async function serviceWithSlowSearches() {
    const log: string[] = [];
    const test = await startService({ logTo: { write: (line) => log.push(line) } });
    const end = deferred();
    // Also if the test fails: the service waits for them.
    onTestFinished(() => end.resolve());
    const running: (string | undefined)[] = [];
    vi.spyOn(test.store, 'searchLeads').mockImplementation(async ({ text }, signal) => {
      running.push(text);
      const aborted = new Promise<never>((_, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason));
      });
      await Promise.race([end.promise, aborted]);
      return { leads: [], next: undefined };
    });
    return { test, end, running, log };
  }
  const numbers = (count: number) => Array.from({ length: count }, (_, index) => `${index}`);

  it('two run, eight wait in their order, and the next is refused', async () => {
    const { test, end, running } = await serviceWithSlowSearches();
    const answers: Promise<Response>[] = [];
    for (const q of numbers(10)) {
      answers.push(find(test, 'boss', { q }));
      await expect
        .poll(() => test.limiters.users.consume('boss', 0))
        .toHaveProperty('windows.0.remaining', 99 - Number(q));
    }
    await expect.poll(() => running, { timeout: 5000 }).toEqual(['0', '1']);
    const refused = await find(test, 'boss', { q: '10' }, { signal: AbortSignal.timeout(5000) });
    const { violatedPolicies } = await expectProblem(refused, 'rate-limit-exceeded');
    expect(violatedPolicies).toEqual(['lists']);
    expect(refused.headers.get('retry-after')).toBe('1');
    answers.push(find(test, 'rival', { q: 'rival' }));
    await expect.poll(() => running).toEqual(['0', '1', 'rival']);
    end.resolve();
    for (const answer of await Promise.all(answers)) expect(answer.status).toBe(200);
    expect(running).toEqual(['0', '1', 'rival', ...numbers(10).slice(2)]);
  });

  it('a client that disconnects gives its place back, whether it runs or waits', async () => {
    const { test, end, running, log } = await serviceWithSlowSearches();
    const countWaiting = vi.spyOn(test.limiters.users, 'consume');
    const clients = numbers(10).map(() => new AbortController());
    const gone = clients.map(({ signal }, index) => find(test, 'boss', { q: `${index}` }, { signal }));
    await expect.poll(() => countWaiting.mock.calls).toHaveLength(10);
    await expect.poll(() => running).toHaveLength(2);
    for (const client of clients) client.abort();
    expect((await Promise.allSettled(gone)).map(({ status }) => status)).toEqual(Array(10).fill('rejected'));
    await expect.poll(() => log.filter((line) => line.includes('"status":499'))).toHaveLength(10);
    const again = numbers(10).map((q) => find(test, 'boss', { q }));
    end.resolve();
    expect((await Promise.all(again)).map(({ status }) => status)).toEqual(Array(10).fill(200));
  });

  it('a search ends after 10 seconds with what it has, and `Link` continues', async () => {
    const clock = manualClock();
    const test = await startService({ clock });
    await test.add(...['last', ...numbers(500)].map((id) => ({ id })));
    const { searchLeads } = test.store;
    vi.spyOn(test.store, 'searchLeads').mockImplementationOnce((...search) => {
      clock.advance(10_000);
      return searchLeads.apply(test.store, search);
    });
    const page = await find(test, 'boss', { q: 'last' });
    expect(await page.json()).toEqual([]);
    expect(await findAll(test, 'boss', Object.fromEntries(new URL(nextOf(page) ?? '').searchParams))).toEqual(
      ['last'],
    );
  });
});
