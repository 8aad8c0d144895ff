import { PROBLEMS, type ProblemCode } from '@leadtap/contract';
import type { VerifiedToken, VerifyToken } from '../accounts/verification.ts';
import type { Limiter } from '../limits/limiter.ts';
import { addressKey } from './address-key.ts';
import { ProblemError } from './problems.ts';
import { refuseByLimit } from './rate-limit.ts';

type TokenProblem = Extract<ProblemCode, `token-${string}`>;

interface Authentication {
  /** The user and id of the token in the Authorization header. */
  identify(authorization: string | undefined, address: string): Promise<VerifiedToken>;
  /** Counts the failure for the address, and throws the problem. */
  refuse(problem: TokenProblem, address: string): Promise<never>;
}

/** The first check. Failures are counted by address, so that guessing is slow. */
export function makeAuthentication(verifyToken: VerifyToken, failedTokens: Limiter): Authentication {
  async function identify(authorization: string | undefined, address: string): Promise<VerifiedToken> {
    const credentials = bearerCredentials(authorization);
    if (credentials === undefined) throw challenge('token-missing');
    const verification = await verifyToken(credentials);
    if (verification.kind === 'valid') return verification.token;
    return refuse(`token-${verification.kind}`, address);
  }

  async function refuse(problem: TokenProblem, address: string): Promise<never> {
    const verdict = await failedTokens.consume(addressKey(address));
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
