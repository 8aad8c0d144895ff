import { readFileSync } from 'node:fs';
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  customFetch,
  errors,
  type JSONWebKeySet,
  type JWKSCacheInput,
  type JWTVerifyGetKey,
  jwksCache,
} from 'jose';
import { isJsonObject } from '../json-object.ts';
import { TokenVerificationUnavailableError } from './verification.ts';

/** Where its public keys are found. */
export type JwksLocation =
  | { readonly kind: 'url'; readonly url: string }
  | { readonly kind: 'file'; readonly file: string };

/** The operator's identity provider. */
export interface ExternalTokens {
  readonly jwks: JwksLocation;
  readonly issuer: string;
  readonly audience: string;
  readonly timing?: Partial<JwksTiming>;
}

export interface JwksTiming {
  readonly fetchTimeoutMs: number;
  /** For tokens with unknown keys the provider is asked at most this often, however many arrive. */
  readonly cooldownMs: number;
  /** Keys are used this long before the provider is asked for them again. */
  readonly freshForMs: number;
  /** A provider that has never answered is asked again after this long, not by every request. */
  readonly pauseAfterFailureMs: number;
}

const TIMING: JwksTiming = {
  fetchTimeoutMs: 5_000,
  cooldownMs: 30_000,
  freshForMs: 10 * 60_000,
  pauseAfterFailureMs: 2_000,
};

/** Public-key algorithms only: a public key can then never be taken for a shared secret. */
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

export class JwksUnavailableError extends TokenVerificationUnavailableError {
  override readonly name = 'JwksUnavailableError';
}

/** The keys of the identity provider. */
export interface ExternalKeys {
  /** Finds the key of a token. Throws JwksUnavailableError when that cannot be found out at the moment. */
  readonly find: JWTVerifyGetKey;
  /**
   * The set that keys are found in now, another one each time it was fetched; undefined when it is to be fetched anew.
   * What was verified with one set is sure for as long as this is the same.
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
  const provider = new RememberedProvider(pauseAfterFailureMs);
  // Where the library puts each set in the moment it begins to use it.
  const inUse: JWKSCacheInput = {};
  const findKey = createRemoteJWKSet(new URL(url), {
    timeoutDuration: fetchTimeoutMs,
    cooldownDuration: cooldownMs,
    cacheMaxAge: freshForMs,
    [customFetch]: (address, init) => provider.fetch(address, init),
    [jwksCache]: inUse,
  });
  const find: JWTVerifyGetKey = async (header, token) => {
    try {
      return await findKey(header, token);
    } catch (error) {
      // A key that we do not know may be the one the provider changed to while we could not ask it.
      if (error instanceof errors.JWKSNoMatchingKey && provider.failure) throw provider.failure;
      throw error;
    }
  };
  return { find, currentSet: () => (findKey.fresh ? inUse['jwks'] : undefined) };
}

/**
 * While the provider is away, the keys it gave last go on working: its outage must not become ours.
 * A key that it withdraws stops working with the next fetch that succeeds.
 */
class RememberedProvider {
  readonly #pauseAfterFailureMs: number;
  #lastGood: string | undefined;
  #pauseUntil = 0;
  /** Why the last fetch failed; undefined when it did not. */
  failure: JwksUnavailableError | undefined;

  constructor(pauseAfterFailureMs: number) {
    this.#pauseAfterFailureMs = pauseAfterFailureMs;
  }

  async fetch(url: string, init: RequestInit): Promise<Response> {
    if (!this.failure || performance.now() >= this.#pauseUntil) await this.#ask(url, init);
    if (this.#lastGood === undefined) throw this.failure;
    return new Response(this.#lastGood);
  }

  async #ask(url: string, init: RequestInit): Promise<void> {
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

async function fetchText(url: string, init: RequestInit): Promise<string> {
  const response = await fetch(url, init);
  if (response.status !== 200) throw new Error(`the identity provider answered ${response.status}`);
  return response.text();
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

/** Asks for the keys once, for people who set this up. */
export async function probeJwks({ jwks }: ExternalTokens): Promise<{ keys: number }> {
  // A redirect is not followed, as it is not when tokens are verified.
  const asServer: RequestInit = { signal: AbortSignal.timeout(TIMING.fetchTimeoutMs), redirect: 'manual' };
  const text = jwks.kind === 'file' ? readText(jwks.file) : await fetchText(jwks.url, asServer);
  return { keys: parseJwks(text).keys.length };
}
