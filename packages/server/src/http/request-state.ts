import type { FastifyRequest } from 'fastify';
import type { PollState } from './poll-state.ts';

/** Kept beside the requests: they belong to the application that the endpoint is a guest of. */
const states = new WeakMap<FastifyRequest, PollState>();

/** What was found out about a request so far, for the metrics and the log that come after. */
export function stateOf(request: FastifyRequest): PollState {
  const known = states.get(request);
  if (known) return known;
  const state: PollState = { headers: [] };
  states.set(request, state);
  return state;
}
