/**
 * `GET {base_url}/automation/new-leads`, the one endpoint, as a plain Node listener. The standalone server calls it, the
 * Fastify plugin mounts it, and Express or bare `node:http` can mount it too.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { NEW_LEADS_PATH } from '@leadtap/contract';
import type { VerifiedToken, VerifyToken } from '../accounts/tokens.ts';
import { createReaders } from '../cache/poll-cache.ts';
import type { WaitingPlace } from '../cache/waiting-polls.ts';
import { type Clock, systemClock } from '../clock.ts';
import { mayPoll, type PollingUser } from '../leads/access.ts';
import { type PollQuery, type PollReader, poll } from '../leads/poll.ts';
import { FAILED_TOKEN_POLICIES, type Limiter, USER_POLICIES } from '../limits/limiter.ts';
import { MemoryLimiter } from '../limits/memory-limiter.ts';
import { ClientDisconnectedError, type PollStore } from '../store/store.ts';
import { createAuthentication } from './authenticate.ts';
import { disconnectSignal, isDisconnected, onceClosed } from './connections.ts';
import { clientAddress, compileTrust, createPublicUrl, originOf, type TrustProxy } from './forwarded.ts';
import { requireHost, requireMethod } from './methods.ts';
import {
  addPageHeaders,
  type HeaderList,
  JSON_MEDIA_TYPE,
  matchesEtag,
  type PollAnswer,
  type PollObserver,
  type RequestOutcome,
  type RequestState,
  toObservation,
} from './page-response.ts';
import { ProblemError, problemResponse, toProblemError } from './problems.ts';
import { parseQuery } from './query.ts';
import { addRateLimitHeaders, rateLimitExceeded } from './rate-limit.ts';
import {
  type CauseLog,
  CLIENT_DISCONNECTED,
  createCauseLog,
  type ErrorLogger,
  type RequestLogger,
  requestIdOf,
  requestLine,
} from './request-log.ts';
import { createWait, type FirstPage } from './wait-for-leads.ts';

/** The parts that the endpoint uses, wherever it is mounted. */
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
  /** The number of requests that may wait for a lead (`Prefer: wait`). Further ones are answered at once. Default: 20,000. */
  readonly maxWaiting?: number;
  /** Abort it when your server stops: requests that wait for a lead are answered at once, and later ones do not wait. */
  readonly stopSignal?: AbortSignal;
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

/** Answers every request that it receives: routing by path is up to the caller. */
export type PollHandler = (request: IncomingMessage, response: ServerResponse) => void;

export function createPollHandler(options: PollHandlerOptions): PollHandler {
  const { basePath = '', logger } = options;
  const respond = createPollResponder(options);
  const isTrusted = compileTrust(options.trustProxy ?? false);
  const publicUrl = createPublicUrl(options.publicUrl, basePath);
  const path = `${basePath}${NEW_LEADS_PATH}`;

  async function respondAndLog(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const requestId = requestIdOf(request);
    const outcome = await respond(request, response, {
      id: requestId,
      address: clientAddress(request, isTrusted),
      baseUrl: () => publicUrl(originOf(request, isTrusted)),
      log: {
        error: (line, message) => logger?.error({ requestId, ...line }, message),
        debug: (line, message) => logger?.debug?.({ requestId, ...line }, message),
      },
    });
    logger?.info(
      { requestId, ...requestLine(request, path, outcome) },
      outcome.isComplete ? 'request' : CLIENT_DISCONNECTED,
    );
  }

  return (request, response) => void respondAndLog(request, response);
}

/** The parts of a request that depend on where the endpoint is mounted. */
export interface RequestContext {
  /** For `X-Request-Id`. */
  readonly id: string;
  /** The client's address, read at the start of the request: after a reset it is unknown. Empty if unknown. */
  readonly address: string;
  readonly log: ErrorLogger;
  /** The `{base_url}` as the client sees it. */
  baseUrl(): string;
}

/** One request to the endpoint. */
interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly context: RequestContext;
  readonly headers: HeaderList;
  readonly state: RequestState;
  /** Aborted when the client disconnects. */
  disconnected(): AbortSignal;
}

interface PollOutcome extends RequestOutcome {
  /** False if the client disconnected while the response was being sent. */
  readonly isComplete: boolean;
}

type PollResponder = (
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
    const headers = ['x-request-id', context.id, 'x-content-type-options', 'nosniff'];
    const state: RequestState = {};
    let signal: AbortSignal | undefined;
    const disconnected = () => {
      signal ??= disconnectSignal(request, response);
      return signal;
    };
    const exchange: Exchange = { request, response, context, headers, state, disconnected };
    let payload: Payload;
    try {
      payload = toPagePayload(await answer(exchange), exchange);
    } catch (error) {
      payload = toProblemPayload(error, exchange, logCause);
    }
    const isComplete = isDisconnected(request, response) || (await send(payload, exchange));
    const isUnsent = isDisconnected(request, response) && !response.headersSent;
    const status = isUnsent ? CLIENT_CLOSED_REQUEST : payload.status;
    const outcome = { status, durationMs: performance.now() - startedAt, state, isComplete };
    try {
      options.observer?.observe(toObservation(outcome, request.method));
    } catch (error) {
      // An observer that throws must not fail the request.
      context.log.error({ err: error }, 'the observer of polls has thrown an error');
    }
    return outcome;
  };
}

/** The checks, in their order. A failed check throws a `ProblemError`. */
function createAnswer(options: PollOptions): (exchange: Exchange) => Promise<PollAnswer> {
  const { store, verifyToken, clock = systemClock } = options;
  const { limiter = new MemoryLimiter(USER_POLICIES, clock) } = options;
  const { failedTokens = new MemoryLimiter(FAILED_TOKEN_POLICIES, clock) } = options;
  const { authenticate, rejectToken } = createAuthentication(verifyToken, failedTokens);
  const { createReader, changes } = createReaders(store);

  /** Token: 401. */
  async function checkToken({ request, context, state }: Exchange) {
    const token = await authenticate(request.headers.authorization, context.address);
    const reader = await createReader(token);
    if (await reader.isTokenRevoked()) await rejectToken('token-revoked', context.address);
    state.tokenId = token.tokenId;
    return { token, reader };
  }

  const checkAgain = async (exchange: Exchange, query: PollQuery, place: WaitingPlace) => {
    const { token, reader } = await checkToken(exchange);
    const user = await checkUser(token, reader);
    // Before the read, so that no lead is committed between the two.
    place.watchCompany(user.companyId);
    // Only the last read waits for a writer: its page may be empty, and then has a time.
    const read = place.isDue ? reader.readPage : reader.readCommitted;
    return poll((page) => read(page, exchange.disconnected), user, query);
  };
  const waitIfPreferred = createWait(changes, options, checkAgain);

  /** A function of its own, so that its data do not stay in memory while the request waits. */
  async function readFirstPage(exchange: Exchange): Promise<FirstPage> {
    const { request, response, headers, disconnected } = exchange;
    const { token, reader } = await checkToken(exchange);

    // Rate limit: 429. Counted even if the client has disconnected: disconnecting must not be a way around the limit.
    const verdict = await limiter.consume(token.userId);
    addRateLimitHeaders(headers, verdict);
    if (verdict.violated.length > 0) throw rateLimitExceeded(verdict);
    if (isDisconnected(request, response)) throw new ClientDisconnectedError('the client has disconnected');

    const user = await checkUser(token, reader);
    // Query: 400.
    const query = parseQuery(searchOf(request.url ?? ''));
    const page = await poll((pageQuery) => reader.readPage(pageQuery, disconnected), user, query);
    return { page, token, query };
  }

  return async (exchange) => {
    const { request, context, headers, state } = exchange;
    requireHost(request);
    requireMethod(request);
    const first = await readFirstPage(exchange);
    const result = await waitIfPreferred(exchange, first);
    addPageHeaders(headers, context.baseUrl(), result, first.query);
    const isNotModified = matchesEtag(request.headers['if-none-match'], result.page.leads.etag);
    state.answer = { status: isNotModified ? 304 : 200, poll: result, query: first.query };
    return state.answer;
  };
}

/** User: 404, then plan: 403. */
async function checkUser({ userId }: VerifiedToken, reader: PollReader): Promise<PollingUser> {
  const user = await reader.findUser();
  // The ids are compared again: a database that ignores case, or cuts a text at NUL, finds other users.
  if (user?.id !== userId) throw new ProblemError('user-not-found');
  if (!mayPoll(user)) throw new ProblemError('professional-plan-required');
  return user;
}

/** The query string of a URL. */
function searchOf(url: string): string {
  const mark = url.indexOf('?');
  return mark === -1 ? '' : url.slice(mark + 1);
}

interface Payload {
  readonly status: number;
  readonly body: Buffer | undefined;
}

function toPagePayload({ status, poll: result }: PollAnswer, { request, headers }: Exchange): Payload {
  const { body } = result.page.leads;
  // RFC 9110: a HEAD has the headers of the 200, also with status 304.
  if (status === 304 && request.method !== 'HEAD') return { status, body: undefined };
  headers.push('content-type', JSON_MEDIA_TYPE, 'content-length', String(body.length));
  return { status, body };
}

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

/** Resolves once the response was sent, or the client has disconnected: whether all of it was sent. */
async function send({ status, body }: Payload, exchange: Exchange): Promise<boolean> {
  const { request, response, context, headers } = exchange;
  try {
    const closed = new Promise<void>((resolve) => onceClosed(request, response, resolve));
    response.writeHead(status, headers);
    response.end(request.method === 'HEAD' ? undefined : body);
    await closed;
    // Not `writableFinished`: it is also true after a reset that discarded the rest.
    return !request.socket.destroyed;
  } catch (error) {
    // The application has started a response already, or has set an invalid header.
    context.log.error({ err: error }, 'a response could not be sent');
    response.destroy();
    return false;
  }
}
