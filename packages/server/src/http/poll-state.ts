import type { PollQuery, PollResult } from '../leads/poll.ts';
import type { RequestState } from './request-log.ts';

export interface PollAnswer {
  readonly status: 200 | 304;
  readonly poll: PollResult;
  readonly query: PollQuery;
}

export interface PollState extends RequestState {
  answer?: PollAnswer;
}
