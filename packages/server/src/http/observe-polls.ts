import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Poll, PollQuery } from '../leads/poll.ts';
import type { ProblemError } from './problems.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set when a page was read for this request. */
    leadtapAnswer: { readonly poll: Poll; readonly query: PollQuery } | undefined;
    /** Set when the request ended in a problem. */
    leadtapProblem: ProblemError | undefined;
  }
}

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
  app.addHook('onResponse', async (request, reply) => {
    const page = request.leadtapAnswer?.poll.page;
    observer.observe({
      status: reply.statusCode,
      durationMs: reply.elapsedTime,
      leads: reply.statusCode === 200 && request.method === 'GET' ? (page?.leads.length ?? 0) : 0,
      feedLagMs: feedLag(request),
      unlocked: page?.locked === false,
      violatedPolicies: request.leadtapProblem?.parts.violatedPolicies ?? [],
    });
  });
}

function feedLag({ leadtapAnswer: answer }: FastifyRequest): number | undefined {
  const oldest = answer?.query.since === undefined ? undefined : answer.poll.page.leads[0];
  return oldest && answer && Math.max(0, answer.poll.page.readAt - oldest.createdAt);
}
