import { openApiDocument } from '@leadtap/contract/openapi';
import { inject } from 'light-my-request';
import { expect, test } from 'vitest';
import { type DocsOptions, docsEndpoints, redirectsToDocs } from '../../src/http/docs.ts';
import { createRouter } from '../../src/http/endpoint.ts';

const serve = (options: Partial<DocsOptions> = {}, basePath = '/api') =>
  createRouter([...docsEndpoints({ version: '1.2.3', ...options }), ...redirectsToDocs()], { basePath });
const listener = serve();

const get = (url: string, headers: Record<string, string> = {}) =>
  inject(listener, { url, headers: { host: 'leads.acme.test', ...headers } });

test('openapi.json has the version and base URL of this server', async () => {
  const answer = await get('/api/openapi.json');
  expect(answer.statusCode).toBe(200);
  expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
  expect(answer.json()).toEqual(
    JSON.parse(JSON.stringify(openApiDocument('1.2.3', 'http://leads.acme.test/api', false))),
  );
});

test('openapi.json has POST /leads only where leads are accepted', async () => {
  const pathsOf = (document: object) => ('paths' in document ? Object.keys(document.paths ?? {}) : []);
  const answer = await inject(serve({ hasIntake: true }, ''), '/openapi.json');
  expect(pathsOf(answer.json())).toContain('/leads');
  expect(pathsOf((await get('/api/openapi.json')).json())).not.toContain('/leads');
});

test('docs is an HTML page with the base URL', async () => {
  const answer = await get('/api/docs');
  expect(answer.statusCode).toBe(200);
  expect(answer.headers).toMatchObject({
    'content-type': 'text/html; charset=utf-8',
    'referrer-policy': 'no-referrer',
  });
  expect(answer.body).toMatch(/^<!doctype html>/);
  expect(answer.body).toContain('http://leads.acme.test/api/automation/new-leads');
});

test.each(['/api/docs', '/api/openapi.json'])('%s must be revalidated', async (path) => {
  const first = await get(path);
  const etag = String(first.headers.etag);
  expect(first.headers['cache-control']).toBe('no-cache');
  for (const tag of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
    const again = await get(path, { 'if-none-match': tag });
    expect([again.statusCode, again.body, again.headers.etag]).toEqual([304, '', etag]);
  }
  expect((await get(path, { 'if-none-match': '"other"' })).statusCode).toBe(200);
});

test.each(['/api/docs', '/api/openapi.json'])('%s has the base URL of the request', async (path) => {
  const first = await get(path);
  const other = await get(path, { host: 'other.test', 'if-none-match': String(first.headers.etag) });
  expect(other.statusCode).toBe(200);
  expect(other.body).toContain('http://other.test/api');
  expect(other.body).not.toContain('acme');
});

test.each([
  ['/api', '/api/docs'],
  ['/api/', '/api/docs'],
  ['/api?from=mail/x', '/api/docs'],
])('%s redirects to the page', async (path, page) => {
  const answer = await get(path);
  expect(answer.statusCode).toBe(302);
  const { pathname, host } = new URL(String(answer.headers.location), `https://leads.acme.test${path}`);
  expect([host, pathname]).toEqual(['leads.acme.test', page]);
});

test('without a prefix, / redirects to /docs', async () => {
  expect((await inject(serve({}, ''), '/')).headers.location).toBe('docs');
});
