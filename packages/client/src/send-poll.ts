import type { Connection } from './options.ts';
import type { Page } from './page.ts';
import { readRateLimits } from './rate-limits.ts';
import { nextSinceOf, readLeads } from './read-leads.ts';
import { readProblem, sendRequest } from './request.ts';

export interface PollRequest {
  readonly since: string | undefined;
  readonly limit: number;
  readonly etag: string | undefined;
  /** How long the service is asked to hold the request until there is a lead; 0: not at all. */
  readonly waitS: number;
  readonly signal: AbortSignal;
}

/** Sends a poll and reads the whole response, within `timeoutMs` and the time that the service may wait. */
export const sendPoll = (connection: Connection, request: PollRequest): Promise<Page> =>
  sendRequest(
    connection,
    {
      url: addressOf(connection, request),
      headers: headersOf(request),
      signal: request.signal,
      heldMs: request.waitS * 1000,
    },
    (response) => readAnswer(response, connection, request),
  );

function addressOf({ endpoint }: Connection, { since, limit }: PollRequest): string {
  const query = new URLSearchParams({ limit: String(limit) });
  if (since !== undefined) query.set('since', since);
  return `${endpoint}?${query}`;
}

const headersOf = ({ etag, waitS }: PollRequest): Record<string, string> => ({
  ...(etag !== undefined && { 'if-none-match': etag }),
  ...(waitS > 0 && { prefer: `wait=${waitS}` }),
});

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
    isWaitApplied: request.waitS > 0 && /\bwait\b/i.test(headers.get('preference-applied') ?? ''),
    etag: headers.get('etag') ?? undefined,
    rateLimits: readRateLimits(headers),
  };
}
