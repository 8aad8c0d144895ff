import type { IncomingMessage } from 'node:http';
import type { EndedPoll } from '../consumers/recorder.ts';
import type { SentOutcome } from '../http/exchange.ts';
import type { PollState } from './state.ts';

/** What the recorder of consumers needs to know about a request. */
export function toEndedPoll(
  { status, state: { answer }, isComplete }: SentOutcome<PollState>,
  { method }: Pick<IncomingMessage, 'method'>,
  at: number,
): EndedPoll {
  if (!answer) return { at, status };
  const { query, poll } = answer;
  const { readAt, leads } = poll.page;
  // A 304 sends no body: its tag may be from a HEAD. If it is from a GET, that one was recorded.
  const isSent = status === 200 && method === 'GET' && isComplete;
  const isFull = leads.count >= query.limit;
  return { at, status, page: { since: query.since, readAt, leads, isFull, isSent } };
}
