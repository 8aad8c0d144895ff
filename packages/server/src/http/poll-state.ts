import type { Poll, PollQuery } from '../leads/poll.ts';
import type { ProblemError } from './problems.ts';

export const JSON_MEDIA_TYPE = 'application/json; charset=utf-8';

/** Names and values in turn, as `response.writeHead` takes them fastest. */
export type HeaderList = string[];

export interface PollAnswer {
  readonly status: 200 | 304;
  readonly poll: Poll;
  readonly query: PollQuery;
}

/** What is known about a poll so far: for the response, the metrics and the log, however the poll ends. */
export interface PollState {
  readonly headers: HeaderList;
  tokenId?: string | undefined;
  answer?: PollAnswer;
  problem?: ProblemError | undefined;
}
