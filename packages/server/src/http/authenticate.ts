import { PROBLEMS, type ProblemCode } from '@leadtap/contract';
import { DEFAULT_TOKEN_SCOPES, type TokenScope } from '../accounts/token-scopes.ts';
import type { Verification, VerifiedToken, VerifyToken } from '../accounts/tokens.ts';
import { isPromise } from '../event-loop.ts';
import type { Limiter } from '../limits/limiter.ts';
import { ProblemError, type ProblemParts } from './problems.ts';
import { addressKey, rateLimitExceeded } from './rate-limit.ts';

type RefusedToken = Pick<ProblemParts, 'token' | 'unverifiedToken'>;
type TokenProblem = Extract<ProblemCode, `token-${string}`>;

/** Verifies the token. Failures are limited by address, so that guessing tokens is slow. */
export function createAuthentication(verifyToken: VerifyToken, failedTokens: Limiter) {
  /** The user and id of the token in the Authorization header. */
  function authenticate(
    authorization: string | undefined,
    address: string,
    missingDetail?: string,
  ): VerifiedToken | Promise<VerifiedToken> {
    const credentials = parseAuthorization(authorization);
    if (credentials === undefined)
      throw challenge('token-missing', {
        detail: JWT_ALONE.test(authorization ?? '') ? WITHOUT_SCHEME : missingDetail,
      });
    const { token } = credentials;
    if (token === undefined) return rejectToken('token-invalid', address);
    const verification = verifyToken(token);
    return isPromise(verification)
      ? verification.then((verified) => accept(verified, address))
      : accept(verification, address);
  }

  function accept(verification: Verification, address: string): VerifiedToken | Promise<never> {
    if (verification.kind === 'valid') return verification.token;
    return rejectToken(`token-${verification.kind}`, address, verification);
  }

  /** Counts the failure for the address, then throws the problem. */
  async function rejectToken(
    problem: TokenProblem,
    address: string,
    refused: RefusedToken = {},
  ): Promise<never> {
    const verdict = await failedTokens.consume(addressKey(address));
    throw verdict.violated.length > 0 ? rateLimitExceeded(verdict) : challenge(problem, refused);
  }

  return { authenticate, rejectToken };
}

/** RFC 6750: the scheme in any case, one space, then printable characters without spaces. */
const CREDENTIALS = /^bearer ([!-~]+)$/i;
const SCHEME = /^bearer(?=[ \t]|$)/i;
const JWT_ALONE = /^[\w-]+\.[\w-]+\.[\w-]+$/;
const WITHOUT_SCHEME =
  'The header `Authorization` has a token alone. Write `Bearer` and a space before it: `Authorization: Bearer <ACCESS_TOKEN>`.';

/**
 * The token of an Authorization header. Undefined if there is none or the scheme is another one, which RFC 6750 treats alike.
 * A token has one spelling: with a tab or more spaces around it, it is invalid.
 */
function parseAuthorization(authorization = ''): { readonly token: string | undefined } | undefined {
  const token = CREDENTIALS.exec(authorization)?.[1];
  if (token !== undefined) return { token };
  const isEmpty = !SCHEME.test(authorization) || authorization.slice('Bearer'.length).trim() === '';
  return isEmpty ? undefined : { token };
}

export const hasTokenScope = ({ scopes = DEFAULT_TOKEN_SCOPES }: VerifiedToken, scope: TokenScope): boolean =>
  scopes.includes(scope);

/** RFC 6750: a token that is valid, but not for this request. */
export function requireTokenScope(token: VerifiedToken, scope: TokenScope): void {
  if (hasTokenScope(token, scope)) return;
  const code = 'insufficient-scope';
  const error = `error="insufficient_scope", error_description="${PROBLEMS[code].title}", scope="${scope}"`;
  const headers = { 'www-authenticate': `${SCHEME_AND_REALM}, ${error}` };
  throw new ProblemError(code, { headers, detail: INSUFFICIENT_SCOPE[scope] });
}

const INSUFFICIENT_SCOPE: Readonly<Record<TokenScope, string>> = {
  'leads:read': 'This token may not read leads. Use a token with the scope `leads:read`.',
  'leads:write': 'This token may not send leads. Use a token with the scope `leads:write`.',
};

const SCHEME_AND_REALM = 'Bearer realm="leadtap"';

function challenge(
  code: TokenProblem,
  { token, unverifiedToken, detail }: RefusedToken & { readonly detail?: string | undefined } = {},
): ProblemError {
  const error =
    code === 'token-missing' ? '' : `, error="invalid_token", error_description="${PROBLEMS[code].title}"`;
  return new ProblemError(code, {
    headers: { 'www-authenticate': `${SCHEME_AND_REALM}${error}` },
    token,
    unverifiedToken,
    ...(detail !== undefined && { detail }),
  });
}
