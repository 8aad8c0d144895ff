import { decodeProtectedHeader, errors, type JWTPayload, jwtVerify } from 'jose';
import type { Clock } from '../clock.ts';
import {
  EXTERNAL_ALGORITHMS,
  type ExternalTokens,
  JwksUnavailableError,
  jwksKeys,
} from './external-tokens.ts';
import { OWN_ALGORITHM, OWN_AUDIENCE, OWN_ISSUER, type SigningKeys } from './own-tokens.ts';

export interface VerifiedToken {
  readonly userId: string;
  /** Absent in tokens of an identity provider that gives none; such a token cannot be revoked alone. */
  readonly tokenId: string | undefined;
}

export type Verification =
  | { readonly kind: 'valid'; readonly token: VerifiedToken }
  | { readonly kind: 'invalid' | 'expired' };

/** Says whose token this is. Rejects only when that cannot be found out at the moment. */
export type VerifyToken = (token: string) => Promise<Verification>;

interface Sources {
  readonly keys: SigningKeys;
  readonly external?: ExternalTokens | undefined;
  readonly clock: Clock;
}

const LONGEST_TOKEN = 8 * 1024;
/** Clocks of identity providers differ from ours by a little. Our own do not. */
const EXTERNAL_CLOCK_TOLERANCE_S = 5;

export function makeVerifyToken({ keys, external, clock }: Sources): VerifyToken {
  const ownKeys = new Map(keys.map(({ id, secret }) => [id, secret]));
  const getExternalKey = external && jwksKeys(external);

  /** The key, not the token, decides the algorithm: each source accepts its own and no other. */
  async function verifyBySource(token: string): Promise<JWTPayload | undefined> {
    const base = { currentDate: new Date(clock()), requiredClaims: ['exp', 'sub'] };
    const ownKey = ownKeys.get(decodeProtectedHeader(token).kid ?? '');
    if (ownKey) {
      const own = { ...base, algorithms: [OWN_ALGORITHM], issuer: OWN_ISSUER, audience: OWN_AUDIENCE };
      return (await jwtVerify(token, ownKey, own)).payload;
    }
    if (!external || !getExternalKey) return undefined;
    const { issuer, audience } = external;
    const clockTolerance = EXTERNAL_CLOCK_TOLERANCE_S;
    const foreign = { ...base, algorithms: EXTERNAL_ALGORITHMS, issuer, audience, clockTolerance };
    return (await jwtVerify(token, getExternalKey, foreign)).payload;
  }

  return async (token) => {
    if (token.length > LONGEST_TOKEN) return { kind: 'invalid' };
    try {
      return toVerification(await verifyBySource(token));
    } catch (error) {
      return refusal(error);
    }
  };
}

function toVerification(payload: JWTPayload | undefined): Verification {
  const userId = payload?.sub;
  if (typeof userId !== 'string' || userId === '') return { kind: 'invalid' };
  const tokenId = typeof payload?.jti === 'string' && payload.jti !== '' ? payload.jti : undefined;
  return { kind: 'valid', token: { userId, tokenId } };
}

function refusal(error: unknown): Verification {
  if (error instanceof errors.JWTExpired) return { kind: 'expired' };
  if (error instanceof JwksUnavailableError) throw error;
  // Whatever else is wrong with a token (it is not even one, its signature, its claims) is its sender's fault.
  return { kind: 'invalid' };
}
