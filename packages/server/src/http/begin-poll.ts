import type { FastifyReply, FastifyRequest } from 'fastify';
import type { VerifiedToken } from '../accounts/verification.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { PollQuestions, PollStore } from '../store/store.ts';
import { readQuery } from './query.ts';

interface Parts {
  readonly store: PollStore;
  readonly limiter: Limiter;
}

/**
 * Tells the store what this request is going to ask, if the store wants to know. The order of the checks stays what it
 * is: each of them asks for itself, and finds its answer there already.
 */
export function beginPoll(
  { store, limiter }: Parts,
  { userId, tokenId }: VerifiedToken,
  request: FastifyRequest,
  reply: FastifyReply,
): PollQuestions {
  if (!store.beginPoll) return store;
  // Whoever is over the limit must not make the database read pages that nobody gets.
  const page = limiter.isExhausted?.(userId) ? undefined : expectedPage(request);
  return store.beginPoll({ userId, tokenId, page, signal: whenGone(reply) });
}

function expectedPage({ query }: FastifyRequest) {
  const reading = readQuery(query as Record<string, unknown>);
  return 'limit' in reading ? reading : undefined;
}

/** Aborted when the caller hangs up before the answer is sent. */
function whenGone({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController();
  if (raw.destroyed) gone.abort();
  raw.once('close', () => {
    if (!raw.writableFinished) gone.abort();
  });
  return gone.signal;
}
