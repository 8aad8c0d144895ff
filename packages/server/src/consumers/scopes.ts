/** What the pages of a consumer could have: when its access is widened, it was not sent what came before in other places. */
import type { LeadScope } from '../leads/record.ts';
import type { Gap, ScopeFrom, SentRange } from './store.ts';

export const placeOf = (scope: LeadScope): string | null =>
  scope.level === 'COMPANY' ? null : scope.level === 'BRANCH' ? scope.branchId : scope.departmentId;

const isSame = (a: LeadScope | null, b: LeadScope | null): boolean =>
  a === b ||
  (a !== null &&
    b !== null &&
    a.level === b.level &&
    a.companyId === b.companyId &&
    placeOf(a) === placeOf(b));

/** Whether every lead of the second scope is one of the first. False also if a department may be one of the branch. */
export const includesScope = (scope: LeadScope | null, other: LeadScope): boolean =>
  isSame(scope, other) ||
  (scope !== null && scope.level === 'COMPANY' && scope.companyId === other.companyId);

/** Of the leads at this time. Undefined: no scope was recorded. */
export const scopeAt = (scopes: readonly ScopeFrom[], createdAt: number): ScopeFrom | undefined =>
  scopes.findLast(({ after }) => after === null || after < createdAt);

/** A user's access is changed rarely. What came before the last of so many changes is not known any more. */
const MAX_SCOPES = 10;

export function mergeScopes(
  stored: {
    readonly scopes: readonly ScopeFrom[];
    readonly gaps: readonly Gap[];
    readonly position: number | null;
  },
  polls: {
    readonly scope: LeadScope | undefined;
    readonly sent: readonly SentRange[];
    readonly position: number | null;
  },
): readonly ScopeFrom[] {
  const { scope } = polls;
  if (!scope) return stored.scopes;
  const [only] = stored.scopes;
  if (stored.scopes.length === 1 && only && isSame(only.scope, scope)) return stored.scopes;
  if (!only) return [{ after: null, scope }];
  let scopes = stored.scopes;
  const last = scopes.at(-1);
  const hasMoved = polls.position !== null && (stored.position === null || polls.position > stored.position);
  if (hasMoved && last && !isSame(last.scope, scope)) scopes = [...scopes, { after: stored.position, scope }];
  for (const range of polls.sent) {
    scopes = replace(scopes, range, (known) => (includesScope(known, scope) ? known : scope));
    // Nothing was sent there before.
    for (const gap of stored.gaps) {
      const after = laterStart(gap.after, range.after);
      const through = Math.min(gap.through, range.through);
      if (after === null || after < through) scopes = replace(scopes, { after, through }, () => scope);
    }
  }
  const merged = scopes.filter(
    (one, index) => index === 0 || !isSame(one.scope, scopes[index - 1]?.scope ?? null),
  );
  return merged.length <= MAX_SCOPES
    ? merged
    : [{ after: null, scope: null }, ...merged.slice(1 - MAX_SCOPES)];
}

const laterStart = (a: number | null, b: number | null): number | null =>
  a === null ? b : b === null ? a : Math.max(a, b);

const isBefore = (a: number | null, b: number | null): boolean => b !== null && (a === null || a < b);

/** Changes the scopes of a range of times. */
function replace(
  scopes: readonly ScopeFrom[],
  range: SentRange,
  change: (scope: LeadScope | null) => LeadScope | null,
): readonly ScopeFrom[] {
  return scopes.flatMap(({ after, scope }, index): ScopeFrom[] => {
    const end = scopes[index + 1]?.after ?? Number.POSITIVE_INFINITY;
    const isOutside = !isBefore(after, range.through) || (range.after !== null && range.after >= end);
    if (isOutside) return [{ after, scope }];
    return [
      ...(isBefore(after, range.after) ? [{ after, scope }] : []),
      { after: isBefore(after, range.after) ? range.after : after, scope: change(scope) },
      ...(range.through < end ? [{ after: range.through, scope }] : []),
    ];
  });
}
