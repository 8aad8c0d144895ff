/** Finds out who sends a request, by its token (401), and runs the checks of `authorize.ts`. */
import type { IncomingMessage } from 'node:http';
import { PROBLEMS, type ProblemCode } from '@leadtap/contract';
import type { TokenScope, VerifiedToken } from '../accounts/records.ts';
import type { VerifyToken } from '../accounts/tokens.ts';
import { type PollingUser, seeSameLeads } from '../leads/access.ts';
import { type Clock, systemClock } from '../lib/clock.ts';
import { andThen, isPromise } from '../lib/event-loop.ts';
import { FAILED_TOKEN_POLICIES, type Limiter, MemoryLimiter } from '../limits/limiter.ts';
import { StoreUnavailableError } from '../sql/errors.ts';
import {
  addressKey,
  checkAccess,
  countRequest,
  hasTokenScope,
  type RateLimit,
  rateLimitExceeded,
  SCHEME_AND_REALM,
} from './authorize.ts';
import type { Exchange } from './exchange.ts';
import { ProblemError, type ProblemParts } from './problems.ts';

/** The account of one token. */
export interface AccountReader {
  isTokenRevoked(): boolean;
  findUser(): PollingUser | undefined;
}

/** The accounts of callers as they are now. */
export interface Accounts<Reader extends AccountReader = AccountReader> {
  revalidateFor(token: VerifiedToken): Promise<Reader>;
}

/** Who sends a request. */
export interface Caller<Reader extends AccountReader = AccountReader> {
  readonly token: VerifiedToken;
  readonly user: PollingUser;
  readonly reader: Reader;
}

export interface IdentificationOptions {
  readonly verifyToken: VerifyToken;
  /** Default: 600 a minute for each address, in the memory of this process. */
  readonly failedTokens?: Limiter | undefined;
  readonly clock?: Clock | undefined;
}

/** What an endpoint asks of its callers. */
export interface CallerRule<Reader extends AccountReader = AccountReader>
  extends IdentificationOptions,
    RateLimit {
  readonly accounts: Accounts<Reader>;
  /** With `leads:read` the user also needs the plan for polls. */
  readonly scope: TokenScope;
  /** The token in the URL, if the endpoint accepts one there. URLs are written to logs, so the token must not read leads. */
  readonly urlTokenOf?: (request: IncomingMessage) => string | undefined;
  /** What to do about a request without a token, if it is not the usual. */
  readonly missingTokenDetail?: (request: IncomingMessage) => string | undefined;
}

export interface Identification<Reader extends AccountReader = AccountReader> {
  readonly scope: TokenScope;
  /** All checks. */
  identify(exchange: Exchange): Caller<Reader> | Promise<Caller<Reader>>;
  /** Without the rate limit, for a request that was counted and has waited since. */
  identifyAgain(exchange: Exchange): Caller<Reader> | Promise<Caller<Reader>>;
}

export function createIdentification<Reader extends AccountReader>(
  rule: CallerRule<Reader>,
): Identification<Reader> {
  const { accounts, verifyToken, scope, urlTokenOf, missingTokenDetail, clock = systemClock } = rule;
  const { failedTokens = new MemoryLimiter(FAILED_TOKEN_POLICIES, clock) } = rule;

  /** The token of the request, with a valid signature. */
  function authenticate(exchange: Exchange): VerifiedToken | Promise<VerifiedToken> {
    const { request } = exchange;
    const { authorization } = request.headers;
    const urlToken = authorization === undefined ? urlTokenOf?.(request) : undefined;
    if (urlToken !== undefined) return authenticateUrl(urlToken, exchange);
    const credentials = parseAuthorization(authorization);
    if (credentials === undefined)
      throw tokenMissing(
        authorization,
        authorization === undefined ? missingTokenDetail?.(request) : undefined,
      );
    return verify(credentials.token, exchange);
  }

  async function authenticateUrl(urlToken: string, exchange: Exchange): Promise<VerifiedToken> {
    const credentials = parseAuthorization(`Bearer ${urlToken}`);
    if (credentials === undefined) throw tokenMissing();
    const token = await verify(credentials.token, exchange);
    return hasTokenScope(token, 'leads:read') ? rejectToken('token-invalid', exchange.address) : token;
  }

  function verify(token: string | undefined, exchange: Exchange): VerifiedToken | Promise<VerifiedToken> {
    if (token === undefined) return rejectToken('token-invalid', exchange.address);
    const verification = verifyToken(token);
    // After a reset the address is unknown.
    const address = isPromise(verification) ? exchange.address : undefined;
    return andThen(verification, (verified) =>
      verified.kind === 'valid'
        ? verified.token
        : rejectToken(`token-${verified.kind}`, address ?? exchange.address, verified),
    );
  }

  /** Counts the failure for the address, so that guessing tokens is slow, then throws the problem. */
  async function rejectToken(
    problem: TokenProblem,
    address: string,
    refused: RefusedToken = {},
  ): Promise<never> {
    const verdict = await failedTokens.consume(addressKey(address));
    throw verdict.violated.length > 0 ? rateLimitExceeded(verdict) : challenge(problem, refused);
  }

  /** All checks, synchronous except for what is not in memory. */
  const identify = (exchange: Exchange, isCounted: boolean): Caller<Reader> | Promise<Caller<Reader>> =>
    andThen(authenticate(exchange), (token) =>
      andThen(accounts.revalidateFor(token), (reader) => {
        // The tokens of a removed user are revoked, for the case that a user of this id is added again. Until then they get the 404.
        if (reader.isTokenRevoked() && reader.findUser()?.id === token.userId)
          return rejectToken('token-revoked', exchange.address, { token });
        exchange.token = token;
        return andThen(isCounted ? countRequest(exchange, token.userId, rule) : undefined, () => {
          const user = reader.findUser();
          checkAccess(token, user, scope);
          return { token, user, reader };
        });
      }),
    );

  return {
    scope,
    identify: (exchange) => identify(exchange, true),
    identifyAgain: (exchange) => identify(exchange, false),
  };
}

/** RFC 6750: the scheme in any case, one space, then printable characters without spaces. */
const CREDENTIALS = /^bearer [!-~]+$/i;
const SCHEME = /^bearer(?=[ \t]|$)/i;
const JWT_ALONE = /^[\w-]+\.[\w-]+\.[\w-]+$/;
const WITHOUT_SCHEME =
  'The header `Authorization` has a token alone. Write `Bearer` and a space before it: `Authorization: Bearer <ACCESS_TOKEN>`.';

/**
 * The token of an Authorization header. Undefined if there is none or the scheme is another one, which RFC 6750 treats alike.
 * A token has one spelling: with a tab or more spaces around it, it is invalid.
 */
function parseAuthorization(authorization = ''): { readonly token: string | undefined } | undefined {
  if (CREDENTIALS.test(authorization)) return { token: authorization.slice('Bearer '.length) };
  const isEmpty = !SCHEME.test(authorization) || authorization.slice('Bearer'.length).trim() === '';
  return isEmpty ? undefined : { token: undefined };
}

/** How often leads are read because the access level of their user has changed meanwhile. */
const MAX_TRIES = 5;

/**
 * No answer contains a lead that was committed after the account had lost the right to see it. So leads that may be newer than the
 * last check of the account are returned only after another check. If the access level has changed, they are read again.
 */
export async function readVerified<Reader extends AccountReader, Result>(
  callers: Identification<Reader>,
  exchange: Exchange,
  first: Caller<Reader>,
  firstResult: Result,
  read: (caller: Caller<Reader>) => Result | Promise<Result>,
): Promise<{ readonly caller: Caller<Reader>; readonly result: Result }> {
  let caller = first;
  let result = firstResult;
  for (let tries = 1; tries <= MAX_TRIES; tries += 1) {
    const current = await callers.identifyAgain(exchange);
    if (seeSameLeads(caller.user, current.user)) return { caller, result };
    caller = current;
    result = await read(caller);
  }
  throw new StoreUnavailableError(`the access level of the user has changed ${MAX_TRIES} times`);
}

type RefusedToken = Pick<ProblemParts, 'token' | 'unverifiedToken'>;
type TokenProblem = Extract<ProblemCode, `token-${string}`>;

const tokenMissing = (authorization = '', detail?: string): ProblemError =>
  challenge('token-missing', {}, JWT_ALONE.test(authorization) ? WITHOUT_SCHEME : detail);

function challenge(
  code: TokenProblem,
  { token, unverifiedToken }: RefusedToken,
  detail?: string,
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
