/** What metrics and the recorder of consumers learn about a poll. */
import type { Exchange, Payload } from '../http/exchange.ts';
import type { WatchReserved } from '../lib/reserved.ts';
import type { PollQuery, PollResult } from './pages.ts';
import type { EndedPoll } from './store.ts';

/** The answer to a poll that passed all checks. */
export interface PollPayload extends Payload {
  readonly poll: PollResult;
  readonly query: PollQuery;
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
  readonly watchReserved?: WatchReserved;
}

export function toObservation(ended: Exchange, payload: PollPayload | undefined): PollObservation {
  const { status, durationMs, waitedMs = 0, request, problem } = ended;
  const sent = status === 200 && request.method === 'GET' ? payload : undefined;
  return {
    status,
    durationMs,
    waitedMs,
    leads: sent?.poll.page.leads.count ?? 0,
    feedLagMs: sent && feedLagMs(sent),
    unlocked: payload?.poll.page.locked === false,
    violatedPolicies: problem?.parts.violatedPolicies ?? [],
  };
}

function feedLagMs({ query, poll }: PollPayload): number | undefined {
  const { leads, readAt } = poll.page;
  if (query.since === undefined || leads.first === undefined) return undefined;
  return Math.max(0, readAt - leads.first);
}

/** What the recorder of consumers needs to know about a request. */
export function toEndedPoll(
  { status, request, isComplete }: Pick<Exchange, 'status' | 'request' | 'isComplete'>,
  payload: Pick<PollPayload, 'poll' | 'query'> | undefined,
  at: number,
): EndedPoll {
  if (!payload) return { at, status };
  const { query, poll } = payload;
  const { readAt, leads } = poll.page;
  // A 304 sends no body: its tag may be from a HEAD. If it is from a GET, that one was recorded.
  const isSent = status === 200 && request.method === 'GET' && isComplete;
  const isFull = leads.count >= query.limit;
  return { at, status, page: { since: query.since, readAt, leads, isFull, isSent } };
}
