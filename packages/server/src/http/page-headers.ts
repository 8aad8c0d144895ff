import { NEW_LEADS_PATH } from '@leadtap/contract';
import { toIso } from '../clock.ts';
import type { Poll, PollQuery } from '../leads/poll.ts';
import { httpDate } from './http-date.ts';
import type { HeaderList } from './poll-state.ts';

/** The address of the next poll, which a client can follow for ever. */
function nextLink(baseUrl: string, { nextSince }: Poll, { limit }: PollQuery): string {
  return `<${baseUrl}${NEW_LEADS_PATH}?since=${toIso(nextSince)}&limit=${limit}>; rel="next"`;
}

/** Adds the headers that every page has. */
export function pageHeaders(baseUrl: string, poll: Poll, query: PollQuery, headers: HeaderList): void {
  const { leads, readAt } = poll.page;
  headers.push('link', nextLink(baseUrl, poll, query));
  headers.push('etag', leads.etag);
  headers.push('cache-control', 'private, no-cache');
  headers.push('vary', 'Authorization');
  // Not the moment the answer is sent, which is later: a client may use it as its next `since` (D3).
  headers.push('date', httpDate(readAt));
}
