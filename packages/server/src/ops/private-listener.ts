/** The listener on the private address: metrics and the operator's page. It needs no token, so it must not be public. */
import { hash } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { BlockList, isIP } from 'node:net';
import type { FastifyBaseLogger } from 'fastify';
import { matchesEtag } from '../http/etag.ts';
import { findHeaderProblem } from '../http/methods.ts';
import { renderStatusPage } from '../status/page.ts';
import type { StatusReport } from '../status/report.ts';
import { type Address, ListenError, toOneAddress } from './listen.ts';
import type { Metrics } from './metrics.ts';

export interface PrivatePages {
  readonly metrics: Pick<Metrics, 'registry'>;
  readonly readStatus: () => Promise<StatusReport>;
  /** How the person started this program: the page has commands to paste. */
  readonly invocation: string;
}

interface Page {
  readonly type: string;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The page loads its own style and script, and itself. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

const HTML_HEADERS = {
  'content-security-policy': CONTENT_SECURITY_POLICY,
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
};
const COMMON_HEADERS = { 'x-content-type-options': 'nosniff', 'cross-origin-resource-policy': 'same-origin' };

const readAsset = (name: string): string =>
  readFileSync(new URL(`../../assets/${name}`, import.meta.url), 'utf8');

/** The pages by path. */
function createPages(pages: PrivatePages): Map<string, () => Promise<Page>> {
  const { metrics, readStatus, invocation } = pages;
  const file = (name: string, type: string) => {
    const body = readAsset(name);
    const headers = { 'cache-control': 'no-cache', etag: `"${hash('sha256', body, 'hex').slice(0, 16)}"` };
    return async (): Promise<Page> => ({ type, body, headers });
  };
  return new Map<string, () => Promise<Page>>([
    [
      '/metrics',
      async () => ({ type: metrics.registry.contentType, body: await metrics.registry.metrics() }),
    ],
    [
      '/status',
      async () => {
        const body = renderStatusPage(await readStatus(), invocation);
        return { type: 'text/html; charset=utf-8', body, headers: HTML_HEADERS };
      },
    ],
    [
      '/status.json',
      async () => {
        const body = `${JSON.stringify(await readStatus())}\n`;
        return { type: 'application/json; charset=utf-8', body, headers: { 'cache-control': 'no-store' } };
      },
    ],
    ['/base.css', file('base.css', 'text/css; charset=utf-8')],
    ['/status.css', file('status.css', 'text/css; charset=utf-8')],
    ['/status.js', file('status.js', 'text/javascript; charset=utf-8')],
  ]);
}

export async function listenPrivately(
  pages: PrivatePages,
  address: Address,
  log: Pick<FastifyBaseLogger, 'error'>,
): Promise<Server> {
  const byPath = createPages(pages);
  const server = createServer(async (request, response) => {
    for (const [name, value] of Object.entries(COMMON_HEADERS)) response.setHeader(name, value);
    const headerProblem = findHeaderProblem(request);
    if (headerProblem !== undefined) return refuse(response, 400, headerProblem);
    const url = parseTarget(request.url);
    const page = url && byPath.get(url.pathname);
    if (!page) return answerOther(url, response);
    if (request.method !== 'GET' && request.method !== 'HEAD')
      return response.writeHead(405, { allow: 'GET, HEAD' }).end();
    if (!isLocalHost(request)) return refuseHost(response);
    try {
      return send(await page(), request, response);
    } catch (error) {
      log.error({ err: error }, `${url.pathname} could not be answered`);
      return response.writeHead(500).end();
    }
  });
  server.listen(address.port, toOneAddress(address.host));
  await once(server, 'listening').catch((cause) => {
    throw new ListenError(address, cause);
  });
  return server;
}

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

/**
 * DNS rebinding: a website can let its own name resolve to 127.0.0.1, and its scripts could then read the page in the browser of
 * the operator. So a page of the local machine is not served under such a name. Other addresses may have any name.
 */
function isLocalHost({ headers, socket }: IncomingMessage): boolean {
  const { localAddress = '' } = socket;
  const isLoopback = LOOPBACK.check(localAddress, isIP(localAddress) === 6 ? 'ipv6' : 'ipv4');
  if (!isLoopback || headers.host === undefined) return true;
  if (!URL.canParse(`http://${headers.host}`)) return false;
  const name = new URL(`http://${headers.host}`).hostname.replace(/^\[|\]$/g, '');
  return isIP(name) !== 0 || name === 'localhost' || name.endsWith('.localhost');
}

function refuse(response: ServerResponse, status: number, sentence: string): ServerResponse {
  const headers = { 'content-type': 'text/plain; charset=utf-8', connection: 'close' };
  return response
    .writeHead(status, { ...headers, 'content-length': sentence.length + 1 })
    .end(`${sentence}\n`);
}

const refuseHost = (response: ServerResponse): ServerResponse =>
  refuse(response, 421, 'Open this page as 127.0.0.1 or localhost, with the same port.');

const ORIGIN = 'http://localhost';

/** Undefined for a target that is no path. */
const parseTarget = (target = ''): URL | undefined =>
  target.startsWith('/') && URL.canParse(`${ORIGIN}${target}`) ? new URL(`${ORIGIN}${target}`) : undefined;

function answerOther(url: URL | undefined, response: ServerResponse): ServerResponse {
  if (url?.pathname === '/') return response.writeHead(302, { location: 'status' }).end();
  return response.writeHead(404).end();
}

function send({ type, body, headers = {} }: Page, request: IncomingMessage, response: ServerResponse) {
  const { etag } = headers;
  if (etag !== undefined && matchesEtag(request.headers['if-none-match'], etag))
    return response.writeHead(304, headers).end();
  const length = Buffer.byteLength(body);
  return response.writeHead(200, { ...headers, 'content-type': type, 'content-length': length }).end(body);
}
