import { decodeProtectedHeader, errors, type JWTPayload, jwtVerify } from 'jose';
import type { Clock } from '../clock.ts';
import { EXTERNAL_ALGORITHMS, type ExternalTokens, jwksKeys } from './external-tokens.ts';
import { makeOwnTokenCheck } from './own-token-check.ts';
import { OWN_ALGORITHM, OWN_AUDIENCE, OWN_ISSUER, type SigningKeys } from './own-tokens.ts';
import { type GoodToken, nameOf, RememberedTokens } from './remembered-tokens.ts';
import { TokenVerificationUnavailableError, type Verification, type VerifyToken } from './verification.ts';

export interface TokenSources {
  readonly keys: SigningKeys;
  readonly external?: ExternalTokens | undefined;
  readonly clock: Clock;
  /** So many good tokens are remembered and not verified again. Default 16,384, which take about 7 MB. */
  readonly mostRemembered?: number;
}

const LONGEST_TOKEN = 8 * 1024;
const MOST_REMEMBERED = 16_384;
/** Clocks of identity providers differ from ours by a little. Our own do not. */
const EXTERNAL_CLOCK_TOLERANCE_S = 5;

export function makeVerifyToken(sources: TokenSources): VerifyToken {
  const { keys, clock, mostRemembered = MOST_REMEMBERED } = sources;
  const remembered = new RememberedTokens(mostRemembered);
  const checkOwnToken = makeOwnTokenCheck(keys);
  const { verify, currentKeySet } = makeVerifier(sources);

  function remember(name: string, good: GoodToken | undefined, now: number): Verification {
    if (!good) return { kind: 'invalid' };
    remembered.add(name, good, now);
    return good.verification;
  }

  return (token) => {
    if (token.length > LONGEST_TOKEN) return { kind: 'invalid' };
    const now = clock();
    const name = nameOf(token);
    const known = remembered.find(name, now, currentKeySet());
    if (known) return known;
    const own = checkOwnToken(token, Math.floor(now / 1000));
    if (own) return remember(name, toGoodToken(own, 0, undefined), now);
    if (!isCanonical(token)) return { kind: 'invalid' };
    return verify(token, now).then((good) => remember(name, good, now), refusal);
  };
}

/**
 * Whether the token is written as its issuer wrote it. `jose` decodes leniently: it accepts `=` at the end of a part, white
 * space, and other last characters that differ in unused bits. Each of these spellings would take a place in the cache.
 */
const isCanonical = (token: string): boolean => token.split('.').every((part) => part === recode(part));

const recode = (part: string): string => Buffer.from(part, 'base64url').toString('base64url');

/** Verifies any token with `jose`. */
function makeVerifier({ keys, external }: TokenSources) {
  const ownKeys = new Map(keys.map(({ id, secret }) => [id, secret]));
  const externalKeys = external && jwksKeys(external);
  const currentKeySet = () => externalKeys?.currentSet();

  /** The key, not the token, decides the algorithm: each source accepts its own and no other. */
  async function verify(token: string, now: number): Promise<GoodToken | undefined> {
    const base = { currentDate: new Date(now), requiredClaims: ['exp', 'sub'] };
    const ownKey = ownKeys.get(decodeProtectedHeader(token).kid ?? '');
    if (ownKey) {
      const own = { ...base, algorithms: [OWN_ALGORITHM], issuer: OWN_ISSUER, audience: OWN_AUDIENCE };
      return toGoodToken((await jwtVerify(token, ownKey, own)).payload, 0, undefined);
    }
    if (!external || !externalKeys) return undefined;
    const { issuer, audience } = external;
    const clockTolerance = EXTERNAL_CLOCK_TOLERANCE_S;
    const foreign = { ...base, algorithms: EXTERNAL_ALGORITHMS, issuer, audience, clockTolerance };
    // Read before the key is found: where the set changes meanwhile, the token is verified once more, with the new one.
    const keySet = currentKeySet() ?? {};
    return toGoodToken((await jwtVerify(token, externalKeys.find, foreign)).payload, clockTolerance, keySet);
  }
  return { verify, currentKeySet };
}

function toGoodToken(
  { sub, jti, exp = 0, nbf = 0 }: Pick<JWTPayload, 'sub' | 'jti' | 'exp' | 'nbf'>,
  toleranceS: number,
  keySet: object | undefined,
): GoodToken | undefined {
  if (typeof sub !== 'string' || sub === '') return undefined;
  const tokenId = typeof jti === 'string' && jti !== '' ? jti : undefined;
  const verification = { kind: 'valid', token: { userId: sub, tokenId } } as const;
  return { verification, expiresAt: exp, notBefore: nbf, toleranceS, keySet };
}

function refusal(error: unknown): Verification {
  if (error instanceof errors.JWTExpired) return { kind: 'expired' };
  if (error instanceof TokenVerificationUnavailableError) throw error;
  // Whatever else is wrong with a token (it is not even one, its signature, its claims) is its sender's fault.
  return { kind: 'invalid' };
}
