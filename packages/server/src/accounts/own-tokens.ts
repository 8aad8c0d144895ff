import { createHash, randomBytes } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { SignJWT } from 'jose';
import { decodeSecret, MIN_SECRET_BYTES, secretProblem } from '../signing-secret.ts';
import { systemCode } from '../system-error.ts';

/** Tokens that `leadtap token issue` makes are signed with a secret that only this installation knows. */
export const OWN_ALGORITHM = 'HS256';
export const OWN_ISSUER = 'leadtap';
export const OWN_AUDIENCE = 'leadtap';

export interface SigningKey {
  /** Names the key in a token's header, so that a token of another key is told at once. */
  readonly id: string;
  readonly secret: Uint8Array;
}

/** The first key signs; all of them verify, so that a key can be changed while old tokens still work. */
export type SigningKeys = readonly [SigningKey, ...SigningKey[]];

export type SigningKeySource = { readonly secrets: readonly string[] } | { readonly file: string };

export type SigningKeyProblem = 'missing' | 'unreadable' | 'unwritable' | 'invalid';

export class SigningKeyError extends Error {
  override readonly name = 'SigningKeyError';
  readonly reason: SigningKeyProblem;

  constructor(reason: SigningKeyProblem, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}

export interface LoadKeyOptions {
  /** Make the key file if there is none (the default), or throw. */
  readonly create?: boolean;
}

export async function loadSigningKeys(
  source: SigningKeySource,
  { create: mayCreate = true }: LoadKeyOptions = {},
): Promise<SigningKeys> {
  if ('secrets' in source) return toKeys(source.secrets);
  const text = read(source.file) ?? (mayCreate ? create(source.file) : undefined);
  if (text === undefined) throw new SigningKeyError('missing', 'there is no signing key file');
  return toKeys(text.split(/\s+/).filter(Boolean));
}

function toKeys(secrets: readonly string[]): SigningKeys {
  const [first, ...others] = secrets.map(toKey);
  if (!first) throw new SigningKeyError('invalid', 'the signing key file is empty');
  return [first, ...others];
}

function toKey(text: string): SigningKey {
  const problem = secretProblem(text);
  if (problem !== undefined)
    throw new SigningKeyError(
      'invalid',
      `a signing key ${problem}; it must be base64 of at least ${MIN_SECRET_BYTES} bytes`,
    );
  const secret = decodeSecret(text);
  return { id: createHash('sha256').update(secret).digest('base64url').slice(0, 16), secret };
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw new SigningKeyError('unreadable', 'the signing key file cannot be read', { cause: error });
  }
}

/**
 * Written aside and then linked into place: two commands that start at once agree on one key, and nobody
 * ever reads half of it.
 */
function create(file: string): string {
  const draft = `${file}.${randomBytes(6).toString('hex')}`;
  const secret = `${randomBytes(MIN_SECRET_BYTES).toString('base64url')}\n`;
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    writeDraft(draft, secret);
    unlessThere(() => placeDraft(draft, file, secret));
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new SigningKeyError('unwritable', 'the signing key file cannot be made', { cause: error });
  }
}

/** A full disk lets the file be made, but not be written. */
function writeDraft(draft: string, secret: string): void {
  try {
    writeFileSync(draft, secret, { mode: 0o600, flush: true });
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}

function unlessThere(make: () => void): void {
  try {
    make();
  } catch (error) {
    if (systemCode(error) !== 'EEXIST') throw error;
  }
}

/** File systems such as exFAT, and some of a network or a container, have no hard links. */
const NO_LINKS = ['EPERM', 'ENOTSUP', 'ENOSYS'];

function placeDraft(draft: string, file: string, secret: string): void {
  try {
    linkSync(draft, file);
  } catch (error) {
    if (!NO_LINKS.includes(systemCode(error) ?? '')) throw error;
    // Still one key for all; another command that starts in this very moment may find it empty, and says so.
    writeFileSync(file, secret, { mode: 0o600, flag: 'wx', flush: true });
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

/** The order of the names counts: the check of our own tokens compares the text. */
export const ownHeader = ({ id }: SigningKey) => ({ alg: OWN_ALGORITHM, typ: 'JWT', kid: id });

export function issueToken([key]: SigningKeys, grant: TokenGrant): Promise<string> {
  return new SignJWT()
    .setProtectedHeader(ownHeader(key))
    .setIssuer(OWN_ISSUER)
    .setAudience(OWN_AUDIENCE)
    .setSubject(grant.userId)
    .setJti(grant.tokenId)
    .setIssuedAt(Math.floor(grant.issuedAt / 1000))
    .setExpirationTime(Math.floor(grant.expiresAt / 1000))
    .sign(key.secret);
}
