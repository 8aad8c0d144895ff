/** Sends one event over HTTP. */
import {
  type ClientRequest,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
} from 'node:http';
import { type AgentOptions, Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { Outcome } from './rules.ts';

export interface DeliveryOptions {
  /** From the start of the connection to the headers of the response. Default: 10 seconds. */
  readonly timeoutMs?: number | undefined;
  /** For tests: certificate authorities and name lookups of their own. */
  readonly agent?: Pick<AgentOptions, 'ca' | 'lookup'> | undefined;
}

export interface Delivery {
  post(url: URL, headers: Readonly<Record<string, string>>, body: string): Promise<Outcome | 'aborted'>;
  /** Aborts what is in flight. Nothing is sent any more. */
  close(): void;
}

const TIMEOUT_MS = 10_000;
/** The body of a response is discarded. A longer one ends the connection, which otherwise can be used again. */
const MAX_DISCARDED_BYTES = 64 * 1024;
const MAX_IDLE_CONNECTIONS = 100;
const IDLE_MS = 30_000;

/** Redirects are not followed: the new address has not been checked. */
export function createDelivery({ timeoutMs = TIMEOUT_MS, agent }: DeliveryOptions = {}): Delivery {
  const agentOptions = {
    ...agent,
    keepAlive: true,
    maxFreeSockets: MAX_IDLE_CONNECTIONS,
    maxTotalSockets: Number.POSITIVE_INFINITY,
    timeout: IDLE_MS,
  };
  // Always verified, whatever NODE_TLS_REJECT_UNAUTHORIZED says: the certificate is what ties the address that the name
  // resolves to, at this very connection, to the host that is allowed.
  const https = new HttpsAgent({ ...agentOptions, rejectUnauthorized: true });
  const http = new HttpAgent(agentOptions);
  const requests = new Set<ClientRequest>();
  let isClosed = false;

  return {
    post: (url, headers, body) =>
      new Promise((resolve) => {
        if (isClosed) return resolve('aborted');
        const isSecure = url.protocol === 'https:';
        const options = { method: 'POST', headers, agent: isSecure ? https : http };
        let request: ClientRequest;
        let isTimedOut = false;
        const timer = setTimeout(() => {
          isTimedOut = true;
          resolve({ kind: 'timeout' });
          request.destroy();
        }, timeoutMs);
        const attempt = () => {
          const current = (isSecure ? httpsRequest : httpRequest)(url, options);
          let hasResponse = false;
          request = current;
          requests.add(current);
          current.on('response', (response) => {
            hasResponse = true;
            resolve(toOutcome(response));
            discardBody(response);
          });
          // Every error is followed by `close`.
          current.on('error', () => undefined);
          current.on('close', () => {
            requests.delete(current);
            // The receiver has closed an idle connection just before it was used again.
            if (current.reusedSocket && !hasResponse && !isTimedOut && !isClosed) return attempt();
            clearTimeout(timer);
            resolve(isClosed ? 'aborted' : { kind: 'unreachable' });
          });
          current.end(body);
        };
        attempt();
      }),
    close() {
      isClosed = true;
      for (const request of requests) request.destroy();
      https.destroy();
      http.destroy();
    },
  };
}

function toOutcome({ statusCode: status = 0, headers }: IncomingMessage): Outcome {
  if (status >= 200 && status < 300) return { kind: 'accepted', status };
  if (status === 410) return { kind: 'gone', status };
  return { kind: 'refused', status, retryAfter: headers['retry-after'] };
}

/** The timer of the request still runs, and ends a body that does not end. */
function discardBody(response: IncomingMessage): void {
  let bytes = 0;
  response.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > MAX_DISCARDED_BYTES) response.destroy();
  });
  response.on('error', () => undefined);
}
