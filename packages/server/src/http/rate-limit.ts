import type { onRequestAsyncHookHandler } from 'fastify';
import type { Limiter, Verdict } from '../limits/limiter.ts';
import { ProblemError } from './problems.ts';

/**
 * The second check, straight after the token that names the user: a user who is unknown or on another plan
 * cannot hammer the database either.
 */
export function limitRate(limiter: Limiter): onRequestAsyncHookHandler {
  return async (request, reply) => {
    const verdict = await limiter.consume(request.leadtapToken.userId);
    reply.headers(rateLimitHeaders(verdict));
    if (verdict.violated.length > 0) throw refuseByLimit(verdict);
  };
}

/** In the syntax of the IETF draft: lists of quoted policy names with parameters. */
export const rateLimitHeaders = ({ windows }: Verdict) => ({
  'ratelimit-policy': windows
    .map(({ policy: { name, quota, windowS } }) => `"${name}";q=${quota};w=${windowS}`)
    .join(', '),
  ratelimit: windows
    .map(({ policy, remaining, resetS }) => `"${policy.name}";r=${remaining};t=${resetS}`)
    .join(', '),
});

export const refuseByLimit = ({ violated, retryAfterS }: Verdict): ProblemError =>
  new ProblemError('rate-limit-exceeded', {
    violatedPolicies: violated,
    // Whole seconds: some platforms parse nothing else.
    headers: { 'retry-after': String(Math.max(1, retryAfterS)) },
  });
