import { createStoreReader, type PollReader } from '../leads/poll.ts';
import type { Bearer, PollStore } from '../store/store.ts';
import { PollCache } from './poll-cache.ts';

export type CreateReader = (bearer: Bearer) => PollReader | Promise<PollReader>;

/** From memory, where the store tells what has changed; else from the store. */
export function readerFactory(store: PollStore): CreateReader {
  if (!store.changeTracking) return (bearer) => createStoreReader(store, bearer);
  const memory = new PollCache(store, store.changeTracking);
  return (bearer) => memory.answers(bearer);
}
