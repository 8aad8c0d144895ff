import { NEW_LEADS_PATH } from '@leadtap/contract';
import Fastify, { type FastifyInstance } from 'fastify';
import { type Limiter, type NewLeadsOptions, newLeads, type PollStore, type User } from 'leadtap';
import { onTestFinished } from 'vitest';

const USER: User = {
  id: 'boss',
  companyId: 'acme',
  email: null,
  name: null,
  plan: 'PROFESSIONAL',
  accessLevel: 'COMPANY',
  branchId: null,
  departmentId: null,
};

/** A store with one user and no leads. */
export const emptyStore: PollStore = {
  findUser: async (userId) => (userId === USER.id ? USER : undefined),
  isTokenRevoked: async () => false,
  readPage: async () => ({ leads: [], readAt: Date.parse('2026-03-02T09:30:00.000Z'), locked: true }),
};

export const noLimit: Limiter = {
  consume: async () => ({ windows: [], violated: [], retryAfterS: 0 }),
};

/** The endpoint alone, as an embedding application registers it, over a store that the test makes up. */
export function makeEndpoint(
  store: Partial<PollStore> = {},
  options: Partial<NewLeadsOptions> = {},
): FastifyInstance {
  const app = Fastify();
  app.register(newLeads, {
    store: { ...emptyStore, ...store },
    verifyToken: async () => ({ kind: 'valid', token: { userId: USER.id, tokenId: 'token-1' } }),
    ...options,
  });
  onTestFinished(() => app.close());
  return app;
}

/** Polls it; the token does not matter. */
export const injectPoll = (app: FastifyInstance, query = '', headers: Record<string, string> = {}) =>
  app.inject({
    url: `${NEW_LEADS_PATH}${query && `?${query}`}`,
    headers: { authorization: 'Bearer any', ...headers },
  });
