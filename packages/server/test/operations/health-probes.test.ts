import { expect, it, vi } from 'vitest';
import { deferred } from '../../../testing/harness/deferred.ts';
import { startService } from '../../../testing/harness/service.ts';

const PATHS = ['/livez', '/readyz'];

/** The status, the media type and the body of each probe. */
const probe = async (base: string, path: string) => {
  const response = await fetch(`${base}${path}`);
  const body: unknown = await response.json();
  return { status: response.status, headers: response.headers, body };
};

it('both are 200 in a healthy service, and must not be cached', async () => {
  const { url } = await startService();
  for (const path of PATHS) {
    const { status, headers, body } = await probe(url, path);
    expect({ status, body }).toEqual({ status: 200, body: { status: 'ok' } });
    expect(headers.get('cache-control')).toBe('no-store');
  }
});

it('both are at the root and under the base path', async () => {
  const { url } = await startService({ env: { LEADTAP_BASE_PATH: '/api/v1' } });
  expect(new URL(url).pathname).toBe('/api/v1');
  for (const base of [url, new URL(url).origin])
    for (const path of PATHS) expect((await probe(base, path)).status).toBe(200);
});

it('without its store the service is alive but not ready', async () => {
  const { url, store } = await startService({ env: { LEADTAP_BASE_PATH: '/api' } });
  await store.close();
  vi.spyOn(store, 'close').mockResolvedValue();
  for (const base of [url, new URL(url).origin]) {
    expect((await probe(base, '/livez')).status).toBe(200);
    const { status, headers, body } = await probe(base, '/readyz');
    expect({ status, body }).toMatchObject({ status: 503, body: { code: 'unavailable', status: 503 } });
    expect(headers.get('content-type')).toBe('application/problem+json');
    expect(headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    expect(headers.get('cache-control')).toBe('no-store');
  }
});

it('readiness costs one cheap read: it needs no token', async () => {
  const { url, store } = await startService();
  const status = vi.spyOn(store, 'status');
  const ping = vi.spyOn(store, 'ping');
  expect((await probe(url, '/readyz')).status).toBe(200);
  expect([ping.mock.calls.length, status.mock.calls.length]).toEqual([1, 0]);
});

it('during shutdown the service is alive but not ready, and answers polls with Connection: close', async () => {
  const hold = deferred();
  const lines: string[] = [];
  const { url, poll, stop } = await startService({
    drain: () => hold.promise,
    logTo: { write: (line) => void lines.push(line) },
  });
  const stopped = stop();
  expect((await probe(url, '/livez')).status).toBe(200);
  const { status, headers, body } = await probe(url, '/readyz');
  expect({ status, body }).toMatchObject({ status: 503, body: { code: 'unavailable' } });
  expect(headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
  const answer = await poll('boss');
  expect([answer.status, answer.headers.get('connection')]).toEqual([200, 'close']);
  hold.resolve();
  await stopped;
  await expect(fetch(`${url}/livez`)).rejects.toThrow('fetch failed');
  // A planned stop is not an error.
  expect(
    lines.map((line) => JSON.parse(line).level).filter((level) => level === 'warn' || level === 'error'),
  ).toEqual([]);
});
