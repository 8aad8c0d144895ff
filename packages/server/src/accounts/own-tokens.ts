import { createHash, randomBytes } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { SignJWT } from 'jose';

/** Tokens that `leadtap token issue` makes are signed with a secret that only this installation knows. */
export const OWN_ALGORITHM = 'HS256';
export const OWN_ISSUER = 'leadtap';
export const OWN_AUDIENCE = 'leadtap';

const SECRET_BYTES = 32;

export interface SigningKey {
  /** Names the key in a token's header, so that a token of another key is told at once. */
  readonly id: string;
  readonly secret: Uint8Array;
}

/** The first key signs; all of them verify, so that a key can be changed while old tokens still work. */
export type SigningKeys = readonly [SigningKey, ...SigningKey[]];

export type SigningKeySource = { readonly secrets: readonly string[] } | { readonly file: string };

export class SigningKeyError extends Error {
  override readonly name = 'SigningKeyError';
}

export async function loadSigningKeys(source: SigningKeySource): Promise<SigningKeys> {
  if ('secrets' in source) return toKeys(source.secrets);
  return toKeys(readOrCreate(source.file).split(/\s+/).filter(Boolean));
}

/** Decodes a secret written as base64 or base64url; undefined when it is too short to be safe. */
export function decodeSecret(text: string): Uint8Array | undefined {
  if (!/^[A-Za-z0-9+/_-]+={0,2}$/.test(text)) return undefined;
  const secret = Buffer.from(text, 'base64url');
  return secret.length >= SECRET_BYTES ? secret : undefined;
}

function toKeys(secrets: readonly string[]): SigningKeys {
  const [first, ...others] = secrets.map((text) => {
    const secret = decodeSecret(text);
    if (!secret) throw new SigningKeyError(`a signing key must be base64 of at least ${SECRET_BYTES} bytes`);
    return { id: createHash('sha256').update(secret).digest('base64url').slice(0, 16), secret };
  });
  if (!first) throw new SigningKeyError('there is no signing key');
  return [first, ...others];
}

function readOrCreate(file: string): string {
  return read(file) ?? create(file);
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw new SigningKeyError('the signing key file cannot be read', { cause: error });
  }
}

/**
 * Written aside and then linked into place: two commands that start at once agree on one key, and nobody
 * ever reads half of it.
 */
function create(file: string): string {
  const draft = `${file}.${randomBytes(6).toString('hex')}`;
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    writeFileSync(draft, `${randomBytes(SECRET_BYTES).toString('base64url')}\n`, {
      mode: 0o600,
      flush: true,
    });
    moveUnlessThere(draft, file);
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new SigningKeyError('the signing key file cannot be made', { cause: error });
  }
}

function moveUnlessThere(draft: string, file: string): void {
  try {
    linkSync(draft, file);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  } finally {
    unlinkSync(draft);
  }
}

export interface TokenGrant {
  readonly userId: string;
  readonly tokenId: string;
  readonly issuedAt: number;
  readonly expiresAt: number;
}

export function issueToken([key]: SigningKeys, grant: TokenGrant): Promise<string> {
  return new SignJWT()
    .setProtectedHeader({ alg: OWN_ALGORITHM, typ: 'JWT', kid: key.id })
    .setIssuer(OWN_ISSUER)
    .setAudience(OWN_AUDIENCE)
    .setSubject(grant.userId)
    .setJti(grant.tokenId)
    .setIssuedAt(Math.floor(grant.issuedAt / 1000))
    .setExpirationTime(Math.floor(grant.expiresAt / 1000))
    .sign(key.secret);
}
