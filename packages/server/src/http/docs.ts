import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { FastifyPluginCallback, FastifyReply, FastifyRequest } from 'fastify';
import { escapeHtml } from '../escape.ts';
import { entityTag } from '../leads/render.ts';
import { matchesEtag } from './etag.ts';
import type { PublicUrl } from './forwarded.ts';
import { rejectOtherMethods } from './methods.ts';
import { JSON_MEDIA_TYPE } from './page-headers.ts';

export interface DocsOptions {
  readonly version: string;
  readonly publicUrl: PublicUrl;
  /** Whether leads are accepted over HTTP. Default: no. */
  readonly hasIntake?: boolean;
  /** Whether the console is at `/`. Default: no. */
  readonly hasConsole?: boolean;
}

/** Made by `npm run generate` from the contract. */
const PAGE_FILE = new URL('../../assets/docs.html', import.meta.url);

/** Around what of the page leads to the console. */
const CONSOLE_LINKS = /<!--\/?console-->/;

/** Allows the page's own style and script, by their hashes, and nothing else. */
function contentSecurityPolicy(page: string): string {
  const hashOf = (element: string): string => {
    const [, after = ''] = page.split(`<${element}>`, 2);
    const [content = ''] = after.split(`</${element}>`, 1);
    return `'sha256-${hash('sha256', content, 'base64')}'`;
  };
  return [
    "default-src 'none'",
    `script-src ${hashOf('script')}`,
    `style-src ${hashOf('style')}`,
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
  return sendUnlessCached(request, reply, { etag, body });
}

/** 304 if the client has the body already. Its headers must be set before. */
export function sendUnlessCached(
  request: FastifyRequest,
  reply: FastifyReply,
  { etag, body }: { readonly etag: string; readonly body: string | Buffer },
): FastifyReply {
  const isNotModified = matchesEtag(request.headers['if-none-match'], etag);
  if (isNotModified) reply.code(304);
  return isNotModified && request.method === 'GET' ? reply.send() : reply.send(body);
}

/** The relative URL of a page from the base URL, which may have been requested with or without a trailing slash. */
export function relativeUrl(requestUrl: string, page: string): string {
  const [path = ''] = requestUrl.split(/[?#]/, 1);
  const lastSegment = path.slice(path.lastIndexOf('/') + 1);
  return lastSegment === '' ? page : `${lastSegment}/${page}`;
}

// Fastify adds the length of an empty body to the response of GET only.
export const redirect = (reply: FastifyReply, location: string): FastifyReply =>
  reply.header('content-length', '0').redirect(location, 302);

/** `/openapi.json`, the documentation page at `/docs`, and the redirect from `/` to it unless the console is there. */
export const docsRoutes: FastifyPluginCallback<DocsOptions> = (
  app,
  { version, publicUrl, hasIntake = false, hasConsole = false },
  done,
) => {
  const [start = '', consoleLinks = '', end = ''] = readFileSync(PAGE_FILE, 'utf8').split(CONSOLE_LINKS);
  const page = start + (hasConsole ? consoleLinks : '') + end;
  const pageHeaders = {
    'content-security-policy': contentSecurityPolicy(page),
    'referrer-policy': 'no-referrer',
  };

  app.addHook('onRequest', rejectOtherMethods);
  app.all('/openapi.json', async (request, reply) => {
    // Loaded with the first request: polls need no schema, and TypeBox would take a quarter of the start.
    const { openApiDocument } = await import('@leadtap/contract/openapi');
    const document = openApiDocument(version, publicUrl(request), hasIntake);
    reply.type(JSON_MEDIA_TYPE);
    return send(request, reply, `${JSON.stringify(document, null, 2)}\n`);
  });
  app.all('/docs', (request, reply) => {
    const body = page.replaceAll('%BASE_URL%', () => escapeHtml(publicUrl(request)));
    reply.headers(pageHeaders).type('text/html; charset=utf-8');
    return send(request, reply, body);
  });
  if (!hasConsole) app.all('/', (request, reply) => redirect(reply, relativeUrl(request.url, 'docs')));
  done();
};
