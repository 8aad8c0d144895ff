import {
  type Limiter,
  type PollHandlerOptions,
  type PollObservation,
  StoreUnavailableError,
  TokenVerificationUnavailableError,
} from 'leadtap';
import { inject } from 'light-my-request';
import { describe, expect, it, vi } from 'vitest';
import { injectPoll, makeEndpoint, type StubQueries } from '../../../testing/harness/endpoint.ts';

describe('the handler in an application', () => {
  it('responds although the observer throws, and logs the error', async () => {
    const error = vi.fn();
    const observer = {
      observe: () => {
        throw new Error('it fails');
      },
    };
    const handle = makeEndpoint({}, { observer, logger: { info: () => undefined, error } });
    for (const failures of [1, 2]) {
      expect((await injectPoll(handle)).statusCode).toBe(200);
      await vi.waitFor(() => expect(error).toHaveBeenCalledTimes(failures));
    }
    expect(error.mock.calls[0]?.[0]).toMatchObject({ err: { message: 'it fails' } });
  });

  it('sends the headers that the application has set', async () => {
    const handle = makeEndpoint();
    const { headers } = await inject(
      (request, response) => {
        response.setHeader('access-control-allow-origin', '*');
        response.setHeader('cache-control', 'public');
        handle(request, response);
      },
      { url: '/', headers: { authorization: 'Bearer any' } },
    );
    expect(headers).toMatchObject({
      'access-control-allow-origin': '*',
      'cache-control': 'private, no-cache',
    });
  });

  it('uses the limiter of the application, by user', async () => {
    const keys: string[] = [];
    const policy = { name: 'day', quota: 1, windowS: 86_400 };
    const limiter: Limiter = {
      consume: async (key) => {
        const refused = keys.push(key) > 1;
        return {
          windows: [{ policy, remaining: 0, resetS: 7 }],
          violated: refused ? ['day'] : [],
          retryAfterS: refused ? 7 : 0,
        };
      },
    };
    const handle = makeEndpoint({}, { limiter });
    expect((await injectPoll(handle)).headers).toMatchObject({ ratelimit: '"day";r=0;t=7' });
    const refused = await injectPoll(handle);
    expect(refused.json()).toMatchObject({ code: 'rate-limit-exceeded', violatedPolicies: ['day'] });
    expect(refused.headers['retry-after']).toBe('7');
    expect(keys).toEqual(['boss', 'boss']);
  });

  it('has its own limits without a limiter', async () => {
    const handle = makeEndpoint({}, { clock: () => 0 });
    for (let request = 0; request < 100; request += 1)
      expect((await injectPoll(handle)).statusCode).toBe(200);
    expect((await injectPoll(handle)).statusCode).toBe(429);
  });

  it('calls the observer for each request', async () => {
    const seen: PollObservation[] = [];
    const handle = makeEndpoint({}, { observer: { observe: (observation) => void seen.push(observation) } });
    await injectPoll(handle);
    await inject(handle, '/');
    expect(seen).toEqual([
      {
        status: 200,
        durationMs: expect.any(Number),
        waitedMs: 0,
        leads: 0,
        feedLagMs: undefined,
        unlocked: false,
        violatedPolicies: [],
      },
      expect.objectContaining({ status: 401 }),
    ]);
  });

  it('uses the public URL of the application', async () => {
    const handle = makeEndpoint({}, { publicUrl: 'https://crm.example.com/hooks' });
    expect((await injectPoll(handle)).headers['link']).toMatch(
      /^<https:\/\/crm\.example\.com\/hooks\/automation\/new-leads\?/,
    );
  });
});

describe('errors of the store or the verifier', () => {
  const fails = (error: Error) => () => Promise.reject(error);
  const unavailable = fails(new StoreUnavailableError('the host db-7 is unreachable'));
  const providerUnavailable = fails(new TokenVerificationUnavailableError('the host db-7 is unreachable'));
  const broken = fails(Object.assign(new Error('column "plan" does not exist'), { statusCode: 404 }));

  type Options = Partial<Omit<PollHandlerOptions, 'store'>> & { store?: Partial<StubQueries> };

  it.each<[string, number, Options]>([
    ['the store is unavailable for the user', 503, { store: { findUser: unavailable } }],
    ['the store is unavailable for the page', 503, { store: { readPage: unavailable } }],
    ['the identity provider is unavailable', 503, { verifyToken: providerUnavailable }],
    ['the store of the keys is unavailable', 503, { verifyToken: unavailable }],
    ['the store is broken', 500, { store: { readPage: broken } }],
    ['the verifier is broken', 500, { verifyToken: broken }],
  ])('%s: %i without details', async (_name, status, { store, ...options }) => {
    const response = await injectPoll(makeEndpoint(store, options));
    expect(response.statusCode).toBe(status);
    expect(response.headers['content-type']).toBe('application/problem+json');
    expect(response.body).not.toMatch(/db-7|column/);
    expect('retry-after' in response.headers).toBe(status === 503);
  });
});
