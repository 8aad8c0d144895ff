import { PROBLEMS, type ProblemCode } from '@leadtap/contract';
import type { FastifyRequest, onRequestAsyncHookHandler } from 'fastify';
import type { VerifiedToken, VerifyToken } from '../accounts/verification.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { PollStore } from '../store/store.ts';
import { addressKey } from './address-key.ts';
import { ProblemError } from './problems.ts';
import { refuseByLimit } from './rate-limit.ts';
import { remember } from './request-state.ts';

interface Parts {
  readonly store: Pick<PollStore, 'isTokenRevoked'>;
  readonly verifyToken: VerifyToken;
  readonly failedTokens: Limiter;
}

type TokenProblem = Extract<ProblemCode, `token-${string}`>;

/** The first check: whose token is this? Failures are counted by address, so that guessing is slow. */
export function authenticate({ store, verifyToken, failedTokens }: Parts): onRequestAsyncHookHandler {
  async function check(credentials: string): Promise<VerifiedToken | TokenProblem> {
    const verification = await verifyToken(credentials);
    if (verification.kind !== 'valid') return `token-${verification.kind}`;
    const { tokenId } = verification.token;
    if (tokenId !== undefined && (await store.isTokenRevoked(tokenId))) return 'token-revoked';
    return verification.token;
  }

  return async (request) => {
    const credentials = bearerCredentials(request);
    if (credentials === undefined) throw challenge('token-missing');
    const outcome = await check(credentials);
    if (typeof outcome !== 'string') {
      remember(request, { token: outcome });
      return;
    }
    const verdict = await failedTokens.consume(addressKey(request.ip));
    if (verdict.violated.length > 0) throw refuseByLimit(verdict);
    throw challenge(outcome);
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
