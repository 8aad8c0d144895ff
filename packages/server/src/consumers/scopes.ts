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

export const isSameScope = (a: LeadScope, b: LeadScope): boolean =>
  a.level === b.level && a.companyId === b.companyId && placeOf(a) === placeOf(b);

/** Whether every lead of the second scope is one of the first. False also if a department may be one of the branch. */
export const includesScope = (scope: LeadScope, other: LeadScope): boolean =>
  isSameScope(scope, other) || (scope.level === 'COMPANY' && scope.companyId === other.companyId);

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
  return scopes.length === 1 && first?.scope && !first.others
    ? formatOnly(first.scope)
    : JSON.stringify(scopes);
};

export function parseScopes(text: string | null): readonly ScopeFrom[] {
  if (text === null) return [];
  const parsed: OnlyScope | readonly ScopeFrom[] = JSON.parse(text);
  return isOnly(parsed) ? [{ after: null, scope: toScope(parsed) }] : parsed;
}

type Scopes = Omit<ScopeFrom, 'after'>;

export const scopesOf = ({ scope, others = [] }: Scopes): readonly LeadScope[] =>
  scope === null ? [] : [scope, ...others];

/** What a consumer was sent of this time was of these scopes. None: it is not known. */
export const scopesAt = (scopes: string | null, createdAt: number): readonly LeadScope[] =>
  parseScopes(scopes)
    .filter(({ after }) => after === null || after < createdAt)
    .slice(-1)
    .flatMap(scopesOf);

/** A user's access is changed rarely. What came before the last of so many changes is not known any more. */
const MAX_SCOPES = 10;

export function mergeScopes(
  stored: Pick<ConsumerPosition, 'scopes' | 'gaps' | 'confirmedThrough' | 'deliveredThrough'>,
  polls: Pick<PollSummary, 'scope' | 'sent' | 'confirmedThrough' | 'deliveredThrough'>,
): string | null {
  const { scope } = polls;
  if (!scope) return stored.scopes;
  const only = formatOnly(scope);
  const from = positionOf(stored);
  // Without a position, nothing was sent before.
  if (stored.scopes === null || stored.scopes === only || from === null) return only;
  let scopes = parseScopes(stored.scopes);
  const last = scopes.at(-1);
  if (isBefore(from, positionOf(polls)) && last && !isSame(last, { scope }))
    scopes = [...scopes, { after: from, scope }];
  for (const range of polls.sent) {
    scopes = replace(scopes, range, (known) => addScope(known, scope));
    // Nothing was sent there before.
    for (const gap of stored.gaps) {
      const after = laterStart(gap.after, range.after);
      const through = Math.min(gap.through, range.through);
      if (after === null || after < through) scopes = replace(scopes, { after, through }, () => ({ scope }));
    }
  }
  const merged = scopes.filter(
    (one, index) => index === 0 || !isSame(one, scopes[index - 1] ?? { scope: null }),
  );
  return formatScopes(
    merged.length <= MAX_SCOPES ? merged : [{ after: null, scope: null }, ...merged.slice(1 - MAX_SCOPES)],
  );
}

const laterStart = (a: number | null, b: number | null): number | null =>
  a === null ? b : b === null ? a : Math.max(a, b);

const isBefore = (a: number | null, b: number | null): boolean => b !== null && (a === null || a < b);

const isSame = (a: Scopes, b: Scopes): boolean => JSON.stringify(scopesOf(a)) === JSON.stringify(scopesOf(b));

/** What was sent of a range once more in this scope. */
function addScope(known: Scopes, scope: LeadScope): Scopes {
  if (scopesOf(known).some((one) => includesScope(one, scope))) return known;
  const others = scopesOf(known).filter((one) => !includesScope(scope, one));
  return { scope, ...(others.length > 0 && { others }) };
}

/** Changes the scopes of a range of times. */
function replace(
  scopes: readonly ScopeFrom[],
  range: SentRange,
  change: (known: Scopes) => Scopes,
): readonly ScopeFrom[] {
  return scopes.flatMap(({ after, ...known }, index): ScopeFrom[] => {
    const end = scopes[index + 1]?.after ?? Number.POSITIVE_INFINITY;
    const isOutside = !isBefore(after, range.through) || (range.after !== null && range.after >= end);
    if (isOutside) return [{ after, ...known }];
    return [
      ...(isBefore(after, range.after) ? [{ after, ...known }] : []),
      { after: isBefore(after, range.after) ? range.after : after, ...change(known) },
      ...(range.through < end ? [{ after: range.through, ...known }] : []),
    ];
  });
}
