import type { RequestState } from '../http/request-log.ts';
import type { PollQuery, PollResult } from './pages.ts';

export interface PollAnswer {
  readonly status: 200 | 304;
  readonly poll: PollResult;
  readonly query: PollQuery;
}

export interface PollState extends RequestState {
  answer?: PollAnswer;
}
