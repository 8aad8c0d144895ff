import type { onRequestAsyncHookHandler } from 'fastify';
import { mayPoll } from '../accounts/plan.ts';
import type { VerifiedToken } from '../accounts/tokens.ts';
import type { User } from '../store/records.ts';
import type { PollStore } from '../store/store.ts';
import { ProblemError } from './problems.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by `authenticate`; every hook and handler after it may rely on it. */
    leadtapToken: VerifiedToken;
    /** Set by `requireUser`, likewise. */
    leadtapUser: User;
  }
}

/** The third check. Asked anew for each request, so that a removed user is gone at once. */
export function requireUser(store: Pick<PollStore, 'findUser'>): onRequestAsyncHookHandler {
  return async (request) => {
    const user = await store.findUser(request.leadtapToken.userId);
    // A database that folds case, or cuts a text at a NUL, finds users who were not asked for.
    if (user?.id !== request.leadtapToken.userId) throw new ProblemError('user-not-found');
    request.leadtapUser = user;
  };
}

/** The fourth check. */
export const requirePlan: onRequestAsyncHookHandler = async (request) => {
  if (!mayPoll(request.leadtapUser)) throw new ProblemError('professional-plan-required');
};
