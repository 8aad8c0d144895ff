import { PROBLEMS, type ProblemCode } from '@leadtap/contract';
import type { FastifyReply, FastifyRequest, onRequestAsyncHookHandler } from 'fastify';
import type { VerifyToken } from '../accounts/verification.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { PollStore } from '../store/store.ts';
import { addressKey } from './address-key.ts';
import { beginPoll } from './begin-poll.ts';
import { ProblemError } from './problems.ts';
import { refuseByLimit } from './rate-limit.ts';
import { remember } from './request-state.ts';

interface Parts {
  readonly store: PollStore;
  readonly verifyToken: VerifyToken;
  readonly limiter: Limiter;
  readonly failedTokens: Limiter;
}

type TokenProblem = Extract<ProblemCode, `token-${string}`>;

/** The first check: whose token is this? Failures are counted by address, so that guessing is slow. */
export function authenticate({ verifyToken, failedTokens, ...parts }: Parts): onRequestAsyncHookHandler {
  /** What is wrong with the token; undefined when nothing is. */
  async function check(
    credentials: string,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<TokenProblem | undefined> {
    const verification = await verifyToken(credentials);
    if (verification.kind !== 'valid') return `token-${verification.kind}`;
    const { token } = verification;
    const questions = beginPoll(parts, token, request, reply);
    if (token.tokenId !== undefined && (await questions.isTokenRevoked(token.tokenId)))
      return 'token-revoked';
    remember(request, { token, questions });
    return undefined;
  }

  return async (request, reply) => {
    const credentials = bearerCredentials(request);
    if (credentials === undefined) throw challenge('token-missing');
    const problem = await check(credentials, request, reply);
    if (problem === undefined) return;
    const verdict = await failedTokens.consume(addressKey(request.ip));
    if (verdict.violated.length > 0) throw refuseByLimit(verdict);
    throw challenge(problem);
  };
}

/** Undefined when there are none, or of another scheme, which RFC 6750 treats alike. */
function bearerCredentials(request: FastifyRequest): string | undefined {
  const { authorization = '' } = request.headers;
  // One pattern for the scheme and the spaces on both sides would take quadratic time on a header of spaces.
  const credentials = /^bearer /i.test(authorization) ? authorization.slice('bearer '.length).trim() : '';
  return credentials === '' ? undefined : credentials;
}

function challenge(code: TokenProblem): ProblemError {
  const error =
    code === 'token-missing' ? '' : `, error="invalid_token", error_description="${PROBLEMS[code].title}"`;
  return new ProblemError(code, { headers: { 'www-authenticate': `Bearer realm="leadtap"${error}` } });
}
