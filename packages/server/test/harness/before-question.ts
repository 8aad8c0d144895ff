import type { PollQuestions, Store, WatchedStore } from 'leadtap';

/** What the store is asked when a poll asks this: one look for who the caller is, and a reading for what is not remembered. */
const ASKED_BY: Readonly<Record<keyof PollQuestions, keyof WatchedStore>> = {
  isTokenRevoked: 'look',
  findUser: 'look',
  readPage: 'readLeads',
};

/**
 * Puts the test before one of the questions that polls ask: it can hold them up, or fail in the place of the store. Gives
 * what ends it.
 */
export function beforeQuestion(
  { watched }: Store,
  question: keyof PollQuestions,
  before: () => Promise<void>,
): () => void {
  if (!watched) throw new Error('the store cannot be watched');
  const { look, readLeads } = watched;
  const asked = ASKED_BY[question];
  if (asked === 'look')
    watched.look = async (...args) => {
      await before();
      return look.apply(watched, args);
    };
  else
    watched.readLeads = async (...args) => {
      await before();
      return readLeads.apply(watched, args);
    };
  return () => Object.assign(watched, { look, readLeads });
}
