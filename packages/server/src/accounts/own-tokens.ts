import { createSigner, createVerifier } from 'fast-jwt';
import type { SigningKey, SigningKeys } from './signing-keys.ts';

/** Tokens of `leadtap token issue`, signed with a secret that only this installation has. */
const ALGORITHM = 'HS256';
const ISSUER = 'leadtap';
const AUDIENCE = 'leadtap';

export interface TokenGrant {
  readonly userId: string;
  readonly tokenId: string;
  readonly issuedAt: number;
  readonly expiresAt: number;
}

export async function issueToken([{ id, secret }]: SigningKeys, grant: TokenGrant): Promise<string> {
  const sign = createSigner({ algorithm: ALGORITHM, key: toBuffer(secret), kid: id });
  return sign({
    iss: ISSUER,
    aud: AUDIENCE,
    sub: grant.userId,
    jti: grant.tokenId,
    iat: Math.floor(grant.issuedAt / 1000),
    exp: Math.floor(grant.expiresAt / 1000),
  });
}

/**
 * Checks the signature, issuer and audience of a token and returns its claims; throws if they are wrong. The times are left to the
 * caller, because fast-jwt checks them only against the system clock.
 */
export type VerifyOwnToken = (token: string) => unknown;

export const createOwnTokenVerifier = ({ secret }: SigningKey): VerifyOwnToken =>
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
