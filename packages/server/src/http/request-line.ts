import type { IncomingMessage } from 'node:http';
import type { PollState } from './poll-state.ts';
import { traceIdOf } from './trace-id.ts';

/** The part of pino that request lines need. */
export interface RequestLogger {
  info(line: object, message: string): void;
  error(line: object, message: string): void;
  /** Receives what is logged at level `error` at most once a minute. */
  debug?(line: object, message: string): void;
}

/** The message of a line about a response that broke off. Clients may do that at any time, so it is no error. */
export const CLIENT_DISCONNECTED = 'client disconnected during the response';

interface Ended {
  readonly request: Pick<IncomingMessage, 'method' | 'headers'>;
  /** The route that was found, never the text that was sent. */
  readonly path: string | undefined;
  readonly status: number;
  readonly durationMs: number;
  readonly state: Pick<PollState, 'answer' | 'problem' | 'tokenId'>;
}

/**
 * The line of one request. It holds no token, no address, no query string and nothing of a lead. A client is known by
 * the id of its token.
 */
export function requestLine({ request, path, status, durationMs, state }: Ended) {
  return {
    method: request.method,
    path,
    status,
    // To the microsecond.
    durationMs: Math.round(durationMs * 1000) / 1000,
    code: state.problem?.code,
    leads: state.answer?.poll.page.leads.count,
    tokenId: state.tokenId,
    traceId: traceIdOf(request.headers['traceparent']),
  };
}
