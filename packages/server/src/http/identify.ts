/** The checks that every endpoint begins with: token (401), rate limit (429), user (404). */
import type { IncomingMessage } from 'node:http';
import type { VerifiedToken, VerifyToken } from '../accounts/tokens.ts';
import { type Clock, systemClock } from '../clock.ts';
import { isPromise } from '../event-loop.ts';
import type { PollingUser } from '../leads/access.ts';
import { FAILED_TOKEN_POLICIES, type Limiter } from '../limits/limiter.ts';
import { MemoryLimiter } from '../limits/memory-limiter.ts';
import type { PollReaders } from '../poll/cache/poll-cache.ts';
import type { PollReader } from '../poll/pages.ts';
import type { PollStore } from '../poll/store.ts';
import { ClientDisconnectedError } from '../store/errors.ts';
import { createAuthentication, hasTokenScope } from './authenticate.ts';
import { isDisconnected } from './connections.ts';
import type { Exchange } from './exchange.ts';
import { ProblemError } from './problems.ts';
import { addRateLimitHeaders, rateLimitExceeded } from './rate-limit.ts';

export interface IdentificationOptions {
  readonly store: PollStore;
  readonly verifyToken: VerifyToken;
  /** Default: 600 a minute for each address, in the memory of this process. */
  readonly failedTokens?: Limiter | undefined;
  readonly clock?: Clock | undefined;
}

export interface Identity {
  readonly token: VerifiedToken;
  readonly user: PollingUser;
  readonly reader: PollReader;
}

interface EndpointOptions extends Omit<IdentificationOptions, 'store'> {
  readonly readers: PollReaders;
  readonly limiter: Limiter;
  readonly rateLimitDetail?: string;
  /** The token in the URL, if the endpoint accepts one there. URLs are written to logs, so the token must not read leads. */
  readonly urlTokenOf?: (request: IncomingMessage) => string | undefined;
  /** What to do about a request without a token, if it is not the usual. */
  readonly missingTokenDetail?: (request: IncomingMessage) => string | undefined;
}

export interface Identification {
  /** All three checks. */
  identify(exchange: Exchange): Promise<Identity>;
  /** Without the rate limit, for a request that was counted and has waited since. */
  identifyAgain(exchange: Exchange): Promise<Identity>;
}

export function createIdentification(options: EndpointOptions): Identification {
  const { readers, verifyToken, limiter, rateLimitDetail, urlTokenOf, missingTokenDetail } = options;
  const { clock = systemClock } = options;
  const { failedTokens = new MemoryLimiter(FAILED_TOKEN_POLICIES, clock) } = options;
  const { authenticate, rejectToken } = createAuthentication(verifyToken, failedTokens);

  async function identify(exchange: Exchange, isCounted: boolean): Promise<Identity> {
    const { request, response, context, headers, state } = exchange;
    const { address } = context;
    const { authorization } = request.headers;
    const urlToken = authorization === undefined ? urlTokenOf?.(request) : undefined;
    const missing = authorization === undefined ? missingTokenDetail?.(request) : undefined;
    const given = urlToken === undefined ? authorization : `Bearer ${urlToken}`;
    const verified = authenticate(given, address, missing);
    const token = isPromise(verified) ? await verified : verified;
    if (urlToken !== undefined && hasTokenScope(token, 'leads:read'))
      await rejectToken('token-invalid', address);
    const reader = await readers.revalidateFor(token);
    const isRevoked = reader.isTokenRevoked();
    if (isPromise(isRevoked) ? await isRevoked : isRevoked)
      await rejectToken('token-revoked', address, { token });
    state.token = token;
    if (isCounted) {
      // Counted even if the client has disconnected: disconnecting must not be a way around the limit.
      const consumed = limiter.consume(token.userId);
      const verdict = isPromise(consumed) ? await consumed : consumed;
      addRateLimitHeaders(headers, verdict);
      if (verdict.violated.length > 0) throw rateLimitExceeded(verdict, rateLimitDetail);
      if (isDisconnected(request, response)) throw new ClientDisconnectedError('the client has disconnected');
    }
    const found = reader.findUser();
    const user = isPromise(found) ? await found : found;
    // The ids are compared again: a database that ignores case, or cuts a text at NUL, finds other users.
    if (user?.id !== token.userId) throw new ProblemError('user-not-found');
    return { token, reader, user };
  }

  return {
    identify: (exchange) => identify(exchange, true),
    identifyAgain: (exchange) => identify(exchange, false),
  };
}
