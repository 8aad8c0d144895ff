import type { VerifyToken } from '../accounts/verification.ts';
import type { Poll, PollQuery } from '../leads/poll.ts';
import type { PollAnswers } from '../leads/poll-answers.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { Bearer } from '../store/store.ts';
import type { ProblemError } from './problems.ts';

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
