import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { openApiDocument } from '@leadtap/contract';
import type { FastifyPluginCallback, FastifyReply, FastifyRequest } from 'fastify';
import { entityTag } from '../leads/render.ts';
import type { PublicUrl } from './forwarded.ts';
import { rejectOtherMethods } from './methods.ts';
import { matchesEtag } from './page-response.ts';

export interface DocsOptions {
  readonly version: string;
  readonly publicUrl: PublicUrl;
}

/** Made by `npm run generate` from the contract. */
const PAGE_FILE = new URL('../../assets/docs.html', import.meta.url);

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

const escapeHtml = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');

/** Allows the page's own style, by its hash, and nothing else. */
function contentSecurityPolicy(page: string): string {
  const style = /<style>([\s\S]*?)<\/style>/.exec(page)?.[1] ?? '';
  return [
    "default-src 'none'",
    `style-src 'sha256-${hash('sha256', style, 'base64')}'`,
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

/**
 * The text contains the URL that the request was sent to. `no-cache` makes shared caches revalidate it, so that a URL that one
 * client made up is not served to others.
 */
function send(request: FastifyRequest, reply: FastifyReply, body: string): FastifyReply {
  const etag = entityTag(body);
  reply.headers({ etag, 'cache-control': 'no-cache', 'x-content-type-options': 'nosniff' });
  const isNotModified = matchesEtag(request.headers['if-none-match'], etag);
  if (isNotModified) reply.code(304);
  return isNotModified && request.method === 'GET' ? reply.send() : reply.send(body);
}

/** The relative URL of `docs` from the base URL, which may have been requested with or without a trailing slash. */
function docsUrlFrom(url: string): string {
  const path = url.replace(/[?#].*$/, '');
  const lastSegment = path.slice(path.lastIndexOf('/') + 1);
  return lastSegment === '' ? 'docs' : `${lastSegment}/docs`;
}

/** `/openapi.json`, the documentation page at `/docs`, and the redirect from `/` to it. */
export const docsRoutes: FastifyPluginCallback<DocsOptions> = (app, { version, publicUrl }, done) => {
  const page = readFileSync(PAGE_FILE, 'utf8');
  const pageHeaders = {
    'content-security-policy': contentSecurityPolicy(page),
    'referrer-policy': 'no-referrer',
  };

  app.get('/openapi.json', (request, reply) => {
    const document = openApiDocument(version, publicUrl(request));
    return send(
      request,
      reply.type('application/json; charset=utf-8'),
      `${JSON.stringify(document, null, 2)}\n`,
    );
  });
  app.get('/docs', (request, reply) => {
    const baseUrl = escapeHtml(publicUrl(request));
    reply.headers(pageHeaders).type('text/html; charset=utf-8');
    return send(
      request,
      reply,
      page.replaceAll('%BASE_URL%', () => baseUrl),
    );
  });
  app.get('/', (request, reply) => reply.redirect(docsUrlFrom(request.url), 302));

  for (const path of ['/openapi.json', '/docs', '/']) rejectOtherMethods(app, path);
  done();
};
