import type { PollQuestions, Store } from 'leadtap';

/**
 * Puts the test before one of the questions that polls ask: it can hold them up, or fail in the place of the store.
 * Works for a store that is asked each time and for one that answers a poll as a whole. Gives what ends it.
 */
export function beforeQuestion(
  store: Store,
  question: keyof PollQuestions,
  before: () => Promise<void>,
): () => void {
  const begin = store.beginPoll?.bind(store);
  const ask = async <T>(name: keyof PollQuestions, answer: () => Promise<T>): Promise<T> => {
    if (name === question) await before();
    return answer();
  };
  store.beginPoll = (expected) => {
    const asked = begin?.(expected) ?? store;
    return {
      isTokenRevoked: (tokenId) => ask('isTokenRevoked', () => asked.isTokenRevoked(tokenId)),
      findUser: (userId) => ask('findUser', () => asked.findUser(userId)),
      readPage: (query) => ask('readPage', () => asked.readPage(query)),
    };
  };
  return () => {
    delete store.beginPoll;
  };
}
