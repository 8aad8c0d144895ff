/** Sends one event over HTTP. */
import {
  type ClientRequest,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
} from 'node:http';
import { type AgentOptions, Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';
import { createSecureContext } from 'node:tls';
import { readReason } from './reason.ts';
import { HostResolver } from './resolve.ts';
import type { Outcome } from './rules.ts';

export interface DeliveryOptions {
  /** From the lookup of the name to the head of the response. Default: 10 seconds. */
  readonly timeoutMs?: number | undefined;
  /** Open at once, with those that are idle. Default: 4,000. */
  readonly maxSockets?: number | undefined;
  /** For tests: certificate authorities and name lookups of their own. */
  readonly agent?: Pick<AgentOptions, 'ca' | 'lookup'> | undefined;
  /** For tests: addresses and ports of name servers. */
  readonly nameServers?: readonly string[] | undefined;
}

export interface Delivery {
  /** The caller may have so many events in flight, so that no more than `maxSockets` are open. */
  readonly maxInFlight: number;
  /** Ends when the connection is closed, or idle again. `companyId`: lookups of names are shared fairly between companies. */
  post(
    url: URL,
    headers: Readonly<Record<string, string>>,
    body: string,
    companyId?: string,
  ): Promise<Outcome | 'aborted'>;
  /** Aborts what is in flight. Nothing is sent any more. */
  close(): void;
}

const TIMEOUT_MS = 10_000;
export const MAX_SOCKETS = 4000;
/** A connection is kept if no more than these are open. */
const IDLE_SHARE = 0.25;
const MAX_IDLE_PER_HOST = 100;
const IDLE_MS = 30_000;
/** What follows the head of a response is worthless, but for what its beginning says in a log. A connection is used again if its body is short and ends soon. */
const MAX_BODY_BYTES = 1024;
const BODY_MS = 1000;
const MAX_READ_BYTES = 2048;

/** Redirects are not followed: the new address has not been checked. */
export function createDelivery(options: DeliveryOptions = {}): Delivery {
  const { timeoutMs = TIMEOUT_MS, maxSockets = MAX_SOCKETS, nameServers } = options;
  const maxIdle = Math.floor(maxSockets * IDLE_SHARE);
  const agentOptions = {
    ...options.agent,
    keepAlive: true,
    maxFreeSockets: Math.min(MAX_IDLE_PER_HOST, maxIdle),
    timeout: IDLE_MS,
  };
  // Always verified, whatever NODE_TLS_REJECT_UNAUTHORIZED says: the certificate is what ties the address that the name
  // resolves to, at this very connection, to the host that is allowed.
  const secureContext = createSecureContext({ ca: options.agent?.ca });
  const https = new HttpsAgent({ ...agentOptions, secureContext, rejectUnauthorized: true });
  const http = new HttpAgent(agentOptions);
  for (const agent of [https, http]) readInSmallPieces(agent);
  const resolver = new HostResolver(nameServers);
  const requests = new Set<ClientRequest>();
  const sockets = new Set<Socket>();
  let isClosed = false;

  function watchSocket(socket: Socket): void {
    if (sockets.has(socket)) return;
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  }

  return {
    maxInFlight: maxSockets - maxIdle,
    post: (url, headers, body, companyId = '') =>
      new Promise((resolve) => {
        const isSecure = url.protocol === 'https:';
        const agent = isSecure ? https : http;
        let request: ClientRequest | undefined;
        let outcome: Outcome | undefined;
        let reasonOf: () => string | undefined = () => undefined;
        const timer = setTimeout(() => {
          outcome = { kind: 'timeout' };
          request?.destroy();
        }, timeoutMs);
        const end = (result: Outcome | 'aborted') => {
          clearTimeout(timer);
          resolve(result);
        };
        const attempt = () => {
          if (isClosed) return end('aborted');
          try {
            const lookup = resolver.lookupFor(companyId);
            request = (isSecure ? httpsRequest : httpRequest)(url, {
              method: 'POST',
              headers,
              agent,
              lookup,
            });
          } catch {
            return end({ kind: 'unreachable' });
          }
          send(request);
        };
        const send = (current: ClientRequest) => {
          let informed = 0;
          requests.add(current);
          current.on('socket', watchSocket);
          current.on('information', () => {
            informed += 1;
            if (informed > 1) current.destroy();
          });
          current.on('response', (response) => {
            clearTimeout(timer);
            outcome = toOutcome(response);
            if (sockets.size > maxIdle) response.destroy();
            else {
              const isShort = hasShortBody(response);
              reasonOf = readReason(response, isShort, outcome.kind === 'accepted' ? 0 : undefined);
              if (isShort) skipBody(response);
            }
          });
          // Every error is followed by `close`.
          current.on('error', () => undefined);
          current.on('close', () => {
            requests.delete(current);
            if (outcome) return end(withReason(outcome, reasonOf()));
            // The receiver has closed an idle connection just before it was used again.
            if (current.reusedSocket) return attempt();
            end(isClosed ? 'aborted' : { kind: 'unreachable' });
          });
          current.end(body);
        };
        attempt();
      }),
    close() {
      isClosed = true;
      resolver.close();
      for (const request of requests) request.destroy();
      https.destroy();
      http.destroy();
    },
  };
}

/**
 * Node parses all that was read at once, even if the response was destroyed at its head: 64 KiB with chunks of one byte take 15 ms.
 */
function readInSmallPieces(agent: HttpAgent): void {
  const connect = agent.createConnection.bind(agent);
  const buffer = Buffer.allocUnsafe(MAX_READ_BYTES);
  agent.createConnection = (options, callback) => {
    const push = (bytes: number) => socket?.push(Buffer.from(buffer.subarray(0, bytes))) ?? false;
    const reading = { ...options, onread: { buffer, callback: push } };
    const socket = connect(reading, callback);
    return socket;
  };
}

function toOutcome({ statusCode: status = 0, headers }: IncomingMessage): Outcome {
  if (status >= 200 && status < 300) return { kind: 'accepted', status };
  if (status === 410) return { kind: 'gone', status };
  return { kind: 'refused', status, retryAfter: headers['retry-after'] };
}

const withReason = (outcome: Outcome, reason: string | undefined): Outcome =>
  reason !== undefined && 'status' in outcome ? { ...outcome, reason } : outcome;

const hasShortBody = ({ statusCode, headers }: IncomingMessage): boolean =>
  statusCode === 204 || Number(headers['content-length'] ?? Number.NaN) <= MAX_BODY_BYTES;

/** A short one. */
function skipBody(response: IncomingMessage): void {
  const timer = setTimeout(() => response.destroy(), BODY_MS);
  response.on('error', () => undefined);
  response.on('close', () => clearTimeout(timer));
  response.resume();
}
