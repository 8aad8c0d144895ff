import { randomUUID } from 'node:crypto';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from 'jose';
import { onTestFinished } from 'vitest';
import type { WhenDone } from '../../../../testing/harness/temp-folder.ts';

export const ISSUER = 'https://id.example.com/';
export const AUDIENCE = 'https://leads.example.com';

export interface ProviderKey {
  readonly alg: string;
  readonly kid: string;
  readonly privateKey: CryptoKey;
  readonly publicKey: CryptoKey;
  readonly jwk: JWK;
}

export async function makeKey(alg: string, kid: string = randomUUID()): Promise<ProviderKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { alg, kid, privateKey, publicKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } };
}

/** Of any type, as in a forged token. Undefined removes a claim. */
export type Claims = Readonly<Record<string, unknown>>;

/** A token of the provider for `boss`, with the given claims replaced. */
export function sign({ alg, kid, privateKey }: ProviderKey, claims: Claims = {}): Promise<string> {
  const inAnHour = Math.floor(Date.now() / 1000) + 3600;
  const payload = { iss: ISSUER, aud: AUDIENCE, sub: 'boss', exp: inAnHour, ...claims };
  return new SignJWT(payload as JWTPayload).setProtectedHeader({ alg, kid }).sign(privateKey);
}

export interface IdentityProvider {
  readonly url: string;
  readonly env: Record<string, string>;
  /** The current key set. */
  keys: readonly ProviderKey[];
  /** The number of requests. */
  fetches: number;
  /** Handles the requests while the provider fails. */
  failure: RequestListener | undefined;
}

/** A real HTTP server that publishes keys. */
export const startIdentityProvider = (...keys: ProviderKey[]): Promise<IdentityProvider> =>
  startSharedProvider(onTestFinished, keys);

/** The same, for several tests. */
export async function startSharedProvider(
  whenDone: WhenDone,
  keys: readonly ProviderKey[],
): Promise<IdentityProvider> {
  const server = createServer((request, response) => {
    provider.fetches += 1;
    if (provider.failure) return provider.failure(request, response);
    const body = JSON.stringify({ keys: provider.keys.map(({ jwk }) => jwk) });
    return response.writeHead(200, { 'content-type': 'application/json' }).end(body);
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  whenDone(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/jwks.json`;
  const env = {
    LEADTAP_JWKS_URL: url,
    LEADTAP_TOKEN_ISSUER: ISSUER,
    LEADTAP_TOKEN_AUDIENCE: AUDIENCE,
  };
  const provider: IdentityProvider = { url, env, keys, fetches: 0, failure: undefined };
  return provider;
}

export const DOWN: RequestListener = (request) => void request.socket.destroy();
export const HANGING: RequestListener = () => undefined;
export const respondWith =
  (status: number, body: string): RequestListener =>
  (_request, response) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(body);
