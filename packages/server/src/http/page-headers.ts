import { NEW_LEADS_PATH } from '@leadtap/contract';
import { toIso } from '../clock.ts';
import type { PollQuery, PollResult } from '../poll/pages.ts';
import type { HeaderList } from './exchange.ts';

export const JSON_MEDIA_TYPE = 'application/json; charset=utf-8';

/** Adds the headers that every page has. */
export function addPageHeaders(
  headers: HeaderList,
  baseUrl: string,
  poll: PollResult,
  query: PollQuery,
): void {
  const { leads, readAt } = poll.page;
  const next = `${baseUrl}${NEW_LEADS_PATH}?since=${toIso(poll.nextSince)}&limit=${query.limit}`;
  headers.push('link', `<${next}>; rel="next"`);
  headers.push('etag', leads.etag);
  headers.push('cache-control', 'private, no-cache');
  headers.push('vary', 'Authorization, Prefer');
  // The time of the read, not of the response, which is later: a client may use it as its next `since`.
  headers.push('date', httpDate(readAt));
}

let lastDate = { second: Number.NaN, text: '' };

/** `Mon, 02 Mar 2026 09:30:00 GMT`. Formatted once a second, as Node does for its own Date header. */
export function httpDate(ms: number): string {
  const second = Math.floor(ms / 1000);
  if (second !== lastDate.second) lastDate = { second, text: new Date(ms).toUTCString() };
  return lastDate.text;
}
