import { readFileSync } from 'node:fs';
import type { JSONWebKeySet, JWKSCacheInput, JWTVerifyGetKey } from 'jose';
import { JWKSNoMatchingKey } from 'jose/errors';
import { createLocalJWKSet } from 'jose/jwks/local';
import { createRemoteJWKSet, customFetch, jwksCache } from 'jose/jwks/remote';
import { isJsonObject } from '../lib/json.ts';

/** Where the public keys are. */
export type JwksLocation =
  | { readonly kind: 'url'; readonly url: string }
  | { readonly kind: 'file'; readonly file: string };

/** The identity provider of the operator. */
export interface ExternalTokens {
  readonly jwks: JwksLocation;
  readonly issuer: string;
  readonly audience: string;
  readonly timing?: Partial<JwksTiming>;
}

export interface JwksTiming {
  readonly fetchTimeoutMs: number;
  /** Unknown keys cause at most one fetch in this time, however many tokens have one. */
  readonly cooldownMs: number;
  /** The keys are fetched again after this time. */
  readonly freshForMs: number;
  /** The pause after a failed fetch, so that not every request repeats it. */
  readonly pauseAfterFailureMs: number;
}

const TIMING: JwksTiming = {
  fetchTimeoutMs: 5_000,
  cooldownMs: 30_000,
  freshForMs: 10 * 60_000,
  pauseAfterFailureMs: 2_000,
};

/** Public-key algorithms only: otherwise a public key could be used as a shared secret. */
export const EXTERNAL_ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];

/** The token can be neither accepted nor rejected now: the client gets 503 and retries. */
export class TokenVerificationUnavailableError extends Error {
  override readonly name: string = 'TokenVerificationUnavailableError';
}

export class JwksUnavailableError extends TokenVerificationUnavailableError {
  override readonly name = 'JwksUnavailableError';
}

/** The keys of the identity provider. */
export interface ExternalKeys {
  /** Finds the key of a token. Throws JwksUnavailableError if the keys cannot be fetched. */
  readonly find: JWTVerifyGetKey;
  /**
   * The current key set: another object after each fetch, and undefined when the next token causes a fetch. A token that was
   * verified with one set is valid as long as this is the same object.
   */
  readonly currentSet: () => object | undefined;
}

export function jwksKeys({ jwks, timing }: ExternalTokens): ExternalKeys {
  if (jwks.kind === 'url') return fetchedKeys(jwks.url, { ...TIMING, ...timing });
  const set = parseJwks(readText(jwks.file));
  return { find: createLocalJWKSet(set), currentSet: () => set };
}

function fetchedKeys(url: string, timing: JwksTiming): ExternalKeys {
  const { fetchTimeoutMs, cooldownMs, freshForMs, pauseAfterFailureMs } = timing;
  const fetcher = new JwksFetcher(pauseAfterFailureMs);
  // The library stores each key set here when it begins to use it.
  const current: JWKSCacheInput = {};
  const findKey = createRemoteJWKSet(new URL(url), {
    timeoutDuration: fetchTimeoutMs,
    cooldownDuration: cooldownMs,
    cacheMaxAge: freshForMs,
    [customFetch]: (address, init) => fetcher.fetch(address, init),
    [jwksCache]: current,
  });
  const find: JWTVerifyGetKey = async (header, token) => {
    try {
      return await findKey(header, token);
    } catch (error) {
      // The provider may have rotated its keys while they could not be fetched.
      if (error instanceof JWKSNoMatchingKey && fetcher.failure) throw fetcher.failure;
      throw error;
    }
  };
  return { find, currentSet: () => (findKey.fresh ? current['jwks'] : undefined) };
}

/**
 * While the provider is unavailable, the keys of the last successful fetch are used: its outage must not become ours. A key that
 * it withdraws is rejected after the next successful fetch.
 */
class JwksFetcher {
  readonly #pauseAfterFailureMs: number;
  #lastGood: string | undefined;
  #pauseUntil = 0;
  /** The error of the last fetch; undefined if it was successful. */
  failure: JwksUnavailableError | undefined;

  constructor(pauseAfterFailureMs: number) {
    this.#pauseAfterFailureMs = pauseAfterFailureMs;
  }

  async fetch(url: string, init: RequestInit): Promise<Response> {
    if (!this.failure || performance.now() >= this.#pauseUntil) await this.#fetchKeys(url, init);
    if (this.#lastGood === undefined) throw this.failure;
    return new Response(this.#lastGood);
  }

  async #fetchKeys(url: string, init: RequestInit): Promise<void> {
    try {
      const text = await fetchText(url, init);
      parseJwks(text);
      this.#lastGood = text;
      this.failure = undefined;
    } catch (cause) {
      const message = 'the keys of the identity provider cannot be fetched';
      this.failure = new JwksUnavailableError(message, { cause });
      this.#pauseUntil = performance.now() + this.#pauseAfterFailureMs;
    }
  }
}

/** Key sets have a few kilobytes. */
const MAX_JWKS_BYTES = 2 ** 20;

async function fetchText(url: string, init: RequestInit): Promise<string> {
  const response = await fetch(url, init);
  if (response.status !== 200) throw new Error(`the identity provider answered ${response.status}`);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    // The end of the loop cancels the download.
    if (bytes > MAX_JWKS_BYTES) throw new Error('the identity provider answered with more than 1 MiB');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function parseJwks(text: string): JSONWebKeySet {
  let set: unknown;
  try {
    set = JSON.parse(text);
  } catch (cause) {
    throw new JwksUnavailableError('the JWKS is not JSON', { cause });
  }
  if (!isKeySet(set)) throw new JwksUnavailableError('there is no list of keys in the JWKS');
  return set;
}

const isKeySet = (set: unknown): set is JSONWebKeySet =>
  isJsonObject(set) && Array.isArray(set['keys']) && set['keys'].every(isJsonObject);

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new JwksUnavailableError('the JWKS file cannot be read', { cause });
  }
}

/** Fetches the keys once, for the doctor. */
export async function probeJwks({ jwks }: ExternalTokens): Promise<{ keys: number }> {
  // Redirects are not followed, as when tokens are verified.
  const options: RequestInit = { signal: AbortSignal.timeout(TIMING.fetchTimeoutMs), redirect: 'manual' };
  const text = jwks.kind === 'file' ? readText(jwks.file) : await fetchText(jwks.url, options);
  return { keys: parseJwks(text).keys.length };
}
