import { openApiDocument } from '@leadtap/contract/openapi';
import Fastify from 'fastify';
import { expect, onTestFinished, test } from 'vitest';
import { onlyAnswer, requestText, sendRaw } from '../../../testing/harness/raw-http.ts';
import { docsRoutes } from '../../src/http/docs.ts';
import { createErrorHandler } from '../../src/http/error-handlers.ts';

const app = Fastify();
app.setErrorHandler(createErrorHandler());
const publicUrl = (request: { host: string }) => `https://${request.host}/api`;
app.register(docsRoutes, { prefix: '/api', version: '1.2.3', publicUrl });

const get = (url: string, headers: Record<string, string> = {}) =>
  app.inject({ url, headers: { host: 'leads.acme.test', ...headers } });

test('openapi.json has the version and base URL of this server', async () => {
  const answer = await get('/api/openapi.json');
  expect(answer.statusCode).toBe(200);
  expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
  expect(answer.json()).toEqual(
    JSON.parse(JSON.stringify(openApiDocument('1.2.3', 'https://leads.acme.test/api', false))),
  );
});

test('openapi.json has POST /leads only where leads are accepted', async () => {
  const intake = Fastify();
  onTestFinished(() => intake.close());
  intake.register(docsRoutes, { version: '1.2.3', publicUrl: () => 'https://leads.test', hasIntake: true });
  const pathsOf = (document: object) => ('paths' in document ? Object.keys(document.paths ?? {}) : []);
  const answer = await intake.inject({ url: '/openapi.json' });
  expect(pathsOf(answer.json())).toContain('/leads');
  expect(pathsOf((await get('/api/openapi.json')).json())).not.toContain('/leads');
});

test('docs is an HTML page with the base URL', async () => {
  const answer = await get('/api/docs');
  expect(answer.statusCode).toBe(200);
  expect(answer.headers).toMatchObject({
    'content-type': 'text/html; charset=utf-8',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
  });
  expect(answer.body).toMatch(/^<!doctype html>/);
  expect(answer.body).toContain('https://leads.acme.test/api/automation/new-leads');
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
  expect(other.body).toContain('https://other.test/api');
  expect(other.body).not.toContain('acme');
});

test.each(['/api/docs', '/api/openapi.json', '/api'])('%s answers other methods with 405', async (url) => {
  const answer = await app.inject({ method: 'POST', url });
  expect([answer.statusCode, answer.headers['allow']]).toEqual([405, 'GET, HEAD']);
});

test.each(['/api/docs', '/api/openapi.json'])('HEAD %s has the headers of GET and no body', async (path) => {
  const server = Fastify().register(docsRoutes, { prefix: '/api', version: '1', publicUrl });
  onTestFinished(() => server.close());
  const url = await server.listen({ host: '127.0.0.1', port: 0 });
  const send = async (method: string) => {
    const text = requestText(`${method} ${path} HTTP/1.1`, 'Host: x', 'Connection: close');
    return onlyAnswer(await sendRaw(url, text, { bodyless: method === 'HEAD' }));
  };
  const [get, head] = [await send('GET'), await send('HEAD')];
  expect([head.status, head.body]).toEqual([200, '']);
  expect(head.headers['content-length']).toBe(String(Buffer.byteLength(get.body)));
  expect({ ...head.headers, date: '' }).toEqual({ ...get.headers, date: '' });
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
  const bare = Fastify().register(docsRoutes, { version: '1', publicUrl: () => 'https://leads.acme.test' });
  expect((await bare.inject('/')).headers.location).toBe('docs');
});
