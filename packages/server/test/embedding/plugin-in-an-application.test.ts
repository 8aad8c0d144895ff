import Fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify';
import {
  type Limiter,
  type NewLeadsOptions,
  newLeads,
  type PollObservation,
  type PollStore,
  StoreUnavailableError,
  TokenVerificationUnavailableError,
  type User,
  type VerifyToken,
} from 'leadtap';
import { describe, expect, it, vi } from 'vitest';

declare module 'fastify' {
  interface FastifyRequest {
    /** As @fastify/jwt and many applications define it. */
    user: { readonly login: string };
    token: string;
  }
}

const ada: User = {
  id: 'ada',
  companyId: 'acme',
  name: null,
  email: null,
  plan: 'PROFESSIONAL',
  accessLevel: 'COMPANY',
  branchId: null,
  departmentId: null,
};
const store: PollStore = {
  findUser: async () => ada,
  isTokenRevoked: async () => false,
  readPage: async () => ({ leads: [], readAt: 0, locked: true }),
};
const verifyToken: VerifyToken = async (token) =>
  token === 'good' ? { kind: 'valid', token: { userId: 'ada', tokenId: undefined } } : { kind: 'invalid' };

const embed = (options: Partial<NewLeadsOptions> = {}, server: FastifyServerOptions = {}): FastifyInstance =>
  Fastify(server).register(newLeads, { prefix: '/api', store, verifyToken, ...options });

const authorization = 'Bearer good';
const poll = (app: FastifyInstance, method: 'GET' | 'HEAD' = 'GET', url = '/api/automation/new-leads') =>
  app.inject({ method, url, headers: { authorization } });

describe('the plugin in an application', () => {
  it('keeps the request decorators of the application', async () => {
    const app = Fastify();
    app.decorateRequest('token', 'mine');
    app.decorateRequest('user');
    app.addHook('onRequest', async (request) => {
      request.user = { login: 'host' };
    });
    const seen: string[] = [];
    app.addHook('onResponse', async ({ user, token }) => void seen.push(`${user.login} ${token}`));
    app.register(newLeads, { prefix: '/api', store, verifyToken });
    expect((await poll(app)).statusCode).toBe(200);
    expect(seen).toEqual(['host mine']);
  });

  it('adds no properties to requests', async () => {
    const app = Fastify();
    const keys = new Map<string, string[]>();
    app.addHook('onRequest', async (request) => void keys.set('before', Object.keys(request)));
    app.addHook('onResponse', async (request) => void keys.set('after', Object.keys(request)));
    app.register(newLeads, { prefix: '/api', store, verifyToken });
    expect((await poll(app)).statusCode).toBe(200);
    expect(keys.get('after')).toEqual(keys.get('before'));
  });

  it('runs after the hooks of the application, which may respond first', async () => {
    const app = Fastify();
    app.addHook('onRequest', async (_request, reply) => reply.code(503).send({ mine: 'closed for today' }));
    app.register(newLeads, { prefix: '/api', store, verifyToken });
    const response = await poll(app);
    expect(response.statusCode).toBe(503);
    expect(response.json()).toEqual({ mine: 'closed for today' });
  });

  it('sends the headers that hooks of the application have set', async () => {
    const app = Fastify();
    app.addHook('onRequest', async (_request, reply) => {
      reply.headers({ 'access-control-allow-origin': '*', 'cache-control': 'public' });
    });
    app.register(newLeads, { prefix: '/api', store, verifyToken });
    expect((await poll(app)).headers).toMatchObject({
      'access-control-allow-origin': '*',
      'cache-control': 'private, no-cache',
    });
  });

  it('responds although the observer throws, and logs the error', async () => {
    const lines: string[] = [];
    const logger = { level: 'error', stream: { write: (line: string) => void lines.push(line) } };
    const observer = {
      observe: () => {
        throw new Error('it fails');
      },
    };
    const app = embed({ observer }, { logger });
    for (const failures of [1, 2]) {
      expect((await poll(app)).statusCode).toBe(200);
      await vi.waitFor(() => expect(lines).toHaveLength(failures));
    }
    expect(lines.join('')).toContain('it fails');
  });

  it('may be registered twice, with two stores', async () => {
    const app = embed();
    const withoutUsers = { ...store, findUser: async () => undefined };
    app.register(newLeads, { prefix: '/other', store: withoutUsers, verifyToken });
    expect((await poll(app)).statusCode).toBe(200);
    expect((await poll(app, 'GET', '/other/automation/new-leads')).statusCode).toBe(404);
  });

  it('answers HEAD also if the application disables it', async () => {
    const app = embed({}, { exposeHeadRoutes: false });
    expect((await poll(app, 'HEAD')).statusCode).toBe(200);
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
    const app = embed({ limiter });
    expect((await poll(app)).headers).toMatchObject({ ratelimit: '"day";r=0;t=7' });
    const refused = await poll(app);
    expect(refused.json()).toMatchObject({ code: 'rate-limit-exceeded', violatedPolicies: ['day'] });
    expect(refused.headers['retry-after']).toBe('7');
    expect(keys).toEqual(['ada', 'ada']);
  });

  it('has its own limits without a limiter', async () => {
    const app = embed({ clock: () => 0 });
    for (let request = 0; request < 100; request += 1) expect((await poll(app)).statusCode).toBe(200);
    expect((await poll(app)).statusCode).toBe(429);
  });

  it('calls the observer for each request', async () => {
    const seen: PollObservation[] = [];
    const app = embed({ observer: { observe: (observation) => void seen.push(observation) } });
    await poll(app);
    await app.inject('/api/automation/new-leads');
    await app.inject('/elsewhere');
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
    const app = embed({ publicUrl: () => 'https://crm.example.com/hooks' });
    expect((await poll(app)).headers['link']).toMatch(
      /^<https:\/\/crm\.example\.com\/hooks\/automation\/new-leads\?/,
    );
  });
});

describe('errors of the store or the verifier', () => {
  const fails = (error: Error) => () => Promise.reject(error);
  const unavailable = fails(new StoreUnavailableError('the host db-7 is unreachable'));
  const providerUnavailable = fails(new TokenVerificationUnavailableError('the host db-7 is unreachable'));
  const broken = fails(Object.assign(new Error('column "plan" does not exist'), { statusCode: 404 }));

  it.each<[string, number, Partial<NewLeadsOptions>]>([
    ['the store is unavailable for the user', 503, { store: { ...store, findUser: unavailable } }],
    ['the store is unavailable for the page', 503, { store: { ...store, readPage: unavailable } }],
    ['the identity provider is unavailable', 503, { verifyToken: providerUnavailable }],
    ['the store of the keys is unavailable', 503, { verifyToken: unavailable }],
    ['the store is broken', 500, { store: { ...store, readPage: broken } }],
    ['the verifier is broken', 500, { verifyToken: broken }],
  ])('%s: %i without details', async (_name, status, options) => {
    const response = await poll(embed(options));
    expect(response.statusCode).toBe(status);
    expect(response.headers['content-type']).toBe('application/problem+json');
    expect(response.body).not.toMatch(/db-7|column/);
    expect('retry-after' in response.headers).toBe(status === 503);
  });
});
