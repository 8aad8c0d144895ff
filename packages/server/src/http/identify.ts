/** The checks that every endpoint begins with: token (401), rate limit (429), user (404). */
import type { VerifiedToken, VerifyToken } from '../accounts/tokens.ts';
import { readerFactory } from '../cache/poll-cache.ts';
import { type Clock, systemClock } from '../clock.ts';
import type { PollingUser } from '../leads/access.ts';
import type { PollReader } from '../leads/poll.ts';
import { FAILED_TOKEN_POLICIES, type Limiter } from '../limits/limiter.ts';
import { MemoryLimiter } from '../limits/memory-limiter.ts';
import { ClientDisconnectedError, type PollStore } from '../store/store.ts';
import { createAuthentication } from './authenticate.ts';
import { isDisconnected } from './connections.ts';
import type { Exchange } from './exchange.ts';
import { ProblemError } from './problems.ts';
import { addRateLimitHeaders, rateLimitExceeded } from './rate-limit.ts';

export interface IdentificationOptions {
  readonly store: PollStore;
  readonly verifyToken: VerifyToken;
  /** Default: 600 a minute for each address, in the memory of this process. */
  readonly failedTokens?: Limiter;
  readonly clock?: Clock;
}

export interface Identity {
  readonly token: VerifiedToken;
  readonly user: PollingUser;
  readonly reader: PollReader;
}

export type Identify = (exchange: Exchange) => Promise<Identity>;

export function createIdentification(
  options: IdentificationOptions & { readonly limiter: Limiter; readonly rateLimitDetail?: string },
): Identify {
  const { store, verifyToken, limiter, rateLimitDetail, clock = systemClock } = options;
  const { failedTokens = new MemoryLimiter(FAILED_TOKEN_POLICIES, clock) } = options;
  const { authenticate, rejectToken } = createAuthentication(verifyToken, failedTokens);
  const createReader = readerFactory(store);

  return async ({ request, response, context: { address }, headers, state }) => {
    const token = await authenticate(request.headers.authorization, address);
    const reader = await createReader(token);
    if (await reader.isTokenRevoked()) await rejectToken('token-revoked', address);
    state.tokenId = token.tokenId;

    // Counted even if the client has disconnected: disconnecting must not be a way around the limit.
    const verdict = await limiter.consume(token.userId);
    addRateLimitHeaders(headers, verdict);
    if (verdict.violated.length > 0) throw rateLimitExceeded(verdict, rateLimitDetail);
    if (isDisconnected(request, response)) throw new ClientDisconnectedError('the client has disconnected');

    // The ids are compared again: a database that ignores case, or cuts a text at NUL, finds other users.
    const user = await reader.findUser();
    if (user?.id !== token.userId) throw new ProblemError('user-not-found');
    return { token, user, reader };
  };
}
