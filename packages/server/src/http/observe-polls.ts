import type { PollAnswer, PollState } from './poll-state.ts';

/** What became of one request to the endpoint. */
export interface PollObservation {
  readonly status: number;
  readonly durationMs: number;
  /** The leads that left in the body. */
  readonly leads: number;
  /** How long the oldest of them had been waiting, for a client that polls with `since`. */
  readonly feedLagMs: number | undefined;
  /** Whether a stuck writer kept the poll from the lock. */
  readonly unlocked: boolean;
  readonly violatedPolicies: readonly string[];
}

/** Where the observations go: metrics, or whatever an embedding application likes. */
export interface PollObserver {
  observe(observation: PollObservation): void;
}

interface Outcome {
  readonly status: number;
  readonly durationMs: number;
  readonly state: PollState;
}

const NONE: readonly string[] = [];

export function observationOf(
  { status, durationMs, state }: Outcome,
  method: string | undefined,
): PollObservation {
  const { answer, problem } = state;
  const sent = status === 200 && method === 'GET' ? answer : undefined;
  return {
    status,
    durationMs,
    leads: sent?.poll.page.leads.count ?? 0,
    feedLagMs: sent && feedLag(sent),
    unlocked: answer?.poll.page.locked === false,
    violatedPolicies: problem?.parts.violatedPolicies ?? NONE,
  };
}

function feedLag({ query, poll }: PollAnswer): number | undefined {
  const { leads, readAt } = poll.page;
  if (query.since === undefined || leads.first === undefined) return undefined;
  return Math.max(0, readAt - leads.first);
}
