import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { NEW_LEADS_PATH } from '@leadtap/contract';
import {
  createPollHandler,
  type Limiter,
  type PollHandlerOptions,
  type PollStore,
  type RequestHandler,
  type User,
} from 'leadtap';
import { inject } from 'light-my-request';
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

/** The endpoint alone, as an application embeds it, over a store that the test makes up. */
export const makeEndpoint = (
  store: Partial<PollStore> = {},
  options: Partial<PollHandlerOptions> = {},
): RequestHandler =>
  createPollHandler({
    verifyToken: async () => ({ kind: 'valid', token: { userId: USER.id, tokenId: 'token-1' } }),
    ...options,
    store: { ...emptyStore, ...store },
  });

/** Polls it, without a server; the token does not matter. */
export const injectPoll = (handle: RequestHandler, query = '', headers: Record<string, string> = {}) =>
  inject(handle, {
    url: `${NEW_LEADS_PATH}${query && `?${query}`}`,
    headers: { authorization: 'Bearer any', ...headers },
  });

/** A bare server with this listener, until the test has finished. */
export async function listen(handle: RequestHandler): Promise<{ server: Server; url: string }> {
  const server = createServer(handle);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}
