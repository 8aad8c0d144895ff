/** The endpoints of the private address: metrics and the operator's page. They need no token, so they must not be public. */
import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';
import { statusPageFiles } from '../http/console.ts';
import { type OpenEndpoint, READ_METHODS } from '../http/endpoint.ts';
import { type Exchange, type Payload, redirect } from '../http/exchange.ts';
import { isInList, JSON_MEDIA_TYPE } from '../http/headers.ts';
import type { StatusReport } from '../status/report.ts';
import { toStatusJson } from '../status/status-json.ts';
import type { Metrics } from './metrics.ts';

export interface PrivatePages {
  readonly metrics: Pick<Metrics, 'registry'>;
  readonly readStatus: () => Promise<StatusReport>;
  /** How the person started this program: the page has commands to paste. */
  readonly invocation: string;
}

export function privateEndpoints({ metrics, readStatus, invocation }: PrivatePages): OpenEndpoint[] {
  const { registry } = metrics;
  return [
    privateEndpoint('/', (exchange) => redirect(exchange, 'status')),
    privateEndpoint('/metrics', async (exchange) =>
      payload(exchange, registry.contentType, await registry.metrics()),
    ),
    ...statusPageFiles().map(({ path, answer }) => privateEndpoint(path, answer)),
    privateEndpoint('/status.json', async (exchange) =>
      payload(exchange, JSON_MEDIA_TYPE, `${toStatusJson(await readStatus(), invocation)}\n`),
    ),
  ];
}

const privateEndpoint = (path: string, answer: OpenEndpoint['answer']): OpenEndpoint => ({
  path,
  methods: READ_METHODS,
  isQuiet: true,
  answer: (exchange) => {
    exchange.headers.push('cross-origin-resource-policy', 'same-origin');
    return isLocalHost(exchange.request) ? answer(exchange) : refuseHost(exchange);
  },
});

function payload({ headers }: Exchange, mediaType: string, body: string): Payload {
  headers.push('cache-control', 'no-store', 'content-type', mediaType);
  headers.push('content-length', String(Buffer.byteLength(body)));
  return { status: 200, body };
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
  if (!isInList(LOOPBACK, localAddress) || headers.host === undefined) return true;
  if (!URL.canParse(`http://${headers.host}`)) return false;
  const name = new URL(`http://${headers.host}`).hostname.replace(/^\[|\]$/g, '');
  return isIP(name) !== 0 || name === 'localhost' || name.endsWith('.localhost');
}

function refuseHost({ headers }: Exchange): Payload {
  const body = 'Open this page as 127.0.0.1 or localhost, with the same port.\n';
  headers.push('content-type', 'text/plain; charset=utf-8', 'content-length', String(body.length));
  headers.push('connection', 'close');
  return { status: 421, body };
}
