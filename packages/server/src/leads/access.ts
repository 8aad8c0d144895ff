import type { Scope, User } from '../store/records.ts';

/**
 * Which leads a user sees: COMPANY all of the company, BRANCH those of the branch, DEPARTMENT those of the
 * department. A lead without a branch is therefore seen at company level only. Undefined when the user's
 * level names a place that the user does not have: nothing is safer to show than nothing.
 */
export function scopeOf(user: User): Scope | undefined {
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

/** Only users on this plan may poll. */
export const mayPoll = (user: User): boolean => user.plan === 'PROFESSIONAL';
