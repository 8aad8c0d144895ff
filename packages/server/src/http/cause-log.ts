import { TokenVerificationUnavailableError } from '../accounts/external-tokens.ts';
import { logFault } from './answer-problem.ts';
import type { ProblemError } from './problems.ts';

type LogLine = (line: object, message: string) => void;

/** Logs the cause of a 5xx for the operator. */
export type CauseLog = (
  problem: ProblemError,
  log: { readonly logError: LogLine; readonly logDebug: LogLine },
) => void;

const MINUTE_MS = 60_000;

/**
 * That tokens cannot be verified is logged once a minute at level `error`: anybody can cause it with a token that needs
 * the keys of an unreachable identity provider. Further causes are at level `debug`.
 */
export function createCauseLog(): CauseLog {
  let unverifiedAt = Number.NEGATIVE_INFINITY;
  return (problem, { logError, logDebug }) => {
    if (!(problem.cause instanceof TokenVerificationUnavailableError)) return logFault(problem, logError);
    const now = performance.now();
    const isDue = now - unverifiedAt >= MINUTE_MS;
    if (isDue) unverifiedAt = now;
    logFault(problem, isDue ? logError : logDebug);
  };
}
