import { PROBLEMS, type ProblemCode } from '@leadtap/contract';
import type { Verification, VerifiedToken } from '../accounts/verification.ts';
import { addressKey } from './address-key.ts';
import type { PollRequest } from './poll-request.ts';
import type { PollParts } from './poll-state.ts';
import { ProblemError } from './problems.ts';
import { refuseByLimit } from './rate-limit.ts';

type TokenProblem = Extract<ProblemCode, `token-${string}`>;

interface Authentication {
  /** Whose token is this? */
  identify(request: PollRequest): VerifiedToken | Promise<VerifiedToken>;
  /** Counts the failure, and throws what the caller is told. */
  refuse(problem: TokenProblem, request: PollRequest): Promise<never>;
}

/** The first check. Failures are counted by address, so that guessing is slow. */
export function makeAuthentication({
  verifyToken,
  failedTokens,
}: Pick<PollParts, 'verifyToken' | 'failedTokens'>): Authentication {
  function identify(request: PollRequest): VerifiedToken | Promise<VerifiedToken> {
    const credentials = bearerCredentials(request.authorization);
    if (credentials === undefined) throw challenge('token-missing');
    const verification = verifyToken(credentials);
    if (verification instanceof Promise) return verification.then((found) => accept(found, request));
    return accept(verification, request);
  }

  function accept(verification: Verification, request: PollRequest): VerifiedToken | Promise<never> {
    return verification.kind === 'valid' ? verification.token : refuse(`token-${verification.kind}`, request);
  }

  async function refuse(problem: TokenProblem, request: PollRequest): Promise<never> {
    const verdict = await failedTokens.consume(addressKey(request.address()));
    throw verdict.violated.length > 0 ? refuseByLimit(verdict) : challenge(problem);
  }

  return { identify, refuse };
}

const SCHEME = 'Bearer ';

/** Undefined when there are none, or of another scheme, which RFC 6750 treats alike. */
function bearerCredentials(authorization = ''): string | undefined {
  // One pattern for the scheme and the spaces on both sides would take quadratic time on a header of spaces.
  const isBearer = authorization.startsWith(SCHEME) || /^bearer /i.test(authorization);
  const credentials = isBearer ? authorization.slice(SCHEME.length).trim() : '';
  return credentials === '' ? undefined : credentials;
}

function challenge(code: TokenProblem): ProblemError {
  const error =
    code === 'token-missing' ? '' : `, error="invalid_token", error_description="${PROBLEMS[code].title}"`;
  return new ProblemError(code, { headers: { 'www-authenticate': `Bearer realm="leadtap"${error}` } });
}
