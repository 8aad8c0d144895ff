import type { onRequestAsyncHookHandler } from 'fastify';
import { mayPoll } from '../accounts/plan.ts';
import type { VerifiedToken } from '../accounts/tokens.ts';
import type { User } from '../store/records.ts';
import type { PollStore } from '../store/store.ts';
import { ProblemError } from './problems.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by `authenticate`; every hook and handler after it may rely on it. */
    token: VerifiedToken;
    /** Set by `requireUser`, likewise. */
    user: User;
  }
}

/** The third check. Asked anew for each request, so that a removed user is gone at once. */
export function requireUser(store: Pick<PollStore, 'findUser'>): onRequestAsyncHookHandler {
  return async (request) => {
    const user = await store.findUser(request.token.userId);
    if (!user) throw new ProblemError('user-not-found');
    request.user = user;
  };
}

/** The fourth check. */
export const requirePlan: onRequestAsyncHookHandler = async (request) => {
  if (!mayPoll(request.user)) throw new ProblemError('professional-plan-required');
};
