import { type Server, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { ProblemCode } from '@leadtap/contract';
import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import { commonHeaders, problemAnswer } from './answer-problem.ts';
import { httpDate } from './http-date.ts';
import { methodNotAllowed } from './methods.ts';
import { ProblemError } from './problems.ts';
import { requestId } from './request-id.ts';

/** What Node's HTTP parser says of a request that never became one. */
const CODES: Readonly<Record<string, ProblemCode>> = {
  HPE_HEADER_OVERFLOW: 'headers-too-large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request-timeout',
};

/**
 * How long a sender may still talk after its answer. Cut off at once, what it goes on sending would make its
 * system throw the answer away; not cut off at all, it would hold the connection for as long as it likes.
 */
const LINGER_MS = 1000;

/** Answers what is not HTTP, or too much of it, with a problem like any other, and hangs up. */
export function answerRawError(this: FastifyInstance, error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ECONNRESET') socket.destroy();
  // Every further piece of the same bad request comes here too, when it is answered already.
  else if (socket.writable)
    endWith(socket, new ProblemError(CODES[error.code ?? ''] ?? 'malformed-request'), this.log);
}

/** What Node would answer by itself without a body, or with silence. */
export function handleConnectAndExpect(server: Server, log: FastifyBaseLogger): void {
  server.on('connect', (_request, socket) => endWith(socket, methodNotAllowed(), log));
  // RFC 9110 lets a server pass over an expectation that it does not know.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
}

/** Written to the connection itself: Node has no response object for what is not a request. */
function endWith(socket: Duplex, problem: ProblemError, log: FastifyBaseLogger): void {
  const id = requestId({ headers: {} });
  const { status, headers, body } = problemAnswer(problem, id);
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
  const cut = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(cut));
}
