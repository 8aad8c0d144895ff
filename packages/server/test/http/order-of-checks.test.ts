import { NEW_LEADS_PATH, type ProblemCode } from '@leadtap/contract';
import { issueToken, type Limiter, type PollStore, StoreUnavailableError, type VerifyToken } from 'leadtap';
import { describe, expect, it } from 'vitest';
import { emptyStore, injectPoll, makeEndpoint } from '../../../testing/harness/endpoint.ts';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { expectProblem } from '../../../testing/harness/problem.ts';
import { startService } from '../../../testing/harness/service.ts';

describe('a request that fails several checks gets the problem of the first', () => {
  type Failing = {
    token: boolean;
    limit: boolean;
    user: boolean;
    plan: boolean;
    scope: boolean;
    query: boolean;
  };

  async function ask(failing: Failing) {
    const clock = manualClock();
    const test = await startService({ clock });
    const userId = failing.user ? 'unknown' : failing.plan ? 'starter' : 'boss';
    const good = await issueToken(test.service.keys, {
      userId,
      tokenId: 'token-1',
      issuedAt: clock(),
      expiresAt: clock() + 3_600_000,
      scopes: failing.scope ? ['leads:write'] : ['leads:read'],
    });
    const authorization = `Bearer ${failing.token ? 'bad' : good}`;
    const request = {
      url: `${NEW_LEADS_PATH}${failing.query ? '?limit=0' : ''}`,
      headers: { authorization },
    };
    if (failing.limit)
      for (let i = 0; i < 100; i += 1)
        await test.inject({
          url: NEW_LEADS_PATH,
          headers: { authorization: `Bearer ${good}` },
        });
    return test.inject(request);
  }

  const none: Failing = { token: false, limit: false, user: false, plan: false, scope: false, query: false };
  const all: Failing = { token: true, limit: true, user: true, plan: true, scope: true, query: true };

  it.each<[string, ProblemCode, Failing]>([
    ['token, limit, user, plan, scope, query', 'token-invalid', all],
    ['limit, user, plan, scope, query', 'rate-limit-exceeded', { ...all, token: false }],
    ['limit, plan, scope, query', 'rate-limit-exceeded', { ...all, token: false, user: false }],
    ['user, plan, scope, query', 'user-not-found', { ...all, token: false, limit: false }],
    ['plan, scope, query', 'professional-plan-required', { ...none, plan: true, scope: true, query: true }],
    ['scope, query', 'insufficient-scope', { ...none, scope: true, query: true }],
    ['query', 'invalid-query', { ...none, query: true }],
  ])('%s: %s', async (_what, code, failing) => {
    await expectProblem(await ask(failing), code);
  });

  it('none: 200', async () => {
    const answer = await ask(none);
    expect(answer.statusCode).toBe(200);
  });
});

describe('a failed check ends the request before later checks', () => {
  /** Records which parts of the service a request reaches. */
  async function reached(options: { verified: boolean; passes: boolean; plan: string; query: string }) {
    const calls: string[] = [];
    const note = <T>(name: string, value: T): T => {
      calls.push(name);
      return value;
    };
    const store: PollStore = {
      isTokenRevoked: async () => note('isTokenRevoked', false),
      findUser: async (id) => {
        const user = await emptyStore.findUser(id);
        return note('findUser', user && { ...user, plan: options.plan });
      },
      readPage: async (query) => note('readPage', await emptyStore.readPage(query)),
    };
    const limiter: Limiter = {
      consume: async () =>
        note('limiter', { windows: [], violated: options.passes ? [] : ['minute'], retryAfterS: 1 }),
    };
    const refuse: VerifyToken = async () => ({ kind: 'invalid' });
    const app = makeEndpoint(store, { limiter, ...(!options.verified && { verifyToken: refuse }) });
    await injectPoll(app, options.query);
    return calls;
  }

  const good = { verified: true, passes: true, plan: 'PROFESSIONAL', query: '' };

  it.each([
    ['a bad token reaches nothing', { ...good, verified: false }, []],
    ['a refused request no user', { ...good, passes: false }, ['isTokenRevoked', 'limiter']],
    ['another plan no leads', { ...good, plan: 'STARTER' }, ['isTokenRevoked', 'limiter', 'findUser']],
    ['a bad query no leads', { ...good, query: 'limit=0' }, ['isTokenRevoked', 'limiter', 'findUser']],
    ['a good request all', good, ['isTokenRevoked', 'limiter', 'findUser', 'readPage']],
  ])('%s', async (_what, options, expected) => {
    expect(await reached(options)).toEqual(expected);
  });
});

describe('rate-limit headers', () => {
  it('are on every response to a valid token, and count it', async () => {
    const { poll } = await startService({ clock: manualClock() });
    const etag = (await poll('boss')).headers.get('etag') ?? '';
    const answers = [
      await poll('boss'),
      await poll('boss', '', { headers: { 'if-none-match': etag } }),
      await poll('boss', 'limit=0'),
      await poll('boss', '', { method: 'HEAD' }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 304, 400, 200]);
    expect(answers.map(({ headers }) => headers.get('ratelimit'))).toEqual(
      [98, 97, 96, 95].map((left) => `"minute";r=${left};t=60, "hour";r=${left + 900};t=3600`),
    );
    for (const [userId, status] of [
      ['starter', 403],
      ['unknown', 404],
    ] as const) {
      const answer = await poll(userId);
      expect(answer.status).toBe(status);
      expect(answer.headers.get('ratelimit')).toBe('"minute";r=99;t=60, "hour";r=999;t=3600');
      expect(answer.headers.get('ratelimit-policy')).toBe('"minute";q=100;w=60, "hour";q=1000;w=3600');
    }
  });

  it('are on a 500 and a 503 too', async () => {
    for (const error of [new Error('broken'), new StoreUnavailableError('unreachable')]) {
      const answer = await injectPoll(makeEndpoint({ findUser: () => Promise.reject(error) }));
      expect(answer.headers['ratelimit']).toBe('"minute";r=99;t=60, "hour";r=999;t=3600');
    }
  });
});
