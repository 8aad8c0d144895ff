import { PROFESSIONAL, type User } from '../accounts/records.ts';
import { hasLeadScope } from './placement.ts';
import type { LeadScope } from './record.ts';

/** The part of a user that a poll needs. */
export type PollingUser = Omit<User, 'email' | 'name'>;

/**
 * The leads that a user may see: COMPANY all of the company, BRANCH those of the branch, DEPARTMENT those of the department. A
 * lead without a branch is therefore visible at company level only. Undefined if the user has no branch or department for the
 * level: no access is the safe default.
 */
export function scopeOf(user: PollingUser): LeadScope | undefined {
  const { companyId, branchId, departmentId } = user;
  switch (user.accessLevel) {
    case 'COMPANY':
      return { level: 'COMPANY', companyId };
    case 'BRANCH':
      return branchId === null ? undefined : { level: 'BRANCH', companyId, branchId };
    case 'DEPARTMENT':
      return departmentId === null ? undefined : { level: 'DEPARTMENT', companyId, departmentId };
  }
}

export function seeSameLeads(user: PollingUser, other: PollingUser): boolean {
  const scope = scopeOf(user);
  return scope !== undefined && hasLeadScope(other, scope);
}

export const mayPoll = (user: PollingUser): boolean => user.plan === PROFESSIONAL;

/** The leads that the polls of a user return. Undefined if the user may not poll. */
export const pollScopeOf = (user: PollingUser): LeadScope | undefined =>
  mayPoll(user) ? scopeOf(user) : undefined;
