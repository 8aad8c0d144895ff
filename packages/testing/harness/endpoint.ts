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

/** What a poll asks of a store, one question after the other. */
export interface StubQueries extends Pick<PollStore, 'readPage'> {
  isTokenRevoked(tokenId: string): Promise<boolean>;
  findUser(userId: string): Promise<User | undefined>;
}

/** One user and no leads. */
export const emptyStore: StubQueries = {
  findUser: async (userId) => (userId === USER.id ? USER : undefined),
  isTokenRevoked: async () => false,
  readPage: async () => ({ leads: [], readAt: Date.parse('2026-03-02T09:30:00.000Z'), locked: true }),
};

/** A store of which nothing can be cached: everything may have changed, and all companies are busy. */
export function makeStubStore(stubs: Partial<StubQueries> = {}): PollStore {
  const queries = { ...emptyStore, ...stubs };
  return {
    readPage: (...query) => queries.readPage(...query),
    changeTracking: {
      async revalidate({ companies, tokens }) {
        const accounts = await Promise.all(
          tokens.map(async ({ userId, tokenId }) => ({
            isRevoked: tokenId !== undefined && (await queries.isTokenRevoked(tokenId)),
            user: await queries.findUser(userId),
          })),
        );
        const busy = new Set([...companies, ...accounts.flatMap(({ user }) => user?.companyId ?? [])]);
        return { readAt: 0, busy, accounts, seen: '', changes: undefined };
      },
      readLeads: async (query) => (await queries.readPage(query)).leads,
      findHistory: async () => [],
    },
  };
}

export const noLimit: Limiter = {
  consume: async () => ({ windows: [], violated: [], retryAfterS: 0 }),
};

/** The endpoint alone, as an application embeds it, over a store that the test makes up. */
export const makeEndpoint = (
  store: Partial<StubQueries> = {},
  options: Partial<PollHandlerOptions> = {},
): RequestHandler =>
  createPollHandler({
    verifyToken: async () => ({ kind: 'valid', token: { userId: USER.id, tokenId: 'token-1' } }),
    ...options,
    store: makeStubStore(store),
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
