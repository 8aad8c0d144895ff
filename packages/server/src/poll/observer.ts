/** What metrics learn about a poll. */

import type { RequestOutcome } from '../http/request-log.ts';
import type { PollAnswer, PollState } from './state.ts';

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
