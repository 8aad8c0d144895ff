import type { VerifyToken } from '../accounts/verification.ts';
import { type Poll, type PollQuery, poll } from '../leads/poll.ts';
import type { PollAnswers } from '../leads/poll-answers.ts';
import type { Limiter } from '../limits/limiter.ts';
import { type Bearer, CallerGoneError } from '../store/store.ts';
import { makeAuthenticate } from './authenticate.ts';
import { requirePlan, requireUser } from './caller.ts';
import { matches } from './etag.ts';
import { pageHeaders } from './page-headers.ts';
import type { PollRequest } from './poll-request.ts';
import type { ProblemError } from './problems.ts';
import { parseQuery } from './query.ts';
import { rateLimitHeaders, refuseByLimit } from './rate-limit.ts';

export interface PollParts {
  readonly verifyToken: VerifyToken;
  /** Begins the answers to what a poll of this bearer asks. */
  readonly answersFor: (bearer: Bearer) => PollAnswers | Promise<PollAnswers>;
  readonly limiter: Limiter;
  readonly failedTokens: Limiter;
}

export const JSON_MEDIA_TYPE = 'application/json; charset=utf-8';

/** Names and values in turn, as Node sends them fastest. */
export type HeaderList = string[];

export interface PollAnswer {
  readonly status: 200 | 304;
  readonly poll: Poll;
  readonly query: PollQuery;
}

/** What was found out about a poll so far: for the answer, the metrics and the log, however it ends. */
export interface PollState {
  readonly headers: HeaderList;
  tokenId?: string | undefined;
  answer?: PollAnswer;
  problem?: ProblemError;
}

export type AnswerPoll = (request: PollRequest, state: PollState) => Promise<PollAnswer>;

/**
 * `GET {base_url}/automation/new-leads`, whoever received the request. The order of the checks is the order of this
 * function: token (401), rate limit (429), user (404), plan (403), query (400). What they find wrong is thrown as a
 * problem.
 */
export function makeAnswerPoll({ limiter, ...parts }: PollParts): AnswerPoll {
  const authenticate = makeAuthenticate(parts);
  return async (request, state) => {
    const { token, answers } = await authenticate(request);
    state.tokenId = token.tokenId;

    const verdict = await limiter.consume(token.userId);
    rateLimitHeaders(verdict, state.headers);
    if (verdict.violated.length > 0) throw refuseByLimit(verdict);
    // Counted all the same: else whoever hangs up at once could ask the store without a limit.
    if (request.isGone()) throw new CallerGoneError('the caller has gone');

    const user = requirePlan(requireUser(await answers.findUser(), token));
    const query = parseQuery(request.search);
    const found = await poll((page) => answers.readPage(page, () => request.whenGone()), user, query);

    pageHeaders(request.baseUrl(), found, query, state.headers);
    const status = matches(request.ifNoneMatch, found.page.leads.etag) ? 304 : 200;
    state.answer = { status, poll: found, query };
    return state.answer;
  };
}
