/** Node's HTTP server, with the limits of a public service. */
import { once } from 'node:events';
import { createServer, type RequestListener, type Server, STATUS_CODES } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { MAX_HEADER_BYTES, type ProblemCode } from '@leadtap/contract';
import { delayContinue } from './body.ts';
import { Connections } from './connections.ts';
import { methodNotAllowed } from './endpoint.ts';
import { type RequestLogger, requestIdOf } from './exchange.ts';
import { commonHeaders, httpDate } from './headers.ts';
import { ProblemError, problemResponse } from './problems.ts';

/** Longer than the usual 60 s of load balancers, which would otherwise reuse a socket that was just closed. */
const KEEP_ALIVE_MS = 72_000;
const REQUEST_TIMEOUT_MS = 15_000;

export interface ServerOptions {
  readonly logger: RequestLogger;
  /** The time for a whole request to arrive: slow senders must not hold sockets. Default: 15 seconds. */
  readonly requestTimeoutMs?: number | undefined;
  /** Further connections are dropped. Default: no limit. */
  readonly maxConnections?: number | undefined;
  readonly onDroppedConnection?: (() => void) | undefined;
}

export class HttpServer {
  readonly server: Server;
  /** Answers a request; the connection is that of the caller. */
  readonly listener: RequestListener;
  readonly #connections: Connections;

  constructor(listener: RequestListener, options: ServerOptions) {
    const { logger, requestTimeoutMs = REQUEST_TIMEOUT_MS, maxConnections, onDroppedConnection } = options;
    this.server = createServer({
      maxHeaderSize: MAX_HEADER_BYTES,
      keepAliveTimeout: KEEP_ALIVE_MS,
      requestTimeout: requestTimeoutMs,
      headersTimeout: requestTimeoutMs,
      // Node's default checks for timeouts only every 30 s.
      connectionsCheckingInterval: Math.ceil(requestTimeoutMs / 5),
      // Checked by `findHeaderProblem`, whose response has a body.
      requireHostHeader: false,
    });
    if (maxConnections !== undefined) this.server.maxConnections = maxConnections;
    if (onDroppedConnection) this.server.on('drop', onDroppedConnection);
    this.listener = listener;
    this.#connections = new Connections(listener);
    this.#connections.watch(this.server);
    answerMalformedInput(this.server, logger);
  }

  /** Returns its URL, with the actual port. */
  async listen(host: string, port: number): Promise<string> {
    this.server.listen(port, host);
    await once(this.server, 'listening');
    const { address, port: actualPort, family } = this.server.address() as AddressInfo;
    return `http://${family === 'IPv6' ? `[${address}]` : address}:${actualPort}`;
  }

  /** From now on every response has `Connection: close`, so that clients connect to another instance. */
  drain(): void {
    this.#connections.drain();
  }

  /** Stops listening, and waits for the open requests. */
  async close(): Promise<void> {
    if (this.server.listening) await once(this.server.close(), 'close');
  }

  /** Cuts off the open requests. */
  closeConnections(): void {
    this.server.closeAllConnections();
  }
}

/** Error codes of Node's HTTP parser and server. All others are malformed requests. */
const PARSER_ERRORS: Readonly<Record<string, ProblemCode>> = {
  HPE_HEADER_OVERFLOW: 'headers-too-large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request-timeout',
};

/**
 * Replaces Node's defaults, whose responses have no body, or which only close the connection: for input that Node cannot parse, for
 * CONNECT, and for an unknown `Expect`.
 */
function answerMalformedInput(server: Server, logger: RequestLogger): void {
  delayContinue(server);
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
    if (error.code === 'ECONNRESET') socket.destroy();
    // Node emits the error again for each further piece of the same request.
    else if (socket.writable)
      endWith(socket, new ProblemError(PARSER_ERRORS[error.code ?? ''] ?? 'malformed-request'), logger);
  });
  server.on('connect', (_request, socket) => endWith(socket, methodNotAllowed(), logger));
  // RFC 9110 allows a server to ignore an unknown expectation.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
}

/**
 * The time from the response to the end of the connection. If it were closed while the client still sends, the client's system
 * would discard the response.
 */
const LINGER_MS = 1000;

/** Writes the response to the socket: Node has no response object for input that is not a request. */
function endWith(socket: Duplex, problem: ProblemError, logger: RequestLogger): void {
  const id = requestIdOf({ headers: {} });
  const { status, headers, body } = problemResponse(problem, id);
  logger.info({ requestId: id, status, code: problem.code }, 'request');
  const lines = [...commonHeaders(id), ...Object.entries(headers).flat()];
  lines.push('connection', 'close', 'content-length', String(body.length), 'date', httpDate(Date.now()));
  const text = lines.map((part, index) => (index % 2 === 0 ? `${part}: ` : `${part}\r\n`)).join('');
  socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${text}\r\n`, 'latin1');
  socket.end(body);
  const timeout = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(timeout));
}
