import { createHash, randomBytes } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { decodeSecret, MIN_SECRET_BYTES, secretProblem } from '../lib/signing-secret.ts';
import { hasNoHardLinks, systemCode } from '../lib/system-error.ts';

export interface SigningKey {
  /** The `kid` in the header of a token. */
  readonly id: string;
  readonly secret: Uint8Array;
}

/** The first key signs; all of them verify, so that keys can be rotated while old tokens are valid. */
export type SigningKeys = readonly [SigningKey, ...SigningKey[]];

export const secretsOf = ([first, ...others]: SigningKeys): readonly [Uint8Array, ...Uint8Array[]] => [
  first.secret,
  ...others.map(({ secret }) => secret),
];

/** The ids of the own keys, and the issuer of the identity provider: what signs tokens that are accepted. */
export const acceptedKeysOf = (
  keys: SigningKeys,
  external: { readonly issuer: string } | undefined,
): string[] => [...keys.map(({ id }) => id), ...(external ? [external.issuer] : [])];

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
  /** Create the key file if there is none (the default), or throw. */
  readonly create?: boolean;
}

export async function loadSigningKeys(
  source: SigningKeySource,
  { create = true }: LoadKeyOptions = {},
): Promise<SigningKeys> {
  if ('secrets' in source) return toKeys(source.secrets);
  const text = readKeyFile(source.file) ?? (create ? createKeyFile(source.file) : undefined);
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

function readKeyFile(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw new SigningKeyError('unreadable', 'the signing key file cannot be read', { cause: error });
  }
}

/**
 * Writes a draft and links it to the final name: two commands that start at the same time use one key, and neither reads a
 * half-written file.
 */
function createKeyFile(file: string): string {
  const draft = `${file}.${randomBytes(6).toString('hex')}`;
  const secret = `${randomBytes(MIN_SECRET_BYTES).toString('base64url')}\n`;
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    writeDraft(draft, secret);
    linkDraft(draft, file, secret);
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new SigningKeyError('unwritable', 'the signing key file cannot be made', { cause: error });
  }
}

/** On a full disk the file is created but not written. */
function writeDraft(draft: string, secret: string): void {
  try {
    writeFileSync(draft, secret, { mode: 0o600, flush: true });
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}

function linkDraft(draft: string, file: string, secret: string): void {
  try {
    linkSync(draft, file);
  } catch (error) {
    if (hasNoHardLinks(error)) writeUnlinked(file, secret);
    // Otherwise another command has created the file meanwhile, and its key is used.
    else if (systemCode(error) !== 'EEXIST') throw error;
  } finally {
    unlinkSync(draft);
  }
}

/** Still one key for all. A command that starts at the same moment may find the file empty, and fails with a message. */
function writeUnlinked(file: string, secret: string): void {
  try {
    writeFileSync(file, secret, { mode: 0o600, flag: 'wx', flush: true });
  } catch (error) {
    if (systemCode(error) !== 'EEXIST') throw error;
  }
}
