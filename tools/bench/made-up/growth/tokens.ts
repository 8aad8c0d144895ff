import { createHash, createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';

/**
 * Signs tokens as `leadtap token issue` does, with the key that it made: a million of them in seconds instead of
 * minutes. The service cannot tell the difference.
 */
export function tokenSigner(keyFile: string): (userId: string) => string {
  const secret = Buffer.from(readFileSync(keyFile, 'utf8').trim(), 'base64url');
  const kid = createHash('sha256').update(secret).digest('base64url').slice(0, 16);
  const header = base64url({ alg: 'HS256', typ: 'JWT', kid });
  const iat = Math.floor(Date.now() / 1000);
  const rest = { iat, exp: iat + 90 * 24 * 3600 };
  return (userId) => {
    const claims = { iss: 'leadtap', aud: 'leadtap', sub: userId, jti: `token-${userId}`, ...rest };
    const signed = `${header}.${base64url(claims)}`;
    return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
  };
}

const base64url = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
