import { openApiDocument } from '@leadtap/contract';
import type { FastifyPluginCallback, FastifyReply, FastifyRequest } from 'fastify';
import { entityTag } from '../leads/render.ts';
import { STYLE_HASH } from './docs/style.ts';
import { docsPage } from './docs-page.ts';
import { matches } from './etag.ts';
import { rejectOtherMethods } from './methods.ts';
import type { PublicUrl } from './public-url.ts';

export interface DocsOptions {
  readonly version: string;
  readonly publicUrl: PublicUrl;
}

interface Rendered {
  readonly url: string;
  readonly body: string;
  readonly etag: string;
}

const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  `style-src '${STYLE_HASH}'`,
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Renders again only when the address differs from the last one: nearly always it is the same. */
function renderedFor(render: (url: string) => string): (url: string) => Rendered {
  let last: Rendered | undefined;
  return (url) => {
    if (last?.url !== url) {
      const body = render(url);
      last = { url, body, etag: entityTag(body) };
    }
    return last;
  };
}

/**
 * The text depends on the address that the request came to. A shared cache that kept it for a while could hand
 * an address that one client made up to the next; `no-cache` makes every cache ask first.
 */
function send(request: FastifyRequest, reply: FastifyReply, { body, etag }: Rendered): FastifyReply {
  reply.headers({ etag, 'cache-control': 'no-cache', 'x-content-type-options': 'nosniff' });
  const isKnown = matches(request.headers['if-none-match'], etag);
  if (isKnown) reply.code(304);
  return isKnown && request.method === 'GET' ? reply.send() : reply.send(body);
}

/** `docs` beside the base address, whether or not that was asked for with a slash at its end. */
function docsBeside(url: string): string {
  const path = url.replace(/[?#].*$/, '');
  const lastSegment = path.slice(path.lastIndexOf('/') + 1);
  return lastSegment === '' ? 'docs' : `${lastSegment}/docs`;
}

/** `/openapi.json`, the readable page at `/docs`, and the way there from `/`. */
export const docsRoutes: FastifyPluginCallback<DocsOptions> = (app, { version, publicUrl }, done) => {
  const description = renderedFor((url) => `${JSON.stringify(openApiDocument(version, url), null, 2)}\n`);
  const page = renderedFor((url) => docsPage(openApiDocument(version, url)));

  app.get('/openapi.json', (request, reply) =>
    send(request, reply.type('application/json; charset=utf-8'), description(publicUrl(request))),
  );
  app.get('/docs', (request, reply) => {
    reply.headers({ 'content-security-policy': CONTENT_SECURITY_POLICY, 'referrer-policy': 'no-referrer' });
    return send(request, reply.type('text/html; charset=utf-8'), page(publicUrl(request)));
  });
  app.get('/', (request, reply) => reply.redirect(docsBeside(request.url), 302));

  for (const path of ['/openapi.json', '/docs', '/']) rejectOtherMethods(app, path);
  done();
};
