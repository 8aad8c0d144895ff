import type { ChangeTrackingStore, PollQueries, Store } from 'leadtap';

/** What the store is asked when a poll asks this: one look for who the caller is, and a reading for what is not remembered. */
const ASKED_BY: Readonly<Record<keyof PollQueries, keyof ChangeTrackingStore>> = {
  isTokenRevoked: 'revalidate',
  findUser: 'revalidate',
  readPage: 'readLeads',
};

/**
 * Puts the test before one of the questions that polls ask: it can hold them up, or fail in the place of the store. Gives
 * what ends it.
 */
export function beforeQuestion(
  { changeTracking }: Store,
  question: keyof PollQueries,
  before: () => Promise<void>,
): () => void {
  if (!changeTracking) throw new Error('the store cannot be watched');
  const { revalidate, readLeads } = changeTracking;
  const asked = ASKED_BY[question];
  if (asked === 'revalidate')
    changeTracking.revalidate = async (...args) => {
      await before();
      return revalidate.apply(changeTracking, args);
    };
  else
    changeTracking.readLeads = async (...args) => {
      await before();
      return readLeads.apply(changeTracking, args);
    };
  return () => Object.assign(changeTracking, { revalidate, readLeads });
}
