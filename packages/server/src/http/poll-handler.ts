/**
 * `GET {base_url}/automation/new-leads`, the one endpoint, as a plain Node listener. The standalone server calls it, the
 * Fastify plugin mounts it, and Express or bare `node:http` can mount it too.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { NEW_LEADS_PATH } from '@leadtap/contract';
import type { VerifyToken } from '../accounts/tokens.ts';
import { readerFactory } from '../cache/poll-cache.ts';
import { type Clock, systemClock } from '../clock.ts';
import { poll } from '../leads/poll.ts';
import { FAILED_TOKEN_POLICIES, type Limiter, USER_POLICIES } from '../limits/limiter.ts';
import { MemoryLimiter } from '../limits/memory-limiter.ts';
import { ClientDisconnectedError, type PollStore } from '../store/store.ts';
import { asProblem, commonHeaders, problemAnswer } from './answer-problem.ts';
import { makeAuthentication } from './authenticate.ts';
import { requirePlan, requireUser } from './caller.ts';
import { type CauseLog, createCauseLog } from './cause-log.ts';
import { disconnectSignal, isDisconnected, onceClosed } from './disconnect.ts';
import { matches } from './etag.ts';
import { callerAddress, makeTrust, originOf, type TrustProxy } from './forwarded.ts';
import { requireHost, requireMethod } from './methods.ts';
import { observationOf, type PollObservation, type PollObserver } from './observe-polls.ts';
import { pageHeaders } from './page-headers.ts';
import { JSON_MEDIA_TYPE, type PollAnswer, type PollState } from './poll-state.ts';
import { makePublicUrl } from './public-url.ts';
import { parseQuery } from './query.ts';
import { rateLimitHeaders, refuseByLimit } from './rate-limit.ts';
import { requestId } from './request-id.ts';
import { CLIENT_DISCONNECTED, type RequestLogger, requestLine } from './request-line.ts';

/** What the endpoint needs, wherever it is mounted. */
export interface PollOptions {
  readonly store: PollStore;
  readonly verifyToken: VerifyToken;
  /** Default: 100 a minute and 1000 an hour for each user, in the memory of this process. */
  readonly limiter?: Limiter;
  /** Default: 600 a minute for each address, in the memory of this process. */
  readonly failedTokens?: Limiter;
  /** Receives one observation for each request, for metrics. */
  readonly observer?: PollObserver;
  readonly clock?: Clock;
}

export interface PollHandlerOptions extends PollOptions {
  /** The path of `{base_url}`, such as `/api`. Default: none. */
  readonly basePath?: string;
  /** The `{base_url}` in the Link header. Default: the address that the request names, with `basePath`. */
  readonly publicUrl?: string | undefined;
  /** The proxies whose `X-Forwarded-*` headers count. Default: none. */
  readonly trustProxy?: TrustProxy;
  /** Receives one line for each request, and the cause of each 5xx. A pino logger fits. */
  readonly logger?: RequestLogger;
}

/** Answers any request that it is given: the path is the business of the caller. */
export type PollHandler = (request: IncomingMessage, response: ServerResponse) => void;

export function createPollHandler(options: PollHandlerOptions): PollHandler {
  const { basePath = '', logger } = options;
  const respond = createPollResponder(options);
  const trust = makeTrust(options.trustProxy ?? false);
  const publicUrl = makePublicUrl(options.publicUrl, basePath);
  const path = `${basePath}${NEW_LEADS_PATH}`;
  return (request, response) => {
    const context = {
      id: requestId(request),
      address: callerAddress(request, trust),
      baseUrl: () => publicUrl(originOf(request, trust)),
      logError: (line: object, message: string) => logger?.error({ requestId: context.id, ...line }, message),
      logDebug: (line: object, message: string) =>
        logger?.debug?.({ requestId: context.id, ...line }, message),
    };
    void respond(request, response, context).then((outcome) =>
      logger?.info(
        { requestId: context.id, ...requestLine({ ...outcome, request, path }) },
        outcome.isComplete ? 'request' : CLIENT_DISCONNECTED,
      ),
    );
  };
}

/** What depends on where the endpoint is mounted. */
export interface RequestContext {
  /** For `X-Request-Id`. */
  readonly id: string;
  /** The client's. Read when the request begins: after a reset, Node no longer knows it. Empty if unknown. */
  readonly address: string;
  /** The `{base_url}` as the client sees it. */
  baseUrl(): string;
  logError(line: object, message: string): void;
  logDebug(line: object, message: string): void;
}

/** How a request ended. */
export interface PollOutcome {
  readonly status: number;
  readonly durationMs: number;
  readonly state: PollState;
  /** False if the client disconnected while the response was being sent. */
  readonly isComplete: boolean;
}

export type PollResponder = (
  request: IncomingMessage,
  response: ServerResponse,
  context: RequestContext,
) => Promise<PollOutcome>;

/** The status in log and metrics of a request whose client disconnected before the response; nginx uses the same. */
const CLIENT_CLOSED_REQUEST = 499;

export function createPollResponder(options: PollOptions): PollResponder {
  const answer = createAnswer(options);
  const logCause = createCauseLog();

  return async (request, response, context) => {
    const startedAt = performance.now();
    const state: PollState = { headers: Object.entries(commonHeaders(context.id)).flat() };
    let payload: Payload;
    try {
      payload = pageOf(await answer(request, response, context, state), request, state);
    } catch (error) {
      if (error instanceof ClientDisconnectedError) response.destroy();
      payload = problemOf(error, context, state, logCause);
    }
    const isComplete =
      isDisconnected(request, response) || (await send(request, response, payload, context, state));
    const isUnsent = isDisconnected(request, response) && !response.headersSent;
    const status = isUnsent ? CLIENT_CLOSED_REQUEST : payload.status;
    const outcome = { status, durationMs: performance.now() - startedAt, state, isComplete };
    observe(options.observer, observationOf(outcome, request.method), context);
    return outcome;
  };
}

type Answer = (
  request: IncomingMessage,
  response: ServerResponse,
  context: RequestContext,
  state: PollState,
) => Promise<PollAnswer>;

/** The checks, in their order. What they refuse is thrown as a `ProblemError`. */
function createAnswer(options: PollOptions): Answer {
  const { store, verifyToken, clock = systemClock } = options;
  const { limiter = new MemoryLimiter(USER_POLICIES, clock) } = options;
  const { failedTokens = new MemoryLimiter(FAILED_TOKEN_POLICIES, clock) } = options;
  const { identify, refuse } = makeAuthentication(verifyToken, failedTokens);
  const createReader = readerFactory(store);

  return async (request, response, { address, baseUrl }, state) => {
    requireHost(request);
    requireMethod(request);

    // Token: 401.
    const token = await identify(request.headers.authorization, address);
    const answers = await createReader(token);
    if (await answers.isTokenRevoked()) await refuse('token-revoked', address);
    state.tokenId = token.tokenId;

    // Rate limit: 429. Counted even if the client has disconnected: disconnecting must not be a way around the limit.
    const verdict = await limiter.consume(token.userId);
    rateLimitHeaders(verdict, state.headers);
    if (verdict.violated.length > 0) throw refuseByLimit(verdict);
    if (isDisconnected(request, response)) throw new ClientDisconnectedError('the client has disconnected');

    // User: 404. Plan: 403. Query: 400.
    const user = requirePlan(requireUser(await answers.findUser(), token));
    const query = parseQuery(searchOf(request.url ?? ''));

    const found = await poll(
      (page) => answers.readPage(page, () => disconnectSignal(request, response)),
      user,
      query,
    );
    pageHeaders(baseUrl(), found, query, state.headers);
    const isKnown = matches(request.headers['if-none-match'], found.page.leads.etag);
    state.answer = { status: isKnown ? 304 : 200, poll: found, query };
    return state.answer;
  };
}

/** The part of an address behind its path. */
function searchOf(url: string): string {
  const mark = url.indexOf('?');
  return mark === -1 ? '' : url.slice(mark + 1);
}

interface Payload {
  readonly status: number;
  readonly body: Buffer | undefined;
}

function pageOf({ status, poll: found }: PollAnswer, { method }: IncomingMessage, state: PollState): Payload {
  const { body } = found.page.leads;
  // RFC 9110: the headers of a HEAD are those of the 200, also with a 304.
  if (status === 304 && method !== 'HEAD') return { status, body: undefined };
  state.headers.push('content-type', JSON_MEDIA_TYPE, 'content-length', String(body.length));
  return { status, body };
}

function problemOf(error: unknown, context: RequestContext, state: PollState, logCause: CauseLog): Payload {
  if (error instanceof ClientDisconnectedError) return { status: CLIENT_CLOSED_REQUEST, body: undefined };
  state.problem = asProblem(error);
  logCause(state.problem, context);
  const { status, headers, body } = problemAnswer(state.problem, context.id);
  state.headers.push(...Object.entries(headers).flat(), 'content-length', String(body.length));
  return { status, body };
}

/** Resolves when the response has left, or the client has disconnected before all of it left. */
async function send(
  request: IncomingMessage,
  response: ServerResponse,
  { status, body }: Payload,
  { logError }: RequestContext,
  { headers }: PollState,
): Promise<boolean> {
  try {
    const closed = new Promise<void>((resolve) => onceClosed(request, response, resolve));
    response.writeHead(status, headers);
    response.end(request.method === 'HEAD' ? undefined : body);
    await closed;
    // Not `writableFinished`: it is also true after a reset that discarded the rest.
    return !request.socket.destroyed;
  } catch (error) {
    // The application around has begun a response already, or a header that it adds is not valid.
    logError({ err: error }, 'a response could not be sent');
    response.destroy();
    return false;
  }
}

/** An observer that throws must not fail the request. */
function observe(
  observer: PollObserver | undefined,
  observation: PollObservation,
  { logError }: RequestContext,
): void {
  try {
    observer?.observe(observation);
  } catch (error) {
    logError({ err: error }, 'the observer of polls has thrown an error');
  }
}
