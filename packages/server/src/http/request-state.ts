import type { FastifyRequest } from 'fastify';
import type { VerifiedToken } from '../accounts/verification.ts';
import type { Poll, PollQuery } from '../leads/poll.ts';
import type { User } from '../store/records.ts';
import type { PollQuestions } from '../store/store.ts';
import type { ProblemError } from './problems.ts';

/** What was found out about a request so far, for the hooks, the metrics and the log that come after. */
export interface RequestState {
  readonly token?: VerifiedToken;
  /** The store, as this request asks it. */
  readonly questions?: PollQuestions;
  readonly user?: User;
  /** The page that was read for it. */
  readonly answer?: { readonly poll: Poll; readonly query: PollQuery };
  /** How it ended, when it did not end well. */
  readonly problem?: ProblemError;
}

/** Kept beside the requests: they belong to the application that the endpoint is a guest of. */
const states = new WeakMap<FastifyRequest, RequestState>();

export const stateOf = (request: FastifyRequest): RequestState => states.get(request) ?? {};

export function remember(request: FastifyRequest, found: RequestState): void {
  states.set(request, { ...stateOf(request), ...found });
}

export const tokenOf = (request: FastifyRequest): VerifiedToken =>
  stateOf(request).token ?? missing('authenticate');

export const questionsOf = (request: FastifyRequest): PollQuestions =>
  stateOf(request).questions ?? missing('authenticate');

export const userOf = (request: FastifyRequest): User => stateOf(request).user ?? missing('requireUser');

function missing(hook: string): never {
  throw new Error(`the hook ${hook} must stand before this one`);
}
