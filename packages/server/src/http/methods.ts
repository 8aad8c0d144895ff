import type { IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { isHeaderRepeated } from './header-values.ts';
import { ProblemError } from './problems.ts';

const ALLOWED: readonly string[] = ['GET', 'HEAD'];

export const methodNotAllowed = (allowed = ALLOWED): ProblemError =>
  new ProblemError('method-not-allowed', { headers: { allow: allowed.join(', ') } });

export const isAllowedMethod = (
  { method = '' }: { readonly method?: string | undefined },
  allowed = ALLOWED,
): boolean => allowed.includes(method);

export function requireMethod(request: IncomingMessage, allowed: readonly string[] = ALLOWED): void {
  if (!isAllowedMethod(request, allowed)) throw methodNotAllowed(allowed);
}

/**
 * What is wrong with the headers, for the client. A proxy in front may have used the other one of two headers, or have taken
 * another part of the bytes for the body. Node refuses two lengths, and a length beside chunks.
 */
export function findHeaderProblem(request: IncomingMessage): string | undefined {
  const { headers, httpVersion } = request;
  // HTTP/1.0 does not have it.
  if (headers.host === undefined && httpVersion === '1.1') return 'Send a Host header.';
  if (isHeaderRepeated(request, 'host')) return 'Send one Host header, not several.';
  if (isHeaderRepeated(request, 'authorization')) return 'Send one Authorization header, not several.';
  const encoding = headers['transfer-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'chunked')
    return 'Send the body with a Content-Length, or with `Transfer-Encoding: chunked` alone.';
  return undefined;
}

/** Throws 400, and closes the connection: what follows on it may be a part of this request. */
export function requireValidHeaders(request: IncomingMessage): void {
  const detail = findHeaderProblem(request);
  if (detail !== undefined)
    throw new ProblemError('malformed-request', { detail, headers: { connection: 'close' } });
}

/** An `onRequest` hook for routes of all methods: it answers with 405 before the body is read. */
export const rejectOtherMethods = async ({ raw }: FastifyRequest): Promise<void> => requireMethod(raw);
