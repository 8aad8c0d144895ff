import { type Limiter, StoreUnavailableError, type VerifyToken } from 'leadtap';
import { describe, expect, it } from 'vitest';
import { emptyStore, injectPoll, makeEndpoint, type StubQueries } from '../../../testing/harness/endpoint.ts';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { startService } from '../../../testing/harness/service.ts';

describe('a failed check ends the request before later checks', () => {
  /** Records which parts of the service a request reaches. */
  async function reached(options: { verified: boolean; passes: boolean; plan: string; query: string }) {
    const calls: string[] = [];
    const note = <T>(name: string, value: T): T => {
      calls.push(name);
      return value;
    };
    const store: Partial<StubQueries> = {
      findUser: async (id) => {
        const user = await emptyStore.findUser(id);
        return note('account', user && { ...user, plan: options.plan });
      },
      readPage: async (query) => note('leads', await emptyStore.readPage(query)),
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
    ['a refused request no leads', { ...good, passes: false }, ['account', 'limiter']],
    ['another plan no leads', { ...good, plan: 'STARTER' }, ['account', 'limiter']],
    ['a bad query no leads', { ...good, query: 'limit=0' }, ['account', 'limiter']],
    ['a good request all', good, ['account', 'limiter', 'leads']],
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
    expect(answers.map(({ headers }) => headers.get('ratelimit')?.split(',')[0])).toEqual(
      [98, 97, 96, 95].map((left) => `"minute";r=${left};t=60`),
    );
  });

  it('are on a 500 and a 503 too', async () => {
    for (const error of [new Error('broken'), new StoreUnavailableError('unreachable')]) {
      const answer = await injectPoll(makeEndpoint({ readPage: () => Promise.reject(error) }));
      expect(answer.headers['ratelimit']).toMatch(/^"minute";r=99;t=60,/);
    }
  });
});
