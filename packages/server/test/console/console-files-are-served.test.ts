import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { inject } from 'light-my-request';
import { describe, expect, it } from 'vitest';
import { consoleEndpoints } from '../../src/http/console.ts';
import { createRouter } from '../../src/http/endpoint.ts';

const listener = createRouter(consoleEndpoints(), { basePath: '/api' });

const get = (url: string, headers: Record<string, string> = {}) => inject(listener, { url, headers });

const page = await get('/api/');
const urlsOf = (html: string) => [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, url = '']) => url);
const fileOf = (extension: string) => urlsOf(page.body).find((url) => url.endsWith(extension)) ?? '';
const [script, style] = [fileOf('.js'), fileOf('.css')];
const pathOf = (relative: string) => new URL(relative, 'http://x/api/').pathname;
const FILES = ['/api/', pathOf(script), pathOf(style)];

describe('the page', () => {
  it('allows its own files, its own service and nothing else', () => {
    expect(page.statusCode).toBe(200);
    expect(page.headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy':
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
        "require-trusted-types-for 'script'; trusted-types 'none'",
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-cache',
    });
  });

  it('names its files by relative URLs, so that it works below any path of a proxy', () => {
    const files = urlsOf(page.body).filter((url) => !url.startsWith('data:'));
    expect(files.length).toBeGreaterThanOrEqual(3);
    expect(files.filter((url) => /^(\/|[a-z]+:)/i.test(url))).toEqual([]);
  });

  it('has a sentence and a link to the docs for browsers without JavaScript', () => {
    const [, sentence = ''] = /<noscript>(.*?)<\/noscript>/s.exec(page.body) ?? [];
    expect(sentence).toMatch(/JavaScript.*<a href="docs">/s);
  });

  it.each([
    ['/api', 'api/'],
    ['/api?from=mail/x', 'api/'],
  ])('%s redirects to the address with a slash, which its relative URLs need', async (url, location) => {
    const answer = await get(url);
    expect([answer.statusCode, answer.headers.location]).toEqual([302, location]);
  });
});

describe('its files', () => {
  it.each([
    [script, 'text/javascript; charset=utf-8'],
    [style, 'text/css; charset=utf-8'],
  ])('%s may be cached for ever, because its name has a hash', async (file, type) => {
    expect(file).toMatch(/^\.\/console\/[\w]+-[\w-]{8,}\.(js|css)$/);
    const answer = await get(pathOf(file));
    expect(answer.statusCode).toBe(200);
    expect(answer.headers).toMatchObject({
      'content-type': type,
      'cache-control': 'public, max-age=31536000, immutable',
      'x-content-type-options': 'nosniff',
    });
  });

  it('are the only ones: the compressed ones have no address, and there is no way out of the folder', async () => {
    for (const path of [
      `${pathOf(script)}.gz`,
      '/api/index.html',
      '/api/console/',
      '/api/console/%2e%2e/index.js',
    ])
      expect((await get(path)).statusCode, path).toBe(404);
  });
});

describe.each(FILES)('%s', (path) => {
  it.each([
    ['br, gzip', 'br', brotliDecompressSync],
    ['gzip, deflate, br', 'br', brotliDecompressSync],
    ['gzip', 'gzip', gunzipSync],
    ['br;q=0, GZIP;q=0.5', 'gzip', gunzipSync],
  ])('is compressed for Accept-Encoding: %s', async (accepted, encoding, decompress) => {
    const plain = await get(path);
    expect(plain.headers['content-encoding']).toBeUndefined();
    const answer = await get(path, { 'accept-encoding': accepted });
    expect(answer.headers).toMatchObject({ 'content-encoding': encoding, vary: 'Accept-Encoding' });
    expect(decompress(answer.rawPayload).equals(plain.rawPayload)).toBe(true);
    expect(answer.rawPayload.length).toBeLessThan(plain.rawPayload.length);
    expect(answer.headers.etag).not.toBe(plain.headers.etag);
  });

  it('is answered with 304 while it is unchanged', async () => {
    const { etag } = (await get(path)).headers;
    for (const tag of [String(etag), `W/${etag}`, `"other", ${etag}`, '*']) {
      const again = await get(path, { 'if-none-match': tag });
      expect([again.statusCode, again.body, again.headers.etag]).toEqual([304, '', etag]);
    }
    expect((await get(path, { 'if-none-match': '"other"' })).statusCode).toBe(200);
  });
});
