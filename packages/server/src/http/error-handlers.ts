import { type Server, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { ProblemCode } from '@leadtap/contract';
import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { delayContinue } from './expect-continue.ts';
import { methodNotAllowed } from './methods.ts';
import { httpDate } from './page-headers.ts';
import { commonHeaders, ProblemError, problemResponse, toProblemError } from './problems.ts';
import { createCauseLog, requestIdOf } from './request-log.ts';

/** Problems by request, for the log line that is written after the response. */
const problems = new WeakMap<FastifyRequest, ProblemError>();

export const problemOf = (request: FastifyRequest): ProblemError | undefined => problems.get(request);

type ErrorHandler = (error: unknown, request: FastifyRequest, reply: FastifyReply) => FastifyReply;

/** The error handler for all requests that Fastify routes. */
export function createErrorHandler(): ErrorHandler {
  const logCause = createCauseLog();
  return (error, request, reply) => {
    const problem = toProblemError(error);
    problems.set(request, problem);
    logCause(problem, request.log);
    const { status, headers, body } = problemResponse(problem, request.id);
    return reply.code(status).headers(commonHeaders(request.id)).headers(headers).send(body);
  };
}

/** For a malformed URL. No route matches, so Fastify writes no log line for the request. */
export const handleUnroutable =
  (handleError: ErrorHandler) =>
  (error: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    handleError(error, request, reply);
    request.log.info({ status: reply.statusCode, code: problemOf(request)?.code }, 'request');
  };

/** Error codes of Node's HTTP parser and server. All others are malformed requests. */
const PARSER_ERRORS: Readonly<Record<string, ProblemCode>> = {
  HPE_HEADER_OVERFLOW: 'headers-too-large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request-timeout',
};

/**
 * The time from the response to the end of the connection. If it were closed while the client still sends, the client's system
 * would discard the response.
 */
const LINGER_MS = 1000;

/** Responds to input that Node could not parse as a request, and closes the connection. */
export function handleParserError(this: FastifyInstance, error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ECONNRESET') socket.destroy();
  // Node emits the error again for each further piece of the same request.
  else if (socket.writable)
    endWith(socket, new ProblemError(PARSER_ERRORS[error.code ?? ''] ?? 'malformed-request'), this.log);
}

/** Replaces Node's default: it closes the connection on CONNECT, and answers an unknown `Expect` with an empty 417. */
export function handleConnectAndExpect(server: Server, log: FastifyBaseLogger): void {
  delayContinue(server);
  server.on('connect', (_request, socket) => endWith(socket, methodNotAllowed(), log));
  // RFC 9110 allows a server to ignore an unknown expectation.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
}

/** Writes the response to the socket: Node has no response object for input that is not a request. */
function endWith(socket: Duplex, problem: ProblemError, log: FastifyBaseLogger): void {
  const id = requestIdOf({ headers: {} });
  const { status, headers, body } = problemResponse(problem, id);
  log.info({ requestId: id, status, code: problem.code }, 'request');
  const lines = Object.entries({
    ...commonHeaders(id),
    ...headers,
    connection: 'close',
    'content-length': body.length,
    date: httpDate(Date.now()),
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n`, 'latin1');
  socket.end(body);
  const timeout = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(timeout));
}
