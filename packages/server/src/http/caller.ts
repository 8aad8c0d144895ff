import type { VerifiedToken } from '../accounts/tokens.ts';
import { mayPoll } from '../leads/access.ts';
import type { User } from '../store/records.ts';
import { ProblemError } from './problems.ts';

/** The third check. Asked anew for each request, so that a removed user is gone at once. */
export function requireUser(user: User | undefined, { userId }: VerifiedToken): User {
  // A database that folds case, or cuts a text at a NUL, finds users who were not asked for.
  if (user?.id !== userId) throw new ProblemError('user-not-found');
  return user;
}

/** The fourth check. */
export function requirePlan(user: User): User {
  if (!mayPoll(user)) throw new ProblemError('professional-plan-required');
  return user;
}
