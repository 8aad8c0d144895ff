import { type HeaderValues, NEW_LEADS_PATH } from '@leadtap/contract';
import { toIso } from '../clock.ts';
import type { Poll, PollQuery } from '../leads/poll.ts';

/** The address of the next poll, which a client can follow for ever. */
function nextLink(baseUrl: string, poll: Poll, { limit }: PollQuery): string {
  const query = new URLSearchParams({ since: toIso(poll.nextSince), limit: String(limit) });
  return `<${baseUrl}${NEW_LEADS_PATH}?${query}>; rel="next"`;
}

export function pageHeaders(baseUrl: string, poll: Poll, query: PollQuery, etag: string): HeaderValues {
  return {
    link: nextLink(baseUrl, poll, query),
    etag,
    'cache-control': 'private, no-cache',
    vary: 'Authorization',
    // Not the moment the answer is sent, which is later: a client may use it as its next `since` (D3).
    date: new Date(poll.page.readAt).toUTCString(),
  };
}
