/** What the handlers of Leadtap share: the context of a request, its log line, problems, and sending the response. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ProblemCode } from '@leadtap/contract';
import type { VerifiedToken } from '../accounts/tokens.ts';
import { ClientDisconnectedError } from '../store/errors.ts';
import { disconnectSignal, isDisconnected, onceClosed } from './connections.ts';
import { isConsoleRequest } from './console-client.ts';
import {
  clientAddress,
  compileTrust,
  createPublicUrl,
  originOf,
  type TrustProxy,
  untrustedProxyOf,
} from './forwarded.ts';
import { problemResponse, toProblemError } from './problems.ts';
import {
  type CauseLog,
  CLIENT_DISCONNECTED,
  createCauseLog,
  type ErrorLogger,
  type RequestLogger,
  type RequestOutcome,
  type RequestState,
  requestIdOf,
  requestLine,
} from './request-log.ts';

/** Names and values alternate: the form that `response.writeHead` takes fastest. */
export type HeaderList = string[];

/** The parts of a request that depend on where the handler is mounted. */
export interface RequestContext {
  /** For `X-Request-Id`. */
  readonly id: string;
  /** The client's address, read at the start of the request: after a reset it is unknown. Empty if unknown. */
  readonly address: string;
  readonly log: ErrorLogger;
  /** The `{base_url}` as the client sees it. */
  baseUrl(): string;
}

/** One request. */
export interface Exchange<State extends RequestState = RequestState> {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly context: RequestContext;
  readonly headers: HeaderList;
  readonly state: State;
  /** Aborted when the client disconnects. */
  disconnected(): AbortSignal;
}

export interface Payload {
  readonly status: number;
  /** A short text is sent with the headers in one write. */
  readonly body: Buffer | string | undefined;
}

export interface SentOutcome<State extends RequestState = RequestState> extends RequestOutcome<State> {
  /** False if the client disconnected while the response was being sent. */
  readonly isComplete: boolean;
}

/** Calls `onEnd` once the response was sent, or the client has disconnected. */
export type Responder = (
  request: IncomingMessage,
  response: ServerResponse,
  context: RequestContext,
  onEnd?: (outcome: SentOutcome) => void,
) => void;

export interface ResponderOptions<State extends RequestState> {
  readonly createState: () => State;
  /** Performs the checks in their order and adds the headers. A failed check throws a `ProblemError`. */
  readonly answer: (exchange: Exchange<State>) => Promise<Payload>;
  readonly observe: (outcome: SentOutcome<State>, request: IncomingMessage) => void;
  /** Default: the end of the response ends the exchange, and Node discards the rest of the request. */
  readonly endResponse?: (request: IncomingMessage, response: ServerResponse, body: Payload['body']) => void;
}

/** The status in log and metrics of a request whose client disconnected before the response; nginx uses the same. */
export const CLIENT_CLOSED_REQUEST = 499;

/** Events, not promises, end an exchange: a promise for each response would take a tenth of the time of a poll. */
export function createResponder<State extends RequestState>(options: ResponderOptions<State>): Responder {
  const { answer, observe, createState, endResponse = endWithBody } = options;
  const logCause = createCauseLog();

  async function respond(exchange: Exchange<State>, onEnd: (outcome: SentOutcome) => void): Promise<void> {
    const { request, response, context, headers, state } = exchange;
    const startedAt = performance.now();
    let payload: Payload;
    try {
      payload = await answer(exchange);
    } catch (error) {
      payload = toProblemPayload(error, exchange, logCause);
    }
    const { status, body } = payload;
    const end = (isComplete: boolean) => {
      const isUnsent = isDisconnected(request, response) && !response.headersSent;
      const outcome = {
        status: isUnsent ? CLIENT_CLOSED_REQUEST : status,
        durationMs: performance.now() - startedAt,
        state,
        isComplete,
      };
      try {
        observe(outcome, request);
      } catch (error) {
        // An observer that throws must not fail the request.
        context.log.error({ err: error }, 'the observer of requests has thrown an error');
      }
      onEnd(outcome);
    };
    if (isDisconnected(request, response)) return end(true);
    // Not `writableFinished`: it is also true after a reset that discarded the rest.
    onceClosed(request, response, () => end(!request.socket.destroyed));
    try {
      response.writeHead(status, headers);
      endResponse(request, response, request.method === 'HEAD' ? undefined : body);
    } catch (error) {
      // The application has started a response already, or has set an invalid header.
      context.log.error({ err: error }, 'a response could not be sent');
      response.destroy();
    }
  }

  return (request, response, context, onEnd = () => undefined) => {
    const headers = ['x-request-id', context.id, 'x-content-type-options', 'nosniff'];
    let signal: AbortSignal | undefined;
    const disconnected = () => {
      signal ??= disconnectSignal(request, response);
      return signal;
    };
    void respond({ request, response, context, headers, state: createState(), disconnected }, onEnd);
  };
}

const endWithBody = (_request: IncomingMessage, response: ServerResponse, body: Payload['body']): void => {
  response.end(body);
};

function toProblemPayload(error: unknown, exchange: Exchange, logCause: CauseLog): Payload {
  const { response, context, state, headers } = exchange;
  if (error instanceof ClientDisconnectedError) {
    response.destroy();
    return { status: CLIENT_CLOSED_REQUEST, body: undefined };
  }
  state.problem = toProblemError(error);
  logCause(state.problem, context.log);
  const problem = problemResponse(state.problem, context.id);
  headers.push(...Object.entries(problem.headers).flat(), 'content-length', String(problem.body.length));
  return problem;
}

/** Options of the handlers that depend on where they are mounted. */
export interface MountOptions {
  /** The path of `{base_url}`, such as `/api`. Default: none. */
  readonly basePath?: string;
  /** The `{base_url}` in the Link header. Default: the address that the request names, with `basePath`. */
  readonly publicUrl?: string | undefined;
  /** The proxies whose `X-Forwarded-*` headers count. Default: none. */
  readonly trustProxy?: TrustProxy;
  /** Receives one line for each request, and the cause of each 5xx. A pino logger fits. */
  readonly logger?: RequestLogger;
}

/** A request that was answered with a problem. */
export interface RefusedRequest {
  readonly code: ProblemCode;
  readonly status: number;
  readonly requestId: string;
  /** The route, not the path that was sent. */
  readonly path: string;
  /** Its signature is valid. Absent: there was no such token. */
  readonly token: VerifiedToken | undefined;
}

export interface HandlerOptions extends MountOptions {
  /** Receives the requests that were answered with a problem, for the status page. Must not throw. */
  readonly onRefusal?: ((refused: RefusedRequest) => void) | undefined;
  /** Receives the address of a proxy that is not trusted, although the `Link` depends on it. Must not throw. */
  readonly onUntrustedProxy?: ((address: string) => void) | undefined;
}

/** Answers every request that it receives: routing by path is up to the caller. */
export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => void;

/** A plain Node listener that answers and writes a log line. `path` is below `{base_url}`. */
export function createHandler(path: string, respond: Responder, options: HandlerOptions): RequestHandler {
  const { basePath = '', logger, onRefusal, onUntrustedProxy } = options;
  const isTrusted = compileTrust(options.trustProxy ?? false);
  const publicUrl = createPublicUrl(options.publicUrl, basePath);
  const route = `${basePath}${path}`;

  return (request, response) => {
    const id = requestIdOf(request);
    const context: RequestContext = {
      id,
      address: clientAddress(request, isTrusted),
      baseUrl: () => {
        const proxy = options.publicUrl === undefined ? untrustedProxyOf(request, isTrusted) : undefined;
        if (proxy !== undefined) onUntrustedProxy?.(proxy);
        return publicUrl(originOf(request, isTrusted));
      },
      log: new ErrorLog(id, logger),
    };
    respond(request, response, context, (outcome) => {
      logger?.info(
        requestLine(request, route, outcome, id),
        outcome.isComplete ? 'request' : CLIENT_DISCONNECTED,
      );
      const { status, state } = outcome;
      const { problem, token = problem?.parts.token } = state;
      if (problem && status !== CLIENT_CLOSED_REQUEST && !isTriedInConsole(request, status))
        onRefusal?.({ code: problem.code, status, requestId: id, path: route, token });
    });
  };
}

/** A person tries a token or a request there, and sees the answer: no automation is refused. */
const isTriedInConsole = (request: IncomingMessage, status: number): boolean =>
  status < 500 && isConsoleRequest(request);

/** Adds the id of the request to each line. */
class ErrorLog implements ErrorLogger {
  readonly #requestId: string;
  readonly #logger: RequestLogger | undefined;

  constructor(requestId: string, logger: RequestLogger | undefined) {
    this.#requestId = requestId;
    this.#logger = logger;
  }

  error(line: object, message: string): void {
    this.#logger?.error({ requestId: this.#requestId, ...line }, message);
  }

  debug(line: object, message: string): void {
    this.#logger?.debug?.({ requestId: this.#requestId, ...line }, message);
  }
}
