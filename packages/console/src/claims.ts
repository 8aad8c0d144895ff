/** What a token tells about itself. Only the service can verify it, so this is for display. */
export interface Claims {
  /** The id of the user. */
  readonly userId: string | undefined;
  /** In milliseconds since 1970. */
  readonly expiresAt: number | undefined;
  readonly scopes: readonly string[];
  /** In the form of the API: the leads of a token with a source are read as webhooks of that source. */
  readonly canSendLeads: boolean;
}

const SOON_MS = 7 * 86_400_000;

/** Soon: within 7 days, so that there is time to ask for another token. */
export function expiryOf(expiresAt: number, now: number): 'later' | 'soon' | 'expired' {
  if (expiresAt <= now) return 'expired';
  return expiresAt - now <= SOON_MS ? 'soon' : 'later';
}

const NO_CLAIMS: Claims = {
  userId: undefined,
  expiresAt: undefined,
  scopes: ['leads:read'],
  canSendLeads: false,
};

export function readClaims(token: string): Claims {
  try {
    const base64 = (token.split('.')[1] ?? '').replaceAll('-', '+').replaceAll('_', '/');
    const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
    const claims: unknown = JSON.parse(new TextDecoder().decode(bytes));
    if (typeof claims !== 'object' || claims === null) return NO_CLAIMS;
    const { sub, exp, scope, source } = claims as Readonly<Record<string, unknown>>;
    const scopes = typeof scope === 'string' ? scope.split(' ').filter(Boolean) : NO_CLAIMS.scopes;
    return {
      userId: typeof sub === 'string' ? sub : undefined,
      expiresAt: typeof exp === 'number' ? exp * 1000 : undefined,
      scopes,
      canSendLeads: scopes.includes('leads:write') && source === undefined,
    };
  } catch {
    return NO_CLAIMS;
  }
}
