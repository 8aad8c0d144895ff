import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { onCallerGone } from './caller-gone.ts';
import { type RequestState, stateOf } from './request-state.ts';

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
  app.addHook('onResponse', async (request, reply) => observer.observe(observationOf(request, reply)));
  onCallerGone(app, (request, reply) => observer.observe(observationOf(request, reply)));
}

function observationOf(request: FastifyRequest, reply: FastifyReply): PollObservation {
  const { answer, problem } = stateOf(request);
  const sent = reply.statusCode === 200 && request.method === 'GET' ? answer : undefined;
  return {
    status: reply.statusCode,
    durationMs: reply.elapsedTime,
    leads: sent?.poll.page.leads.length ?? 0,
    feedLagMs: feedLag(sent),
    unlocked: answer?.poll.page.locked === false,
    violatedPolicies: problem?.parts.violatedPolicies ?? [],
  };
}

function feedLag(sent: RequestState['answer']): number | undefined {
  if (sent?.query.since === undefined) return undefined;
  const { leads, readAt } = sent.poll.page;
  return leads[0] && Math.max(0, readAt - leads[0].createdAt);
}
