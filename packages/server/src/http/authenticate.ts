import { PROBLEMS, type ProblemCode } from '@leadtap/contract';
import type { VerifiedToken } from '../accounts/verification.ts';
import type { PollAnswers } from '../leads/poll-answers.ts';
import { addressKey } from './address-key.ts';
import type { PollRequest } from './poll-request.ts';
import type { PollParts } from './poll-state.ts';
import { ProblemError } from './problems.ts';
import { refuseByLimit } from './rate-limit.ts';

type TokenProblem = Extract<ProblemCode, `token-${string}`>;

interface Caller {
  readonly token: VerifiedToken;
  readonly answers: PollAnswers;
}

type Authenticate = (request: PollRequest) => Promise<Caller>;

/** The first check: whose token is this? Failures are counted by address, so that guessing is slow. */
export function makeAuthenticate({
  verifyToken,
  answersFor,
  failedTokens,
}: Omit<PollParts, 'limiter'>): Authenticate {
  return async (request) => {
    const credentials = bearerCredentials(request.authorization);
    if (credentials === undefined) throw challenge('token-missing');
    let verification = verifyToken(credentials);
    if (verification instanceof Promise) verification = await verification;
    if (verification.kind !== 'valid') return refuse(`token-${verification.kind}`, request);
    const { token } = verification;
    const answers = await answersFor(token);
    let isRevoked = answers.isTokenRevoked();
    if (isRevoked instanceof Promise) isRevoked = await isRevoked;
    if (isRevoked) return refuse('token-revoked', request);
    return { token, answers };
  };

  async function refuse(problem: TokenProblem, request: PollRequest): Promise<never> {
    const verdict = await failedTokens.consume(addressKey(request.address()));
    throw verdict.violated.length > 0 ? refuseByLimit(verdict) : challenge(problem);
  }
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
