import { askStore, type PollAnswers } from '../leads/poll-answers.ts';
import type { Bearer, PollStore } from '../store/store.ts';
import { PollMemory } from './poll-memory.ts';

export type AnswersFor = (bearer: Bearer) => PollAnswers | Promise<PollAnswers>;

/** From memory, where the store tells what has changed; else from the store. */
export function answersFrom(store: PollStore): AnswersFor {
  if (!store.watched) return (bearer) => askStore(store, bearer);
  const memory = new PollMemory(store, store.watched);
  return (bearer) => memory.answers(bearer);
}
