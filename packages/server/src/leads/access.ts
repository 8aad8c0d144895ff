import { PROFESSIONAL, type User } from '../accounts/records.ts';
import type { Account } from '../accounts/store.ts';
import type { Dialect } from '../sql/sql.ts';
import type { LeadScope } from './record.ts';

/** The part of a user that a poll needs. */
export type PollingUser = Omit<User, 'email' | 'name'>;

/**
 * The leads that a user may see: COMPANY all of the company, BRANCH those of the branch, DEPARTMENT those of the department. A
 * lead without a branch is therefore visible at company level only. Undefined if the user has no branch or department for the
 * level: no access is the safe default.
 */
export function scopeOf(
  user: Pick<PollingUser, 'companyId' | 'accessLevel' | 'branchId' | 'departmentId'>,
): LeadScope | undefined {
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

/** Where a lead or a user belongs. */
export type Place = Pick<User, 'companyId' | 'branchId' | 'departmentId'>;

/** Whether the scope contains a lead at this place. */
export function isInScope(scope: LeadScope, place: Place): boolean {
  if (scope.companyId !== place.companyId) return false;
  switch (scope.level) {
    case 'COMPANY':
      return true;
    case 'BRANCH':
      return scope.branchId === place.branchId;
    case 'DEPARTMENT':
      return scope.departmentId === place.departmentId;
  }
}

/** Whether this is the scope that the user has. */
const hasScope = (user: PollingUser, scope: LeadScope): boolean =>
  user.accessLevel === scope.level && isInScope(scope, user);

/** Whether the account may still write to the scope. */
export const mayWrite = ({ isRevoked, user }: Account, userId: string, scope: LeadScope): boolean =>
  !isRevoked && user?.id === userId && hasScope(user, scope);

/** Whether the user may see the lead. */
export function maySee(user: PollingUser, lead: Place): boolean {
  const scope = scopeOf(user);
  return scope !== undefined && isInScope(scope, lead);
}

export function seeSameLeads(user: PollingUser, other: PollingUser): boolean {
  const scope = scopeOf(user);
  return scope !== undefined && hasScope(other, scope);
}

export const mayPoll = (user: PollingUser): boolean => user.plan === PROFESSIONAL;

/** The leads that the polls of a user return. Undefined if the user may not poll. */
export const pollScopeOf = (user: PollingUser): LeadScope | undefined =>
  mayPoll(user) ? scopeOf(user) : undefined;

/**
 * `scopeOf` in SQL: selects from the leads `l` that the user of a row, which has this alias, may see. Each level is a range of one
 * index. Null if there is no user.
 */
export function selectVisibleLeads(
  dialect: Dialect,
  user: string,
  select: (leads: string) => string,
): string {
  const levels = leadsByLevel(dialect, user).map(
    ({ level, leads }) => `WHEN '${level}' THEN (${select(leads)})`,
  );
  return `CASE ${user}.access_level ${levels.join(' ')} END`;
}

/** The same for a query that returns rows of the one column `value`. At most one of its parts returns any. */
export const unionVisibleLeads = (
  dialect: Dialect,
  user: string,
  select: (leads: string) => string,
): string =>
  leadsByLevel(dialect, user)
    .map(
      ({ level, leads }) =>
        `SELECT value FROM (${select(`${leads} AND ${user}.access_level = '${level}'`)}) AS ${level}`,
    )
    .join(' UNION ALL ');

function leadsByLevel({ indexedBy }: Dialect, user: string) {
  const leadsOf = (level: User['accessLevel'], index: string, place: string) => ({
    level,
    leads: `leadtap.leads AS l ${index} WHERE l.company_id = ${user}.company_id ${place}`,
  });
  return [
    leadsOf('COMPANY', '', ''),
    leadsOf('BRANCH', indexedBy('leads_by_branch'), `AND l.branch_id = ${user}.branch_id`),
    leadsOf('DEPARTMENT', indexedBy('leads_by_department'), `AND l.department_id = ${user}.department_id`),
  ];
}
