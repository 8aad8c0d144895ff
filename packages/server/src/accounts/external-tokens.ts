import { readFileSync } from 'node:fs';
import { createLocalJWKSet, createRemoteJWKSet, customFetch, type JWTVerifyGetKey } from 'jose';

/** The operator's identity provider. */
export interface ExternalTokens {
  readonly jwks:
    | { readonly kind: 'url'; readonly url: string }
    | { readonly kind: 'file'; readonly file: string };
  readonly issuer: string;
  readonly audience: string;
}

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

export class JwksUnavailableError extends Error {
  override readonly name = 'JwksUnavailableError';
}

const FETCH_TIMEOUT_MS = 5_000;
/** Fetched again at most this often, however many tokens with unknown keys arrive. */
const COOLDOWN_MS = 30_000;
const FRESH_FOR_MS = 10 * 60_000;
const PAUSE_AFTER_FAILURE_MS = 2_000;

/** Finds the key of a token. Throws JwksUnavailableError when the provider cannot be asked. */
export function jwksKeys({ jwks }: ExternalTokens): JWTVerifyGetKey {
  if (jwks.kind === 'file') return createLocalJWKSet(readJwks(jwks.file));
  return createRemoteJWKSet(new URL(jwks.url), {
    timeoutDuration: FETCH_TIMEOUT_MS,
    cooldownDuration: COOLDOWN_MS,
    cacheMaxAge: FRESH_FOR_MS,
    [customFetch]: rememberingFetch(),
  });
}

/**
 * While the provider is away, the keys it gave last go on working: its outage must not become ours.
 * A key that it withdraws stops working with the next fetch that succeeds. A provider that has never
 * answered is asked again after a pause, not by every request.
 */
function rememberingFetch() {
  let lastGood: string | undefined;
  let failure: { readonly error: JwksUnavailableError; readonly until: number } | undefined;
  return async (url: string, init: RequestInit): Promise<Response> => {
    if (failure && performance.now() < failure.until) throw failure.error;
    try {
      lastGood = await fetchText(url, init);
      failure = undefined;
    } catch (cause) {
      if (lastGood === undefined) {
        const error = new JwksUnavailableError('the keys of the identity provider cannot be fetched', {
          cause,
        });
        failure = { error, until: performance.now() + PAUSE_AFTER_FAILURE_MS };
        throw error;
      }
    }
    return new Response(lastGood, { headers: { 'content-type': 'application/json' } });
  };
}

async function fetchText(url: string, init: RequestInit): Promise<string> {
  const response = await fetch(url, init);
  if (response.status !== 200) throw new Error(`the identity provider answered ${response.status}`);
  return response.text();
}

function readJwks(file: string): Parameters<typeof createLocalJWKSet>[0] {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new JwksUnavailableError('the JWKS file cannot be read as JSON', { cause: error });
  }
}

/** Asks for the keys once, for people who set this up. */
export async function probeJwks({ jwks }: ExternalTokens): Promise<{ keys: number }> {
  const set: { keys?: unknown } =
    jwks.kind === 'file'
      ? readJwks(jwks.file)
      : JSON.parse(await fetchText(jwks.url, { signal: AbortSignal.timeout(FETCH_TIMEOUT_MS) }));
  if (!Array.isArray(set.keys)) throw new JwksUnavailableError('there is no list of keys in the JWKS');
  return { keys: set.keys.length };
}
