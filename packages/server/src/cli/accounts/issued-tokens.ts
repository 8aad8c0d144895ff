/** Tokens that commands sign and record. */
import { issueToken, type TokenGrant } from '../../accounts/own-tokens.ts';
import type { IssuedToken } from '../../accounts/records.ts';
import type { SigningKeys } from '../../accounts/signing-keys.ts';
import { DEFAULT_TOKEN_SCOPES } from '../../accounts/token-scopes.ts';
import { MAX_TOKEN_LENGTH } from '../../accounts/tokens.ts';
import type { Store } from '../../store/store.ts';
import { parseDuration } from '../command.ts';
import { Failure } from '../failure.ts';

const MINUTE_MS = 60_000;
export const DAY_MS = 24 * 60 * MINUTE_MS;

export const parseLifetime = parseDuration(
  MINUTE_MS,
  10 * 365 * DAY_MS,
  'Write 30m, 12h, 90d or 1y: from one minute to ten years.',
);

export const toIssued = (
  { tokenId, userId, issuedAt, expiresAt, scopes = DEFAULT_TOKEN_SCOPES, source, timeZone }: TokenGrant,
  [{ id: keyId }]: SigningKeys,
  name: string | null,
): IssuedToken => ({
  ...{ id: tokenId, userId, name, issuedAt, expiresAt, scopes, keyId },
  settings: { ...(source && { source }), ...(timeZone !== undefined && { timeZone }) },
});

/** Signs tokens, and records them before anybody has them, so that each one can be revoked. */
export async function issueRecorded(
  store: Store,
  keys: SigningKeys,
  grants: readonly TokenGrant[],
  name: string | null,
): Promise<readonly { readonly grant: TokenGrant; readonly token: string }[]> {
  const issued = await Promise.all(
    grants.map(async (grant) => ({ grant, token: await issueToken(keys, grant) })),
  );
  // Web servers and Leadtap refuse longer headers.
  if (issued.some(({ token }) => token.length > MAX_TOKEN_LENGTH))
    throw new Failure('usage', 'the token would be too long', 'Use fewer or shorter --map.');
  await store.recordTokens(grants.map((grant) => toIssued(grant, keys, name)));
  return issued;
}

/** People paste a whole token by mistake. It is a secret, so the message does not show it. */
export function unknownToken(tokenId: string): Failure {
  const fix = '`leadtap token list --user ID` shows the ids.';
  if (/^[\w-]+\.[\w-]+\.[\w-]*$/.test(tokenId))
    return new Failure('bad-input', 'this is a token, not the id of a token', fix);
  return new Failure(
    'not-found',
    `no token with the id ${tokenId} was issued here`,
    `${fix} For a token of your identity provider, add --force.`,
  );
}
