import { createSecretKey } from 'node:crypto';
import { decodeProtectedHeader } from 'jose/decode/protected_header';
import { compactVerify } from 'jose/jws/compact/verify';
import { SignJWT } from 'jose/jwt/sign';
import { isJsonObject } from '../lib/json.ts';
import type { TokenScope, TokenSource } from './records.ts';
import type { SigningKey, SigningKeys } from './signing-keys.ts';
import { formatTokenScopes } from './token-scopes.ts';

/** Tokens of `leadtap token issue`, signed with a secret that only this installation has. */
const ALGORITHM = 'HS256';
const ISSUER = 'leadtap';
const AUDIENCE = 'leadtap';

export const MAX_TOKEN_LENGTH = 8 * 1024;

export interface TokenGrant {
  readonly userId: string;
  readonly tokenId: string;
  readonly issuedAt: number;
  readonly expiresAt: number;
  /** Absent: the token may read leads. */
  readonly scopes?: readonly TokenScope[];
  /** Absent: the token sends leads in the form of the API. */
  readonly source?: TokenSource;
  /** Of times without an offset in the leads that are sent with it. Absent: that of the service. */
  readonly timeZone?: string;
}

export const issueToken = ([key]: SigningKeys, grant: TokenGrant): Promise<string> =>
  new SignJWT({
    iss: ISSUER,
    aud: AUDIENCE,
    sub: grant.userId,
    jti: grant.tokenId,
    iat: Math.floor(grant.issuedAt / 1000),
    exp: Math.floor(grant.expiresAt / 1000),
    ...(grant.scopes && { scope: formatTokenScopes(grant.scopes) }),
    ...(grant.source && { source: grant.source.name, map: grant.source.map }),
    ...(grant.timeZone && { zoneinfo: grant.timeZone }),
  })
    .setProtectedHeader({ alg: ALGORITHM, typ: 'JWT', kid: key.id })
    .sign(createSecretKey(key.secret));

/**
 * Checks the signature, issuer and audience of a token and returns its claims; rejects if the signature is wrong. The times are left
 * to the caller: what an expired token says counts, too.
 */
export type VerifyOwnToken = (token: string) => Promise<unknown>;

/** Finds the verifier by the key that a token names. Undefined if it is none of these keys. */
export function createOwnVerifiers(keys: SigningKeys): (token: string) => VerifyOwnToken | undefined {
  const byKeyId = new Map(keys.map((key) => [key.id, createOwnVerifier(key)]));
  return (token) => byKeyId.get(decodeProtectedHeader(token).kid ?? '');
}

/** The id of the key that has signed a verified token, or its issuer. Null: neither is accepted any more. */
export function keyIdOf(
  token: string,
  keys: SigningKeys,
  external: { readonly issuer: string } | undefined,
): string | null {
  const { kid } = decodeProtectedHeader(token);
  return keys.find(({ id }) => id === kid)?.id ?? external?.issuer ?? null;
}

function createOwnVerifier({ secret }: SigningKey): VerifyOwnToken {
  const key = createSecretKey(secret);
  return async (token) => {
    const { payload } = await compactVerify(token, key, { algorithms: [ALGORITHM] });
    const claims: unknown = JSON.parse(Buffer.from(payload).toString());
    return isJsonObject(claims) && claims['iss'] === ISSUER && [claims['aud']].flat().includes(AUDIENCE)
      ? claims
      : undefined;
  };
}
