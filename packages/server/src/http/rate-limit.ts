import type { HeaderValues } from '@leadtap/contract';
import type { onRequestAsyncHookHandler } from 'fastify';
import type { Limiter, Verdict } from '../limits/limiter.ts';
import { ProblemError } from './problems.ts';
import { tokenOf } from './request-state.ts';

/**
 * The second check, straight after the token that names the user. It counts for users who are unknown or on another
 * plan too; whoever is over it costs the store no more than the question whether the token is revoked.
 */
export function limitRate(limiter: Limiter): onRequestAsyncHookHandler {
  return async (request, reply) => {
    const verdict = await limiter.consume(tokenOf(request).userId);
    reply.headers(rateLimitHeaders(verdict));
    if (verdict.violated.length > 0) throw refuseByLimit(verdict);
  };
}

/** In the syntax of the IETF draft: lists of quoted policy names with parameters. */
const rateLimitHeaders = ({ windows }: Verdict): HeaderValues => ({
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
