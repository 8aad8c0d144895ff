import type { User } from '../store/records.ts';
import type { Bearer, PageQuery, PollStore } from '../store/store.ts';
import type { RenderedPage } from './poll.ts';
import { renderLeads } from './render.ts';

/** What one poll asks, one question after the other: each is asked only if the answer before it was good. */
export interface PollReader {
  isTokenRevoked(): boolean | Promise<boolean>;
  findUser(): User | undefined | Promise<User | undefined>;
  /** The signal, which is aborted when the caller has gone, is made only for what takes long. */
  readPage(query: PageQuery, disconnectSignal: () => AbortSignal): RenderedPage | Promise<RenderedPage>;
}

/** From the store itself. */
export const askStore = (store: PollStore, { userId, tokenId }: Bearer): PollReader => ({
  isTokenRevoked: async () => tokenId !== undefined && store.isTokenRevoked(tokenId),
  findUser: () => store.findUser(userId),
  readPage: (query, disconnectSignal) => readRendered(store, query, disconnectSignal()),
});

export async function readRendered(
  store: PollStore,
  query: PageQuery,
  signal: AbortSignal,
): Promise<RenderedPage> {
  const { leads, ...page } = await store.readPage(query, signal);
  return { ...page, leads: renderLeads(leads) };
}
