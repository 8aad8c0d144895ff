import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { JwksLocation } from '../accounts/external-tokens.ts';
import { MIN_SECRET_BYTES, secretProblem } from '../accounts/signing-keys.ts';
import { parseHttpUrl } from './addresses.ts';
import { type Parsed, type Parser, right, wrong } from './parsed.ts';

export const parsePath: Parser<string> = (text, cwd) => right(resolve(cwd, text));

const SECRETS_WRITE = `Write base64 of at least ${MIN_SECRET_BYTES} random bytes, such as \`openssl rand -base64 32\` prints; several are separated by spaces or commas.`;

/** The first secret signs, all of them verify, so that keys can be rotated. No message shows any of them. */
export const parseSecrets: Parser<readonly string[]> = (text) => {
  const secrets = text.split(/[\s,]+/).filter((secret) => secret !== '');
  const problems = secrets.map(secretProblem);
  const first = problems.findIndex((problem) => problem !== undefined);
  if (secrets.length === 0) return wrong('it holds no secret', SECRETS_WRITE);
  if (first === -1) return right(secrets);
  return wrong(`secret ${first + 1} of ${secrets.length} ${problems[first]}`, SECRETS_WRITE);
};

const JWKS_WRITE =
  'Write an address such as https://id.example.com/.well-known/jwks.json, or the path of a local file such as ./jwks.json.';

/** A key set of an identity provider, fetched or local. Not shown in messages, it may carry a password. */
export const parseJwksLocation: Parser<JwksLocation> = (text, cwd) => {
  if (/^https?:/i.test(text)) return parseJwksUrl(text);
  if (/^file:/i.test(text)) return parseFileUrl(text, cwd);
  // One letter before the colon is a drive.
  if (/^[a-z][a-z0-9+.-]+:/i.test(text)) return wrong('its scheme is not https:, http: or file:', JWKS_WRITE);
  if (/^[\w-]+(\.[\w-]+)+\//.test(text))
    return wrong('it looks like an address without https://', JWKS_WRITE);
  return right({ kind: 'file', file: resolve(cwd, text) });
};

function parseJwksUrl(text: string): Parsed<JwksLocation> {
  const url = parseHttpUrl(text);
  if (url === undefined) return wrong('it is not a valid address', JWKS_WRITE);
  if (url.username || url.password) return wrong('it carries a user name or a password', JWKS_WRITE);
  return right({ kind: 'url', url: url.href });
}

function parseFileUrl(text: string, cwd: string): Parsed<JwksLocation> {
  if (!/^file:\/\//i.test(text))
    return right({ kind: 'file', file: resolve(cwd, text.slice('file:'.length)) });
  try {
    return right({ kind: 'file', file: fileURLToPath(text) });
  } catch {
    return wrong('it names a file on another host', JWKS_WRITE);
  }
}
