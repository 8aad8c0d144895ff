import { createSigner, createVerifier } from 'fast-jwt';
import { decodeProtectedHeader } from 'jose/decode/protected_header';
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

const createOwnSigner = ({ id, secret }: SigningKey) =>
  createSigner({ algorithm: ALGORITHM, key: toBuffer(secret), kid: id });

export async function issueToken([key]: SigningKeys, grant: TokenGrant): Promise<string> {
  return createOwnSigner(key)({
    iss: ISSUER,
    aud: AUDIENCE,
    sub: grant.userId,
    jti: grant.tokenId,
    iat: Math.floor(grant.issuedAt / 1000),
    exp: Math.floor(grant.expiresAt / 1000),
    ...(grant.scopes && { scope: formatTokenScopes(grant.scopes) }),
    ...(grant.source && { source: grant.source.name, map: grant.source.map }),
    ...(grant.timeZone && { zoneinfo: grant.timeZone }),
  });
}

/**
 * Checks the signature, issuer and audience of a token and returns its claims; throws if they are wrong. The times are left to the
 * caller, because fast-jwt checks them only against the system clock.
 */
export type VerifyOwnToken = (token: string) => unknown;

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

const createOwnVerifier = ({ secret }: SigningKey): VerifyOwnToken =>
  createVerifier({
    algorithms: [ALGORITHM],
    key: toBuffer(secret),
    allowedIss: ISSUER,
    allowedAud: AUDIENCE,
    requiredClaims: ['iss', 'aud', 'sub', 'exp'],
    ignoreExpiration: true,
    ignoreNotBefore: true,
    cache: false,
  });

const toBuffer = (secret: Uint8Array): Buffer =>
  Buffer.from(secret.buffer, secret.byteOffset, secret.byteLength);
