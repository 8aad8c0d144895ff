import { hash } from 'node:crypto';
import { JWTExpired } from 'jose/errors';
import { jwtVerify } from 'jose/jwt/verify';
import { LRUCache } from 'lru-cache';
import { type Clock, findTimeZone } from '../lib/clock.ts';
import { isJsonObject } from '../lib/json.ts';
import {
  EXTERNAL_ALGORITHMS,
  type ExternalTokens,
  jwksKeys,
  TokenVerificationUnavailableError,
} from './external-tokens.ts';
import { createOwnVerifiers, MAX_TOKEN_LENGTH } from './own-tokens.ts';
import type { TokenSource, VerifiedToken } from './records.ts';
import type { SigningKeys } from './signing-keys.ts';
import { DEFAULT_TOKEN_SCOPES, parseTokenScopes } from './token-scopes.ts';

export type Verification =
  | { readonly kind: 'valid'; readonly token: VerifiedToken }
  /** Its signature is valid. */
  | { readonly kind: 'expired'; readonly token: VerifiedToken }
  /** Nothing that it says is used: anybody can write it. */
  | { readonly kind: 'invalid' };

/** Rejects with TokenVerificationUnavailableError when the token cannot be verified now. */
export type VerifyToken = (token: string) => Verification | Promise<Verification>;

export interface TokenSources {
  readonly keys: SigningKeys;
  readonly external?: ExternalTokens | undefined;
  readonly clock: Clock;
  /** So many tokens that were used last are cached, and not verified again. Default: as many as fit into 30 MiB, about 100,000. */
  readonly maxCachedTokens?: number;
}

const MAX_CACHED_BYTES = 30 * 1024 * 1024;
/** Clocks of identity providers differ a little from ours. */
const EXTERNAL_CLOCK_TOLERANCE_S = 5;

const INVALID: Verification = { kind: 'invalid' };

/** A token whose signature, issuer and audience are right. Its times are checked at each use. */
interface VerifiedClaims {
  readonly token: VerifiedToken & { readonly expiresAt: number };
  readonly notBefore: number;
  /** The JWKS that it was verified with; undefined for own tokens, whose keys do not change. */
  readonly keySet: object | undefined;
}

/** Of an expired token, which is not cached. */
const NO_KEY_SET = {};

export function makeVerifyToken({ keys, external, clock, maxCachedTokens }: TokenSources): VerifyToken {
  const cache = createTokenCache(maxCachedTokens);
  const findOwnVerifier = createOwnVerifiers(keys);
  const externalVerifier = external && createExternalVerifier(external);

  async function verify(token: string, key: string, nowMs: number): Promise<Verification> {
    if (!hasCanonicalSignature(token)) return INVALID;
    try {
      // The key, not the token, decides the algorithm: own keys and those of the identity provider each accept their own.
      const ownVerifier = findOwnVerifier(token);
      const verified = ownVerifier
        ? readClaims(await ownVerifier(token), undefined)
        : await externalVerifier?.verify(token, nowMs);
      const verification = verified ? checkTimes(verified, nowMs) : INVALID;
      // Rejected tokens are not cached: guessed tokens must not evict good ones.
      if (verified && verification.kind === 'valid') cache?.set(key, verified);
      return verification;
    } catch (error) {
      if (error instanceof TokenVerificationUnavailableError) throw error;
      const expired = error instanceof JWTExpired ? readClaims(error.payload, NO_KEY_SET) : undefined;
      return expired ? { kind: 'expired', token: expired.token } : INVALID;
    }
  }

  return (token) => {
    if (token.length > MAX_TOKEN_LENGTH) return INVALID;
    const nowMs = clock();
    const key = hashToken(token);
    const cached = cache?.get(key);
    const keySet = cached?.keySet;
    if (cached && (!keySet || keySet === externalVerifier?.currentKeySet())) return checkTimes(cached, nowMs);
    return verify(token, key, nowMs);
  };
}

/** 0 entries mean none. */
function createTokenCache(max?: number): LRUCache<string, VerifiedClaims> | undefined {
  if (max === undefined) return new LRUCache({ maxSize: MAX_CACHED_BYTES, sizeCalculation: estimateBytes });
  return max === 0 ? undefined : new LRUCache({ max });
}

/** About what V8 uses for an entry and its key beside the characters of the ids. */
const OVERHEAD_BYTES = 250;

const estimateBytes = ({ token: { userId, tokenId = '' } }: VerifiedClaims): number =>
  OVERHEAD_BYTES + userId.length + tokenId.length;

/** The key in the cache, so that memory holds no tokens. */
const hashToken = (token: string): string => hash('sha256', token, 'binary');

/**
 * A token has one spelling. The signature covers the text of header and claims, but decoders accept several texts for the signature
 * itself: with `=`, with white space, or with another last character that differs in unused bits.
 */
function hasCanonicalSignature(token: string): boolean {
  const signature = token.slice(token.lastIndexOf('.') + 1);
  return signature === Buffer.from(signature, 'base64url').toString('base64url');
}

function createExternalVerifier(external: ExternalTokens) {
  const keys = jwksKeys(external);
  const { issuer, audience } = external;
  return {
    currentKeySet: () => keys.currentSet(),
    async verify(token: string, nowMs: number): Promise<VerifiedClaims | undefined> {
      // Read before the key is looked up: if the set changes meanwhile, the token is verified again at its next use.
      const keySet = keys.currentSet() ?? {};
      const { payload } = await jwtVerify(token, keys.find, {
        algorithms: EXTERNAL_ALGORITHMS,
        issuer,
        audience,
        clockTolerance: EXTERNAL_CLOCK_TOLERANCE_S,
        currentDate: new Date(nowMs),
        requiredClaims: ['exp', 'sub'],
      });
      return readClaims(payload, keySet);
    },
  };
}

/** Undefined if a claim has the wrong type. */
function readClaims(claims: unknown, keySet: object | undefined): VerifiedClaims | undefined {
  if (!isJsonObject(claims)) return undefined;
  const { sub, jti, exp, nbf = 0, iat = 0, scope } = claims;
  if (typeof sub !== 'string' || sub === '') return undefined;
  if (typeof exp !== 'number' || typeof nbf !== 'number' || typeof iat !== 'number') return undefined;
  if (scope !== undefined && typeof scope !== 'string') return undefined;
  const scopes = scope === undefined ? DEFAULT_TOKEN_SCOPES : parseTokenScopes(scope);
  const tokenId = typeof jti === 'string' && jti !== '' ? jti : undefined;
  // Only Leadtap says what a token is for: an identity provider may use the same names for something else.
  const source = keySet ? undefined : parseTokenSource(claims);
  const timeZone = keySet ? undefined : findTimeZone(claims['zoneinfo']);
  const toleranceS = keySet ? EXTERNAL_CLOCK_TOLERANCE_S : 0;
  const token = { userId: sub, tokenId, scopes, expiresAt: (exp + toleranceS) * 1000 };
  return {
    token: { ...token, ...(source && { source }), ...(timeZone !== undefined && { timeZone }) },
    notBefore: (nbf - toleranceS) * 1000,
    keySet,
  };
}

function checkTimes({ token, notBefore }: VerifiedClaims, nowMs: number): Verification {
  const second = Math.floor(nowMs / 1000) * 1000;
  if (notBefore > second) return INVALID;
  return { kind: token.expiresAt <= second ? 'expired' : 'valid', token };
}

/** Reads the claims `source` and `map`. Undefined if the token has none. */
function parseTokenSource({ source, map }: Readonly<Record<string, unknown>>): TokenSource | undefined {
  if (typeof source !== 'string') return undefined;
  const entries = isJsonObject(map) ? Object.entries(map) : [];
  return {
    name: source,
    map: Object.fromEntries(
      entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
    ),
  };
}
