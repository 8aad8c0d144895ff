import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { entityTag } from '../leads/render.ts';
import { escapeHtml } from '../lib/escape.ts';
import { type OpenEndpoint, READ_METHODS } from './endpoint.ts';
import { cachedPayload, type Exchange, type Payload, redirect } from './exchange.ts';
import { JSON_MEDIA_TYPE } from './headers.ts';

export interface DocsOptions {
  readonly version: string;
  /** Whether leads are accepted over HTTP. Default: no. */
  readonly hasIntake?: boolean;
  /** Whether the console is at `/`. Default: no. */
  readonly hasConsole?: boolean;
}

const readAsset = (name: string): string =>
  readFileSync(new URL(`../../assets/${name}`, import.meta.url), 'utf8');

/** `docs.html` is made by `npm run generate` from the contract. The page loads no other files. */
const readPage = (): string =>
  readAsset('docs.html')
    .replace('<style>', (tag) => tag + readAsset('base.css') + readAsset('docs.css'))
    .replace('<script>', (tag) => tag + readAsset('docs.js'));

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

/** The relative URL of a page from the base URL, which may have been requested with or without a trailing slash. */
export function relativeUrl(requestUrl = '', page = ''): string {
  const [path = ''] = requestUrl.split('?', 1);
  const lastSegment = path.slice(path.lastIndexOf('/') + 1);
  return lastSegment === '' ? page : `${lastSegment}/${page}`;
}

/** `/openapi.json` and the documentation page at `/docs`. */
export function docsEndpoints({
  version,
  hasIntake = false,
  hasConsole = false,
}: DocsOptions): OpenEndpoint[] {
  const [start = '', consoleLinks = '', end = ''] = readPage().split(CONSOLE_LINKS);
  const page = start + (hasConsole ? consoleLinks : '') + end;
  const policy = contentSecurityPolicy(page);

  const answerOpenApi = async (exchange: Exchange) => {
    // Loaded with the first request: polls need no schema, and TypeBox would take a quarter of the start.
    const { openApiDocument } = await import('@leadtap/contract/openapi');
    const document = openApiDocument(version, exchange.baseUrl(), hasIntake);
    return textPayload(exchange, JSON_MEDIA_TYPE, `${JSON.stringify(document, null, 2)}\n`);
  };
  const answerPage = (exchange: Exchange) => {
    exchange.headers.push('content-security-policy', policy, 'referrer-policy', 'no-referrer');
    const body = page.replaceAll('%BASE_URL%', () => escapeHtml(exchange.baseUrl()));
    return textPayload(exchange, 'text/html; charset=utf-8', body);
  };
  return [row('/openapi.json', answerOpenApi), row('/docs', answerPage)];
}

/** For a service without the console. */
export function redirectsToDocs(): OpenEndpoint[] {
  const toDocs = (exchange: Exchange) => redirect(exchange, relativeUrl(exchange.request.url, 'docs'));
  return [row('', toDocs), row('/', toDocs)];
}

const row = (path: string, answer: OpenEndpoint['answer']): OpenEndpoint => ({
  path,
  methods: READ_METHODS,
  answer,
});

/**
 * The text contains the URL that the request was sent to. `no-cache` makes shared caches revalidate it, so that a URL that one
 * client made up is not served to others.
 */
function textPayload(exchange: Exchange, mediaType: string, body: string): Payload {
  exchange.headers.push('cache-control', 'no-cache');
  return cachedPayload(exchange, { mediaType, etag: entityTag(body), body });
}
