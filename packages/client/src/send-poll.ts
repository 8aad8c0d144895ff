import type { Connection } from './options.ts';
import type { Page } from './page.ts';
import { readRateLimits } from './rate-limits.ts';
import { nextSinceOf, readLeads } from './read-leads.ts';
import { readProblem, sendRequest } from './request.ts';

export interface PollRequest {
  readonly since: string | undefined;
  readonly limit: number;
  readonly etag: string | undefined;
  readonly signal: AbortSignal;
}

/** Sends a poll and reads the whole response, within `timeoutMs`. */
export const sendPoll = (connection: Connection, request: PollRequest): Promise<Page> =>
  sendRequest(
    connection,
    { url: addressOf(connection, request), headers: headersOf(request), signal: request.signal },
    (response) => readAnswer(response, connection, request),
  );

function addressOf({ endpoint }: Connection, { since, limit }: PollRequest): string {
  const query = new URLSearchParams({ limit: String(limit) });
  if (since !== undefined) query.set('since', since);
  return `${endpoint}?${query}`;
}

const headersOf = ({ etag }: PollRequest): Record<string, string> =>
  etag === undefined ? {} : { 'if-none-match': etag };

async function readAnswer(response: Response, { endpoint }: Connection, request: PollRequest): Promise<Page> {
  const { status, headers } = response;
  // Without an etag in the request, a 304 answers a question that was not asked.
  const isUnchanged = status === 304 && request.etag !== undefined;
  if (!response.ok && !isUnchanged) throw await readProblem(response);
  const { leads, nextSince } = isUnchanged
    ? { leads: [], nextSince: nextSinceOf(headers) ?? request.since }
    : await readLeads(response, endpoint);
  return {
    leads,
    nextSince,
    isFull: leads.length >= request.limit,
    isUnchanged,
    etag: headers.get('etag') ?? undefined,
    rateLimits: readRateLimits(headers),
  };
}
