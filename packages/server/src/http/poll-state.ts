import type { Poll, PollQuery } from '../leads/poll.ts';
import type { RequestState } from './request-log.ts';

export interface PollAnswer {
  readonly status: 200 | 304;
  readonly poll: Poll;
  readonly query: PollQuery;
}

export interface PollState extends RequestState {
  answer?: PollAnswer;
}
