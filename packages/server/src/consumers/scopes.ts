/** What the pages of a consumer could have: when its access is widened, it was not sent what came before in other places. */
import type { LeadScope } from '../leads/record.ts';
import {
  type ConsumerPosition,
  type PollSummary,
  positionOf,
  type ScopeFrom,
  type SentRange,
} from './store.ts';

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

/** The usual scopes: one for all times. Equal ones have equal texts, so that a write compares them and parses nothing. */
export const formatOnly = (scope: LeadScope): string =>
  `["${scope.level}",${JSON.stringify(scope.companyId)},${JSON.stringify(placeOf(scope) ?? '')}]`;

type OnlyScope = readonly [LeadScope['level'], companyId: string, placeId: string];

const isOnly = (parsed: OnlyScope | readonly ScopeFrom[]): parsed is OnlyScope =>
  typeof parsed[0] === 'string';

function toScope([level, companyId, placeId]: OnlyScope): LeadScope {
  switch (level) {
    case 'COMPANY':
      return { level, companyId };
    case 'BRANCH':
      return { level, companyId, branchId: placeId };
    case 'DEPARTMENT':
      return { level, companyId, departmentId: placeId };
  }
}

const formatScopes = (scopes: readonly ScopeFrom[]): string => {
  const [first] = scopes;
  return scopes.length === 1 && first?.scope ? formatOnly(first.scope) : JSON.stringify(scopes);
};

export function parseScopes(text: string | null): readonly ScopeFrom[] {
  if (text === null) return [];
  const parsed: OnlyScope | readonly ScopeFrom[] = JSON.parse(text);
  return isOnly(parsed) ? [{ after: null, scope: toScope(parsed) }] : parsed;
}

/** What a consumer was sent of this time was of this scope. Null: it is not known. */
export const scopeAt = (scopes: string | null, createdAt: number): LeadScope | null =>
  parseScopes(scopes).findLast(({ after }) => after === null || after < createdAt)?.scope ?? null;

/** A user's access is changed rarely. What came before the last of so many changes is not known any more. */
const MAX_SCOPES = 10;

export function mergeScopes(
  stored: Pick<ConsumerPosition, 'scopes' | 'gaps' | 'confirmedThrough' | 'deliveredThrough'>,
  polls: Pick<PollSummary, 'scope' | 'sent' | 'confirmedThrough' | 'deliveredThrough'>,
): string | null {
  const { scope } = polls;
  if (!scope) return stored.scopes;
  const only = formatOnly(scope);
  if (stored.scopes === null || stored.scopes === only) return only;
  let scopes = parseScopes(stored.scopes);
  const last = scopes.at(-1);
  const from = positionOf(stored);
  if (isBefore(from, positionOf(polls)) && last && !isSame(last.scope, scope))
    scopes = [...scopes, { after: from, scope }];
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
  return formatScopes(
    merged.length <= MAX_SCOPES ? merged : [{ after: null, scope: null }, ...merged.slice(1 - MAX_SCOPES)],
  );
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
