import type { FastifyRequest } from 'fastify';
import type { ProblemError } from './problems.ts';

/** Kept beside the requests, for the line in the log that is written after the answer. */
const problems = new WeakMap<FastifyRequest, ProblemError>();

export const setProblem = (request: FastifyRequest, problem: ProblemError): void =>
  void problems.set(request, problem);

export const problemOf = (request: FastifyRequest): ProblemError | undefined => problems.get(request);
