import { decodeProtectedHeader, errors, type JWTPayload, jwtVerify } from 'jose';
import type { Clock } from '../clock.ts';
import { EXTERNAL_ALGORITHMS, type ExternalTokens, jwksKeys } from './external-tokens.ts';
import { OWN_ALGORITHM, OWN_AUDIENCE, OWN_ISSUER, type SigningKeys } from './own-tokens.ts';
import { TokenVerificationUnavailableError, type Verification, type VerifyToken } from './verification.ts';

export interface TokenSources {
  readonly keys: SigningKeys;
  readonly external?: ExternalTokens | undefined;
  readonly clock: Clock;
}

const LONGEST_TOKEN = 8 * 1024;
/** Clocks of identity providers differ from ours by a little. Our own do not. */
const EXTERNAL_CLOCK_TOLERANCE_S = 5;

export function makeVerifyToken({ keys, external, clock }: TokenSources): VerifyToken {
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
  if (error instanceof TokenVerificationUnavailableError) throw error;
  // Whatever else is wrong with a token (it is not even one, its signature, its claims) is its sender's fault.
  return { kind: 'invalid' };
}
