import { PROBLEMS, type ProblemCode } from '@leadtap/contract';
import type { VerifiedToken, VerifyToken } from '../accounts/tokens.ts';
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
    const credentials = bearerToken(authorization);
    if (credentials === undefined) throw challenge('token-missing');
    const { token } = credentials;
    if (token === undefined) return refuse('token-invalid', address);
    const verification = await verifyToken(token);
    if (verification.kind === 'valid') return verification.token;
    return refuse(`token-${verification.kind}`, address);
  }

  async function refuse(problem: TokenProblem, address: string): Promise<never> {
    const verdict = await failedTokens.consume(addressKey(address));
    throw verdict.violated.length > 0 ? refuseByLimit(verdict) : challenge(problem);
  }

  return { identify, refuse };
}

/** RFC 6750: the scheme in any case, then one space. */
const SCHEME = /^bearer(?=[ \t]|$)/i;
/** Printable, without spaces. */
const TOKEN = /^ ([!-~]+)$/;

/**
 * The token of an Authorization header; undefined when there is none, or of another scheme, which RFC 6750 treats alike.
 * A token has one spelling: with a tab or further spaces around it, it is not a token.
 */
function bearerToken(authorization = ''): { readonly token: string | undefined } | undefined {
  if (!SCHEME.test(authorization)) return undefined;
  const credentials = authorization.slice('Bearer'.length);
  if (credentials.trim() === '') return undefined;
  return { token: TOKEN.exec(credentials)?.[1] };
}

function challenge(code: TokenProblem): ProblemError {
  const error =
    code === 'token-missing' ? '' : `, error="invalid_token", error_description="${PROBLEMS[code].title}"`;
  return new ProblemError(code, { headers: { 'www-authenticate': `Bearer realm="leadtap"${error}` } });
}
