/** Finds out who sends a request, by its token (401), and runs the checks of `authorize.ts`. */
import type { IncomingMessage } from 'node:http';
import { PROBLEMS, type ProblemCode } from '@leadtap/contract';
import { TokenVerificationUnavailableError } from '../accounts/external-tokens.ts';
import type { TokenScope, VerifiedToken } from '../accounts/records.ts';
import type { VerifyToken } from '../accounts/tokens.ts';
import { type PollingUser, seeSameLeads } from '../leads/access.ts';
import { type Clock, systemClock } from '../lib/clock.ts';
import { andThen, isPromise } from '../lib/event-loop.ts';
import { FAILED_TOKEN_POLICIES, type Limiter, MemoryLimiter } from '../limits/limiter.ts';
import { StoreUnavailableError } from '../sql/errors.ts';
import {
  type AccessRule,
  addressKey,
  authorize,
  hasTokenScope,
  rateLimitExceeded,
  SCHEME_AND_REALM,
} from './authorize.ts';
import type { Exchange } from './exchange.ts';
import { ProblemError, type ProblemParts } from './problems.ts';

/** A token and its user, as they are now. */
export interface CurrentAccount {
  readonly isRevoked: boolean;
  readonly user: PollingUser | undefined;
}

/** The accounts of callers. */
export interface Accounts<Account extends CurrentAccount = CurrentAccount> {
  revalidateFor(token: VerifiedToken): Promise<Account>;
}

/** Who sends a request. */
export interface Caller<Account extends CurrentAccount = CurrentAccount> {
  readonly token: VerifiedToken;
  readonly user: PollingUser;
  readonly account: Account;
}

export interface IdentificationOptions {
  readonly verifyToken: VerifyToken;
  /** Default: 600 a minute for each address, in the memory of this process. */
  readonly failedTokens?: Limiter | undefined;
  readonly clock?: Clock | undefined;
}

/** What an endpoint asks of its callers. */
export interface CallerRule<Account extends CurrentAccount = CurrentAccount>
  extends IdentificationOptions,
    AccessRule {
  readonly accounts: Accounts<Account>;
  /** The token in the URL, if the endpoint knows one there. URLs are written to logs, so the token must not read leads. */
  readonly urlTokenOf?: (request: IncomingMessage) => string | undefined;
  /** Tokens in the URL are not accepted now, and this says what to do. */
  readonly urlTokensOff?: string | undefined;
}

export interface Identification<Account extends CurrentAccount = CurrentAccount> {
  readonly scope: TokenScope;
  /** All checks. */
  identify(exchange: Exchange): Caller<Account> | Promise<Caller<Account>>;
  /** Without the rate limit, for a request that was counted and has waited since. */
  identifyAgain(exchange: Exchange): Caller<Account> | Promise<Caller<Account>>;
}

export function createIdentification<Account extends CurrentAccount>(
  rule: CallerRule<Account>,
): Identification<Account> {
  const { accounts, verifyToken, scope, urlTokenOf, urlTokensOff, clock = systemClock } = rule;
  const { failedTokens = new MemoryLimiter(FAILED_TOKEN_POLICIES, clock) } = rule;

  /** The token of the request, with a valid signature. */
  function authenticate(exchange: Exchange): VerifiedToken | Promise<VerifiedToken> {
    const { request } = exchange;
    const { authorization } = request.headers;
    const urlToken = authorization === undefined ? urlTokenOf?.(request) : undefined;
    if (urlToken !== undefined)
      return urlTokensOff === undefined
        ? authenticateUrl(urlToken, exchange)
        : refuseUrl(urlToken, urlTokensOff);
    const credentials = parseAuthorization(authorization);
    if (credentials === undefined) throw tokenMissing(authorization);
    return verify(credentials.token, exchange);
  }

  async function authenticateUrl(urlToken: string, exchange: Exchange): Promise<VerifiedToken> {
    const credentials = parseAuthorization(`Bearer ${urlToken}`);
    if (credentials === undefined) throw tokenMissing();
    const token = await verify(credentials.token, exchange);
    return hasTokenScope(token, 'leads:read') ? rejectToken('token-invalid', exchange.address) : token;
  }

  /**
   * The answer is that of a request without a token, whatever the token is: so no failure is counted. The problem has the token only
   * if it would be accepted in the URL, so that the status page can say what its sender loses.
   */
  async function refuseUrl(urlToken: string, detail: string): Promise<never> {
    const token = await findVerified(verifyToken, urlToken);
    const canSend = token && hasTokenScope(token, 'leads:write') && !hasTokenScope(token, 'leads:read');
    throw challenge('token-missing', { token: canSend ? token : undefined }, detail);
  }

  function verify(token: string | undefined, exchange: Exchange): VerifiedToken | Promise<VerifiedToken> {
    if (token === undefined) return rejectToken('token-invalid', exchange.address);
    const verification = verifyToken(token);
    // After a reset the address is unknown.
    const address = isPromise(verification) ? exchange.address : undefined;
    return andThen(verification, (verified) =>
      verified.kind === 'valid'
        ? verified.token
        : rejectToken(
            `token-${verified.kind}`,
            address ?? exchange.address,
            verified.kind === 'expired' ? verified : {},
          ),
    );
  }

  /** Counts the failure for the address, so that guessing tokens is slow, then throws the problem. */
  async function rejectToken(
    problem: TokenProblem,
    address: string,
    refused: Pick<ProblemParts, 'token'> = {},
  ): Promise<never> {
    const verdict = await failedTokens.consume(addressKey(address));
    throw verdict.violated.length > 0 ? rateLimitExceeded(verdict) : challenge(problem, refused);
  }

  /** All checks, synchronous except for what is not in memory. */
  const identify = (
    exchange: Exchange,
    skipsRateLimit: boolean,
  ): Caller<Account> | Promise<Caller<Account>> =>
    andThen(authenticate(exchange), (token) =>
      andThen(accounts.revalidateFor(token), (account) => {
        // The tokens of a removed user are revoked, for the case that a user of this id is added again. Until then they get the 404.
        if (account.isRevoked && account.user?.id === token.userId)
          return rejectToken('token-revoked', exchange.address, { token });
        exchange.token = token;
        return andThen(authorize(exchange, token, account.user, rule, skipsRateLimit), (user) => ({
          token,
          user,
          account,
        }));
      }),
    );

  return {
    scope,
    identify: (exchange) => identify(exchange, false),
    identifyAgain: (exchange) => identify(exchange, true),
  };
}

/** A token whose signature is valid, for the operator: the answer does not depend on it. */
export async function findVerified(
  verifyToken: VerifyToken,
  text: string,
): Promise<VerifiedToken | undefined> {
  try {
    const verified = await verifyToken(text);
    return verified.kind === 'invalid' ? undefined : verified.token;
  } catch (error) {
    if (error instanceof TokenVerificationUnavailableError) return undefined;
    throw error;
  }
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
export async function readVerified<Account extends CurrentAccount, Result>(
  callers: Identification<Account>,
  exchange: Exchange,
  first: Caller<Account>,
  firstResult: Result,
  read: (caller: Caller<Account>) => Result | Promise<Result>,
): Promise<{ readonly caller: Caller<Account>; readonly result: Result }> {
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

type TokenProblem = Extract<ProblemCode, `token-${string}`>;

const tokenMissing = (authorization = ''): ProblemError =>
  challenge('token-missing', {}, JWT_ALONE.test(authorization) ? WITHOUT_SCHEME : undefined);

function challenge(
  code: TokenProblem,
  { token }: Pick<ProblemParts, 'token'>,
  detail?: string,
): ProblemError {
  const error =
    code === 'token-missing' ? '' : `, error="invalid_token", error_description="${PROBLEMS[code].title}"`;
  return new ProblemError(code, {
    headers: { 'www-authenticate': `${SCHEME_AND_REALM}${error}` },
    token,
    ...(detail !== undefined && { detail }),
  });
}
