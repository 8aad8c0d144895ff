/** What a token tells about itself. Only the service can verify it, so this is for display. */
export interface Claims {
  /** The id of the user. */
  readonly userId: string | undefined;
  /** In milliseconds since 1970. */
  readonly expiresAt: number | undefined;
  readonly scopes: readonly string[];
}

const NO_CLAIMS: Claims = { userId: undefined, expiresAt: undefined, scopes: ['leads:read'] };

export function readClaims(token: string): Claims {
  try {
    const base64 = (token.split('.')[1] ?? '').replaceAll('-', '+').replaceAll('_', '/');
    const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
    const claims: unknown = JSON.parse(new TextDecoder().decode(bytes));
    if (typeof claims !== 'object' || claims === null) return NO_CLAIMS;
    const { sub, exp, scope } = claims as Readonly<Record<string, unknown>>;
    return {
      userId: typeof sub === 'string' ? sub : undefined,
      expiresAt: typeof exp === 'number' ? exp * 1000 : undefined,
      scopes: typeof scope === 'string' ? scope.split(' ').filter(Boolean) : NO_CLAIMS.scopes,
    };
  } catch {
    return NO_CLAIMS;
  }
}
