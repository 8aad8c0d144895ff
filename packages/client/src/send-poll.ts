import type { Problem } from './contract.ts';
import { errorOf, LeadtapError } from './errors.ts';
import type { Connection } from './options.ts';
import type { Page } from './page.ts';
import { readRateLimits } from './rate-limits.ts';
import { nextSinceOf, readLeads } from './read-leads.ts';
import { readRetryAfter } from './retry-after.ts';

export interface PollRequest {
  readonly since: string | undefined;
  readonly limit: number;
  readonly etag: string | undefined;
  /** How long the service is asked to hold the request until there is a lead; 0: not at all. */
  readonly waitS: number;
  readonly signal: AbortSignal;
}

/** Sends a poll and reads the whole response, within `timeoutMs` and the time that the service may wait. */
export async function sendPoll(connection: Connection, request: PollRequest): Promise<Page> {
  const token = await connection.token();
  const limitMs = connection.timeoutMs + request.waitS * 1000;
  const limit = connection.environment.timeLimit(limitMs);
  const aborted = whenEither(limit, request.signal);
  try {
    const response = await connection.environment.fetch(addressOf(connection, request), {
      headers: headersOf(token, request),
      // Leads are personal data, and nothing for the cache of a browser.
      cache: 'no-store',
      signal: aborted.signal,
    });
    return await readAnswer(response, connection, request);
  } catch (error) {
    if (error instanceof LeadtapError) throw error;
    request.signal.throwIfAborted();
    throw noAnswer(connection, limit.aborted ? limitMs : undefined, error);
  } finally {
    aborted.forget();
  }
}

/** `AbortSignal.any` would do, but leaks in several versions of Node.js when one signal lives for years. */
function whenEither(...signals: readonly AbortSignal[]) {
  const either = new AbortController();
  const abort = () => either.abort();
  for (const signal of signals) {
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort);
  }
  return {
    signal: either.signal,
    forget: () => {
      for (const signal of signals) signal.removeEventListener('abort', abort);
    },
  };
}

function addressOf({ endpoint }: Connection, { since, limit }: PollRequest): string {
  const query = new URLSearchParams({ limit: String(limit) });
  if (since !== undefined) query.set('since', since);
  return `${endpoint}?${query}`;
}

const headersOf = (token: string, { etag, waitS }: PollRequest): Record<string, string> => ({
  accept: 'application/json',
  authorization: `Bearer ${token}`,
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

async function readProblem(response: Response): Promise<LeadtapError> {
  const { status, headers } = response;
  const problem = await response.json().then(
    (body: unknown) => (isProblem(body) ? body : undefined),
    () => undefined,
  );
  const code = problem?.code ?? (`http-${status}` as const);
  const what = problem?.detail ?? `${response.url} answered with ${status}.`;
  return errorOf({
    code,
    message: `${what} (${status} ${code}${problem ? `, request ${problem.requestId}` : ''})`,
    status,
    problem,
    retryAfterMs: readRetryAfter(headers),
    rateLimits: readRateLimits(headers),
  });
}

const isProblem = (body: unknown): body is Problem =>
  typeof body === 'object' && body !== null && 'code' in body && 'detail' in body;

/** @param timedOutMs the time limit, if it has passed */
function noAnswer({ endpoint }: Connection, timedOutMs: number | undefined, cause: unknown): LeadtapError {
  if (timedOutMs !== undefined)
    return errorOf({
      code: 'timed-out',
      message: `${endpoint} did not answer within ${timedOutMs} ms.`,
      cause,
    });
  const { message, cause: deeper } = cause instanceof Error ? cause : new Error(String(cause));
  const why = deeper instanceof Error ? `${message}: ${deeper.message}` : message;
  return errorOf({ code: 'connection-failed', message: `No whole answer from ${endpoint}: ${why}.`, cause });
}
