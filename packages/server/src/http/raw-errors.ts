import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { PROBLEM_MEDIA_TYPE, PROBLEMS, type ProblemCode } from '@leadtap/contract';
import { ProblemError } from './problems.ts';
import { requestId } from './request-id.ts';

/** What Node's HTTP parser says of a request that never became one. */
const CODES: Readonly<Record<string, ProblemCode>> = {
  HPE_HEADER_OVERFLOW: 'headers-too-large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request-timeout',
};

/** Answers what is not HTTP, or too much of it, with a problem like any other, and hangs up. */
export function answerRawError(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const problem = new ProblemError(CODES[error.code ?? ''] ?? 'malformed-request');
  const id = requestId({ headers: {} });
  const body = JSON.stringify(problem.toProblem(id));
  const { status } = PROBLEMS[problem.code];
  socket.end(
    [
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
      `Date: ${new Date().toUTCString()}`,
      'Connection: close',
      'Cache-Control: no-store',
      `X-Request-Id: ${id}`,
      `Content-Type: ${PROBLEM_MEDIA_TYPE}`,
      `Content-Length: ${Buffer.byteLength(body)}`,
      '',
      body,
    ].join('\r\n'),
  );
}
