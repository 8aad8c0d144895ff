import type { IncomingMessage } from 'node:http';
import type { EndedPoll } from '../leads/consumer-recorder.ts';
import type { SentOutcome } from './exchange.ts';
import type { PollState } from './poll-state.ts';

/** What the recorder of consumers needs to know about a request. */
export function toEndedPoll(
  { status, state: { answer }, isComplete }: SentOutcome<PollState>,
  { method, headers }: Pick<IncomingMessage, 'method' | 'headers'>,
  at: number,
): EndedPoll {
  if (!answer) return { at, status };
  const { query, poll } = answer;
  const { readAt, leads } = poll.page;
  // A 304 says that the client has the page, unless it sent `*` instead of a tag. A crash may have lost the record of the 200.
  const hasPage = status === 200 || (status === 304 && headers['if-none-match']?.trim() !== '*');
  const isSent = hasPage && method === 'GET' && isComplete;
  const isFull = leads.count >= query.limit;
  return { at, status, page: { since: query.since, readAt, leads, isFull, isSent } };
}
