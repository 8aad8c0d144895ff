import type { IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { ProblemError } from './problems.ts';

const ALLOWED: readonly string[] = ['GET', 'HEAD'];

export const methodNotAllowed = (allowed = ALLOWED): ProblemError =>
  new ProblemError('method-not-allowed', { headers: { allow: allowed.join(', ') } });

export const isAllowedMethod = (
  { method = '' }: { readonly method?: string | undefined },
  allowed = ALLOWED,
): boolean => allowed.includes(method);

export function requireMethod(request: IncomingMessage, allowed = ALLOWED): void {
  if (!isAllowedMethod(request, allowed)) throw methodNotAllowed(allowed);
}

/** HTTP/1.1 requires a Host header; HTTP/1.0 does not have one. */
export function requireHost({ headers, httpVersion }: IncomingMessage): void {
  if (headers.host === undefined && httpVersion === '1.1')
    throw new ProblemError('malformed-request', { detail: 'Send a Host header.' });
}

/** An `onRequest` hook for routes of all methods: it answers with 405 before the body is read. */
export const rejectOtherMethods = async ({ raw }: FastifyRequest): Promise<void> => requireMethod(raw);
