import type { TokenScope } from './records.ts';

export const TOKEN_SCOPES = ['leads:read', 'leads:write'] as const satisfies readonly TokenScope[];

/** A token without the claim `scope` may read: all tokens could before there were scopes. */
export const DEFAULT_TOKEN_SCOPES: readonly TokenScope[] = Object.freeze<TokenScope[]>(['leads:read']);

/** One list for each combination: 100,000 cached tokens share a few lists. */
const lists = new Map<string, readonly TokenScope[]>();

/** Parses the claim `scope` of RFC 8693: names separated by spaces. Those of other services are ignored. */
export function parseTokenScopes(claim: string): readonly TokenScope[] {
  const names = claim.split(' ');
  const scopes = TOKEN_SCOPES.filter((scope) => names.includes(scope));
  const key = formatTokenScopes(scopes);
  const known = lists.get(key) ?? Object.freeze(scopes);
  lists.set(key, known);
  return known;
}

export const formatTokenScopes = (scopes: readonly string[]): string => scopes.join(' ');
