import type { RequestListener } from 'node:http';
import { Readable } from 'node:stream';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { startService } from '../../../testing/harness/service.ts';
import {
  DOWN,
  HANGING,
  makeKey,
  respondWith,
  sign,
  startIdentityProvider,
} from './support/identity-provider.ts';
import { outcome, pollWith, startEndpoint } from './support/polling.ts';

function* endless(): Generator<string> {
  for (;;) yield ' '.repeat(2 ** 16);
}

const FAILURES: Readonly<Record<string, RequestListener>> = {
  'is down': DOWN,
  'answers 500': respondWith(500, '{"keys":[]}'),
  'answers with a page': respondWith(200, '<!doctype html>'),
  'answers with other JSON': respondWith(200, '{"error":"later"}'),
  'answers with a broken list': respondWith(200, '{"keys":["later"]}'),
  'redirects elsewhere': respondWith(302, ''),
  'answers with more than 1 MiB': respondWith(200, `{"keys":[]${' '.repeat(2 ** 20)}}`),
  'never ends its answer': (_request, response) => {
    const body = Readable.from(endless()).pipe(
      response.writeHead(200, { 'content-type': 'application/json' }),
    );
    response.once('close', () => body.destroy());
  },
};

describe.each(Object.entries(FAILURES))('an identity provider that %s', (_name, failure) => {
  it('at the start: 503 and not 401, and 200 when it is back', async () => {
    const key = await makeKey('ES256');
    const provider = await startIdentityProvider(key);
    provider.failure = failure;
    const { poll } = await startEndpoint(provider, { pauseAfterFailureMs: 0 });
    const token = await sign(key);
    const response = await poll(token);
    expect(response.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    expect(response.headers.get('www-authenticate')).toBeNull();
    expect(await outcome(response)).toBe('503 unavailable');
    provider.failure = undefined;
    expect(await outcome(await poll(token))).toBe('200');
  });

  it('later: the keys of the last fetch are still used', async () => {
    const key = await makeKey('ES256');
    const provider = await startIdentityProvider(key);
    const { poll } = await startEndpoint(provider, { freshForMs: 0 });
    expect(await outcome(await poll(await sign(key)))).toBe('200');
    provider.failure = failure;
    expect(await outcome(await poll(await sign(key)))).toBe('200');
    expect(await outcome(await poll(await sign(key)))).toBe('200');
    expect(provider.fetches).toBeGreaterThan(1);
  });
});

describe('while the identity provider is unavailable', () => {
  it('not every request fetches the keys', async () => {
    const key = await makeKey('ES256');
    const provider = await startIdentityProvider(key);
    provider.failure = DOWN;
    const { poll } = await startEndpoint(provider, { pauseAfterFailureMs: 3_600_000 });
    for (let request = 0; request < 10; request += 1)
      expect(await outcome(await poll(await sign(key)))).toBe('503 unavailable');
    expect(provider.fetches).toBe(1);
  });

  it('an unknown key is 503, and accepted when the provider is back', async () => {
    const [old, next] = [await makeKey('ES256'), await makeKey('ES256')];
    const provider = await startIdentityProvider(old);
    const { poll } = await startEndpoint(provider, { cooldownMs: 0, pauseAfterFailureMs: 0 });
    expect(await outcome(await poll(await sign(old)))).toBe('200');
    provider.keys = [next];
    provider.failure = DOWN;
    expect(await outcome(await poll(await sign(next)))).toBe('503 unavailable');
    expect(await outcome(await poll(await sign(old)))).toBe('200');
    provider.failure = undefined;
    expect(await outcome(await poll(await sign(next)))).toBe('200');
  });

  it('own tokens are accepted and forged ones rejected as usual', async () => {
    const provider = await startIdentityProvider();
    provider.failure = DOWN;
    const { url, token } = await startService({ env: provider.env });
    expect(await outcome(await pollWith(url, await token('boss')))).toBe('200');
    expect(await outcome(await pollWith(url, 'garbage'))).toBe('401 token-invalid');
    expect(provider.fetches).toBe(0);
  });
});

it('the log has the cause once a minute at level error, however many tokens need its keys', async () => {
  const key = await makeKey('ES256');
  const provider = await startIdentityProvider(key);
  provider.failure = DOWN;
  const lines: { level: string; code?: string; err?: object }[] = [];
  const { url } = await startService({
    env: provider.env,
    logTo: { write: (line) => void lines.push(JSON.parse(line)) },
  });
  const causes = () => lines.filter(({ err }) => err).map(({ level }) => level);
  for (let request = 0; request < 5; request += 1)
    expect(await outcome(await pollWith(url, await sign(key)))).toBe('503 unavailable');
  expect(causes()).toEqual(['error', 'debug', 'debug', 'debug', 'debug']);
  const later = performance.now() + 60_000;
  const now = vi.spyOn(performance, 'now').mockImplementation(() => later);
  onTestFinished(() => now.mockRestore());
  expect(await outcome(await pollWith(url, await sign(key)))).toBe('503 unavailable');
  expect(causes().at(-1)).toBe('error');
});

it('a request to an identity provider that hangs is aborted after the timeout', async () => {
  const key = await makeKey('ES256');
  const provider = await startIdentityProvider(key);
  provider.failure = HANGING;
  const { poll } = await startEndpoint(provider, { fetchTimeoutMs: 20, pauseAfterFailureMs: 0 });
  expect(await outcome(await poll(await sign(key)))).toBe('503 unavailable');
});

it('a response that stops half-way is aborted after the timeout', async () => {
  const key = await makeKey('ES256');
  const provider = await startIdentityProvider(key);
  provider.failure = (_request, response) => void response.writeHead(200).write('{"keys":');
  const { poll } = await startEndpoint(provider, { fetchTimeoutMs: 20, pauseAfterFailureMs: 0 });
  expect(await outcome(await poll(await sign(key)))).toBe('503 unavailable');
});
