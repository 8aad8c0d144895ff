import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto';
import { isJsonObject } from '../json-object.ts';
import { OWN_AUDIENCE, OWN_ISSUER, ownHeader, type SigningKeys } from './own-tokens.ts';

export interface OwnClaims {
  readonly sub: string;
  readonly jti: string;
  readonly exp: number;
}

/**
 * Says at once that a token is one that `issueToken` made with one of the keys, and is good now. It knows just that one
 * form, header included, and only ever says yes: what is otherwise, or not good, is left to `jose`. That takes ten times
 * as long, because it waits for another thread, and an instance meets more tokens than it can remember.
 */
export function makeOwnTokenCheck(keys: SigningKeys): (token: string, nowS: number) => OwnClaims | undefined {
  const known = keys.map((key) => ({
    begins: `${Buffer.from(JSON.stringify(ownHeader(key))).toString('base64url')}.`,
    secret: createSecretKey(key.secret),
  }));
  return (token, nowS) => {
    const key = known.find(({ begins }) => token.startsWith(begins));
    if (!key) return undefined;
    const signatureAt = token.lastIndexOf('.');
    const signed = token.slice(0, signatureAt);
    if (!isSignature(token.slice(signatureAt + 1), signed, key.secret)) return undefined;
    const claims = parse(signed.slice(key.begins.length));
    return isGood(claims, nowS) ? claims : undefined;
  };
}

/** Compared as text: decoding would take several texts for the same signature. */
function isSignature(text: string, signed: string, secret: KeyObject): boolean {
  const expected = Buffer.from(createHmac('sha256', secret).update(signed).digest('base64url'));
  const given = Buffer.from(text);
  return given.length === expected.length && timingSafeEqual(given, expected);
}

function parse(payload: string): unknown {
  try {
    return JSON.parse(Buffer.from(payload, 'base64url').toString());
  } catch {
    return undefined;
  }
}

function isGood(claims: unknown, nowS: number): claims is OwnClaims {
  if (!isJsonObject(claims)) return false;
  const { iss, aud, sub, jti, iat, exp, nbf } = claims;
  const isOurs = iss === OWN_ISSUER && aud === OWN_AUDIENCE && typeof iat === 'number' && nbf === undefined;
  const names = typeof sub === 'string' && sub !== '' && typeof jti === 'string' && jti !== '';
  return isOurs && names && typeof exp === 'number' && exp > nowS;
}
