import type { IncomingMessage } from 'node:http';
import { NEW_LEADS_PATH } from '@leadtap/contract';
import { toIso } from '../clock.ts';
import type { EndedPoll } from '../leads/consumer-recorder.ts';
import type { Poll, PollQuery } from '../leads/poll.ts';
import type { HeaderList, SentOutcome } from './exchange.ts';
import type { RequestOutcome, RequestState } from './request-log.ts';

export const JSON_MEDIA_TYPE = 'application/json; charset=utf-8';

export interface PollAnswer {
  readonly status: 200 | 304;
  readonly poll: Poll;
  readonly query: PollQuery;
}

export interface PollState extends RequestState {
  answer?: PollAnswer;
}

/** Adds the headers that every page has. */
export function addPageHeaders(headers: HeaderList, baseUrl: string, poll: Poll, query: PollQuery): void {
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

/** RFC 9110: If-None-Match compares weakly, may list several tags, and `*` matches any. */
export function matchesEtag(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  if (ifNoneMatch.trim() === '*') return true;
  return ifNoneMatch.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag);
}

/** The result of one request to the endpoint, for metrics. */
export interface PollObservation {
  readonly status: number;
  /** From the arrival of the request to the last byte of the response. */
  readonly durationMs: number;
  /** The part of it in which the request waited for a lead (`Prefer: wait`). 0 if it did not wait. */
  readonly waitedMs: number;
  /** The number of leads in the body that was sent. */
  readonly leads: number;
  /** The age of the oldest of them, if the client polls with `since`. */
  readonly feedLagMs: number | undefined;
  /** Whether the page was read without the company's lock because a writer held it for too long. */
  readonly unlocked: boolean;
  readonly violatedPolicies: readonly string[];
}

/** Receives the observations: Leadtap's metrics, or those of an embedding application. */
export interface PollObserver {
  observe(observation: PollObservation): void;
  /** Receives the limits of a 429 to another request, which is no poll. */
  observeRefusal?(violatedPolicies: readonly string[]): void;
  /** Receives the number of requests that wait for a lead whenever it changes. */
  observeWaiting?(count: number): void;
}

export function toObservation(
  outcome: RequestOutcome<PollState>,
  method: string | undefined,
): PollObservation {
  const { status, durationMs, state } = outcome;
  const { answer, problem } = state;
  const sent = status === 200 && method === 'GET' ? answer : undefined;
  return {
    status,
    durationMs,
    waitedMs: state.waitedMs ?? 0,
    leads: sent?.poll.page.leads.count ?? 0,
    feedLagMs: sent && feedLagMs(sent),
    unlocked: answer?.poll.page.locked === false,
    violatedPolicies: problem?.parts.violatedPolicies ?? [],
  };
}

function feedLagMs({ query, poll }: PollAnswer): number | undefined {
  const { leads, readAt } = poll.page;
  if (query.since === undefined || leads.first === undefined) return undefined;
  return Math.max(0, readAt - leads.first);
}

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
  return { at, status, page: { since: query.since, readAt, leads, isSent } };
}
