import { poll } from '../leads/poll.ts';
import { CallerGoneError } from '../store/store.ts';
import { makeAuthentication } from './authenticate.ts';
import { requirePlan, requireUser } from './caller.ts';
import { matches } from './etag.ts';
import { pageHeaders } from './page-headers.ts';
import type { PollRequest } from './poll-request.ts';
import type { PollAnswer, PollParts, PollState } from './poll-state.ts';
import { parseQuery } from './query.ts';
import { rateLimitHeaders, refuseByLimit } from './rate-limit.ts';

export type AnswerPoll = (request: PollRequest, state: PollState) => Promise<PollAnswer>;

/**
 * `GET {base_url}/automation/new-leads`, whoever received the request. The order of the checks is the order of this
 * function: token (401), rate limit (429), user (404), plan (403), query (400). What they find wrong is thrown as a
 * problem. What is known at once is not waited for: with limits in memory, a poll waits once, for the look at the store.
 */
export function makeAnswerPoll({ answersFor, limiter, ...parts }: PollParts): AnswerPoll {
  const { identify, refuse } = makeAuthentication(parts);
  return async (request, state) => {
    let token = identify(request);
    if (token instanceof Promise) token = await token;
    const answers = await answersFor(token);
    let isRevoked = answers.isTokenRevoked();
    if (isRevoked instanceof Promise) isRevoked = await isRevoked;
    if (isRevoked) await refuse('token-revoked', request);
    state.tokenId = token.tokenId;

    let verdict = limiter.consume(token.userId);
    if (verdict instanceof Promise) verdict = await verdict;
    rateLimitHeaders(verdict, state.headers);
    if (verdict.violated.length > 0) throw refuseByLimit(verdict);
    // Counted all the same: else whoever hangs up at once could ask the store without a limit.
    if (request.isGone()) throw new CallerGoneError('the caller has gone');

    let found = answers.findUser();
    if (found instanceof Promise) found = await found;
    const user = requirePlan(requireUser(found, token));
    const query = parseQuery(request.search);
    let polled = poll((page) => answers.readPage(page, () => request.whenGone()), user, query);
    if (polled instanceof Promise) polled = await polled;

    pageHeaders(request.baseUrl(), polled, query, state.headers);
    const status = matches(request.ifNoneMatch, polled.page.leads.etag) ? 304 : 200;
    state.answer = { status, poll: polled, query };
    return state.answer;
  };
}
