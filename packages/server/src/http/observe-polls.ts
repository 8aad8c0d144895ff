import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { onCallerGone } from './caller-gone.ts';
import type { PollAnswer, PollState } from './poll-state.ts';
import { stateOf } from './request-state.ts';

/** What became of one request to the endpoint. */
export interface PollObservation {
  readonly status: number;
  readonly durationMs: number;
  /** The leads that left in the body. */
  readonly leads: number;
  /** How long the oldest of them had been waiting, for a caller who follows the feed. */
  readonly feedLagMs: number | undefined;
  /** Whether a stuck writer kept the poll from the lock. */
  readonly unlocked: boolean;
  readonly violatedPolicies: readonly string[];
}

/** Where the observations go: metrics, or whatever an embedding application likes. */
export interface PollObserver {
  observe(observation: PollObservation): void;
}

export function observePolls(app: FastifyInstance, observer: PollObserver): void {
  const tell = (request: FastifyRequest, { statusCode, elapsedTime }: FastifyReply) =>
    observer.observe(observationOf(stateOf(request), request.method, statusCode, elapsedTime));
  app.addHook('onResponse', async (request, reply) => tell(request, reply));
  onCallerGone(app, tell);
}

const NONE: readonly string[] = [];

export function observationOf(
  { answer, problem }: PollState,
  method: string,
  status: number,
  durationMs: number,
): PollObservation {
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
