import type { onRequestAsyncHookHandler } from 'fastify';
import { mayPoll } from '../accounts/plan.ts';
import { ProblemError } from './problems.ts';
import { questionsOf, remember, tokenOf, userOf } from './request-state.ts';

/** The third check. Asked anew for each request, so that a removed user is gone at once. */
export const requireUser: onRequestAsyncHookHandler = async (request) => {
  const { userId } = tokenOf(request);
  const user = await questionsOf(request).findUser(userId);
  // A database that folds case, or cuts a text at a NUL, finds users who were not asked for.
  if (user?.id !== userId) throw new ProblemError('user-not-found');
  remember(request, { user });
};

/** The fourth check. */
export const requirePlan: onRequestAsyncHookHandler = async (request) => {
  if (!mayPoll(userOf(request))) throw new ProblemError('professional-plan-required');
};
