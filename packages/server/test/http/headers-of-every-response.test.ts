import { describe, expect, it } from 'vitest';
import { requestText, sendRawOnce } from '../../../testing/harness/raw-http.ts';
import { shareService } from '../../../testing/harness/shared-service.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

const shared = shareService();

describe('a page', () => {
  it('is JSON in UTF-8, private, to be revalidated, and varies by Authorization and Prefer', async () => {
    const { headers } = await shared().poll('boss');
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'private, no-cache',
      vary: 'Authorization, Prefer',
    });
  });

  it.each(['*/*', 'application/json', 'text/html', 'application/xml;q=0.1'])(
    'is the same whatever the client accepts: %s',
    async (accept) => {
      const { status, headers } = await shared().poll('boss', '', { headers: { accept } });
      expect([status, headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8']);
    },
  );

  it('does not reveal the server software', async () => {
    const { headers } = await shared().poll('boss');
    for (const name of ['server', 'x-powered-by', 'set-cookie', 'via'])
      expect([name, headers.get(name)]).toEqual([name, null]);
  });
});

describe('X-Request-Id', () => {
  const ask = (path: string, init: RequestInit = {}) => fetch(`${shared().url}${path}`, init);

  it.each(['my-id', 'A.b_c:d+e/f=g-1', '019ca9d2-8f40-7c1e-9d55-0c3f6a1be7d4', 'x'.repeat(128)])(
    "is the caller's own where that is harmless: %s",
    async (id) => {
      const good = await shared().poll('boss', '', { headers: { 'x-request-id': id } });
      expect(good.headers.get('x-request-id')).toBe(id);
      const bad = await ask('/nowhere', { headers: { 'x-request-id': id } });
      expect(await bad.json()).toMatchObject({ requestId: id });
    },
  );

  it.each(['', 'two words', 'x'.repeat(129), '<script>', 'a"b', "a'b", 'a;b', 'a,b', '$(x)', 'caf\u00e9'])(
    'is replaced where it is not: %j',
    async (id) => {
      const { headers } = await shared().poll('boss', '', { headers: { 'x-request-id': id } });
      expect(headers.get('x-request-id')).toMatch(UUID);
    },
  );

  it('is replaced if it is sent twice', async () => {
    const headers: [string, string][] = [
      ['x-request-id', 'one'],
      ['x-request-id', 'two'],
    ];
    expect((await ask('/nowhere', { headers })).headers.get('x-request-id')).toMatch(UUID);
  });
});

describe('without an endpoint, X-Content-Type-Options: nosniff', () => {
  const ask = (path: string, init: RequestInit = {}) => fetch(`${shared().url}${path}`, init);
  const raw = async (...lines: readonly string[]) => {
    const { status, headers } = await sendRawOnce(shared().url, requestText(...lines));
    return { status, headers: new Headers(headers) };
  };
  it.each<[string, number, () => Promise<Pick<Response, 'status' | 'headers'>>]>([
    ['no such page', 404, () => ask('/nowhere')],
    ['a path that is not UTF-8', 400, () => ask('/%ff')],
    ['metrics', 200, () => fetch(shared().metricsUrl)],
    ['no such page beside the metrics', 404, () => fetch(new URL('/nowhere', shared().metricsUrl))],
    ['what is not HTTP', 400, () => raw('nonsense')],
    ['headers that are too large', 431, () => raw('GET / HTTP/1.1', `X-A: ${'x'.repeat(20_000)}`)],
    ['CONNECT', 405, () => raw('CONNECT example.com:443 HTTP/1.1', 'Host: x')],
  ])('is on the response to %s: %i', async (_what, status, send) => {
    const answer = await send();
    expect(answer.status).toBe(status);
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
  });
});
