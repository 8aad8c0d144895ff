/** The rows of the table of endpoints, and what every endpoint has in common: its checks, problems, response and log line. */
import { type IncomingMessage, METHODS, type RequestListener, type ServerResponse } from 'node:http';
import { andThen, isPromise } from '../lib/event-loop.ts';
import { ClientDisconnectedError } from '../sql/errors.ts';
import { type BodyRule, endAndDiscardBody, hasLongUnreadBody, requireBody } from './body.ts';
import { isDisconnected, onceClosed } from './connections.ts';
import {
  CLIENT_CLOSED_REQUEST,
  CLIENT_DISCONNECTED,
  createCauseLog,
  Exchange,
  type Payload,
  type RefusedRequest,
  type RequestLogger,
  requestLine,
  type Site,
} from './exchange.ts';
import { compileTrust, findHeaderProblem, isConsoleRequest, type TrustProxy } from './headers.ts';
import type { Caller, CurrentAccount, Identification } from './identify.ts';
import { ProblemError, problemResponse, toProblemError } from './problems.ts';

interface EndpointRow<P extends Payload> {
  /** Below `{base_url}`. One of its last two segments may be `{id}`. Rows with the same path have different methods. */
  readonly path: string;
  /** Served without the path of `{base_url}` as well. */
  readonly isAlsoAtRoot?: boolean;
  readonly methods: readonly string[];
  /** Requests that succeed are logged at level `debug`: probes and scrapes arrive every few seconds. */
  readonly isQuiet?: boolean;
  /** Receives every request, for metrics. The payload is undefined if there was a problem. */
  observe?(ended: Exchange, payload: P | undefined): void;
}

/** An endpoint that needs no token. */
export interface OpenEndpoint extends EndpointRow<Payload> {
  /** Adds the headers. Throws a `ProblemError` to refuse the request. */
  answer(exchange: Exchange): Payload | Promise<Payload>;
}

/** An endpoint that needs a token. */
export interface CallerEndpoint<Account extends CurrentAccount = CurrentAccount, P extends Payload = Payload>
  extends EndpointRow<P> {
  /** The scope of the token, and the rate limit. */
  readonly callers: Identification<Account>;
  /** Absent: a body is not read. */
  readonly body?: BodyRule;
  /** What the client should do after a 503. Default: the text of the contract. */
  readonly unavailableDetail?: string;
  answer(exchange: Exchange, caller: Caller<Account>): P | Promise<P>;
  /** A check of the caller has failed. May return another problem with the same code. */
  onRejectedCaller?(exchange: Exchange, problem: ProblemError): ProblemError | Promise<ProblemError>;
}

export type Endpoint = OpenEndpoint | CallerEndpoint;

export interface RefusalObserver {
  /** Receives the limits of each 429. */
  readonly observeRefusal?: ((violatedPolicies: readonly string[]) => void) | undefined;
}

/** Methods of an endpoint that reads. */
export const READ_METHODS: readonly string[] = ['GET', 'HEAD'];

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

export interface HandlerOptions extends MountOptions {
  /** Receives the requests that were answered with a problem, for the status page. Must not throw. */
  readonly onRefusal?: ((refused: RefusedRequest) => void) | undefined;
  /** Receives the requests that were refused without a token, at any path. Must not throw. */
  readonly onUnidentified?: ((ended: Exchange) => Promise<void>) | undefined;
  /** Receives the address of a proxy that is not trusted, although the `Link` depends on it. Must not throw. */
  readonly onUntrustedProxy?: ((address: string) => void) | undefined;
}

/** Answers every request that it receives: routing by path is up to the caller. */
export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => void;

/**
 * The endpoints of one path as a plain Node listener. `route` is the path in the log. Events, not promises, end an exchange: a
 * promise for each response would take a tenth of the time of a poll.
 */
export function createHandler(
  route: string | undefined,
  endpoints: readonly Endpoint[],
  options: HandlerOptions,
): RequestHandler {
  const { logger, onRefusal } = options;
  const site: Site = {
    basePath: options.basePath ?? '',
    publicUrl: options.publicUrl,
    isTrusted: compileTrust(options.trustProxy ?? false),
    logger,
    onUntrustedProxy: options.onUntrustedProxy,
  };
  const logCause = createCauseLog();
  const allowed = endpoints.flatMap(({ methods }) => methods);
  const byMethod = new Map(endpoints.flatMap((row) => row.methods.map((method) => [method, row])));
  const endpointOf = ({ request }: Exchange): Endpoint | undefined => byMethod.get(request.method ?? '');
  const isApi = endpoints.some((row) => 'callers' in row);

  /** The checks, in their order. A failed check throws a `ProblemError`. */
  function answer(exchange: Exchange): Payload | Promise<Payload> {
    const { request } = exchange;
    const malformed = findHeaderProblem(request);
    // Not thrown at once: if Node's parser refuses the request as well, its error is answered first, and alone.
    if (malformed) return Promise.reject(malformed);
    const endpoint = endpointOf(exchange);
    if (!endpoint) throw methodNotAllowed(allowed);
    if (!('callers' in endpoint)) return endpoint.answer(exchange);
    return andThen(identify(endpoint, exchange), (caller) => {
      if (endpoint.body) exchange.mediaType = requireBody(request, endpoint.body);
      return endpoint.answer(exchange, caller);
    });
  }

  function identify(endpoint: CallerEndpoint, exchange: Exchange): Caller | Promise<Caller> {
    const reject = async (error: unknown): Promise<never> => {
      throw error instanceof ProblemError
        ? ((await endpoint.onRejectedCaller?.(exchange, error)) ?? error)
        : error;
    };
    if (!endpoint.onRejectedCaller) return endpoint.callers.identify(exchange);
    try {
      const caller = endpoint.callers.identify(exchange);
      return isPromise(caller) ? caller.catch(reject) : caller;
    } catch (error) {
      return reject(error);
    }
  }

  function respond(exchange: Exchange): void {
    const fail = (error: unknown) => send(exchange, toProblemPayload(error, exchange));
    try {
      const payload = answer(exchange);
      if (isPromise(payload)) payload.then((value) => send(exchange, value), fail);
      else send(exchange, payload);
    } catch (error) {
      fail(error);
    }
  }

  function send(exchange: Exchange, payload: Payload): void {
    const { request, response, headers } = exchange;
    if (isDisconnected(request, response)) {
      onEnd(exchange, payload);
      return;
    }
    // After malformed headers the connection is closed at once: where its body ends is unknown.
    const isBodyDiscarded = hasLongUnreadBody(request) && !headers.includes('connection');
    if (isBodyDiscarded) headers.push('connection', 'close');
    onceClosed(request, response, () => {
      // Not `writableFinished`: it is also true after a reset that discarded the rest.
      exchange.isComplete = !request.socket.destroyed;
      onEnd(exchange, payload);
    });
    try {
      response.writeHead(payload.status, headers);
      const body = request.method === 'HEAD' ? undefined : payload.body;
      if (isBodyDiscarded) endAndDiscardBody(request, response, body);
      else response.end(body);
    } catch (error) {
      // The application has started a response already, or has set an invalid header.
      exchange.log.error({ err: error }, 'a response could not be sent');
      response.destroy();
    }
  }

  function toProblemPayload(error: unknown, exchange: Exchange): Payload {
    if (error instanceof ClientDisconnectedError) {
      exchange.response.destroy();
      return { status: CLIENT_CLOSED_REQUEST, body: undefined };
    }
    const endpoint = endpointOf(exchange);
    const detail = endpoint && 'callers' in endpoint ? endpoint.unavailableDetail : undefined;
    const problem = toProblemError(error, detail);
    exchange.problem = problem;
    logCause(problem, exchange.log);
    const { status, headers, body } = problemResponse(problem, exchange.id);
    exchange.headers.push(...Object.entries(headers).flat(), 'content-length', String(body.length));
    return { status, body };
  }

  function onEnd(exchange: Exchange, payload: Payload): void {
    const { request, response, problem, isComplete } = exchange;
    exchange.durationMs = performance.now() - exchange.startedAt;
    exchange.leads = payload.leads;
    const isUnsent = isDisconnected(request, response) && !response.headersSent;
    exchange.status = isUnsent ? CLIENT_CLOSED_REQUEST : payload.status;
    const isAnswered = !problem && payload.status !== CLIENT_CLOSED_REQUEST;
    // A request with another method is counted as well.
    const endpoint = endpointOf(exchange) ?? endpoints[0];
    try {
      endpoint?.observe?.(exchange, isAnswered ? payload : undefined);
    } catch (error) {
      // An observer that throws must not fail the request.
      exchange.log.error({ err: error }, 'the observer of requests has thrown an error');
    }
    const level = endpoint?.isQuiet && exchange.status < 400 ? 'debug' : 'info';
    logger?.[level]?.(requestLine(exchange, route), isComplete ? 'request' : CLIENT_DISCONNECTED);
    if (problem && !(exchange.token ?? problem.parts.token))
      options.onUnidentified?.(exchange).catch((err: unknown) => {
        exchange.log.error({ err }, 'the sender of a refused request could not be found');
      });
    if (isApi && route !== undefined && problem && isRefusal(exchange))
      onRefusal?.({
        code: problem.code,
        status: exchange.status,
        requestId: exchange.id,
        path: route,
      });
  }

  return (request, response) => respond(new Exchange(request, response, site));
}

/** In the console, a person tries a token or a request and sees the answer: no automation is refused. */
const isRefusal = ({ status, request }: Exchange): boolean =>
  status !== CLIENT_CLOSED_REQUEST && (status >= 500 || !isConsoleRequest(request));

export const methodNotAllowed = (allowed: readonly string[] = READ_METHODS): ProblemError =>
  new ProblemError('method-not-allowed', { headers: { allow: allowed.join(', ') } });

/** The listener of all endpoints of a table. */
export function createRouter(endpoints: readonly Endpoint[], options: HandlerOptions): RequestListener {
  const { basePath = '' } = options;
  const handlers = new Map<string, RequestHandler>();
  for (const path of new Set(endpoints.map((row) => row.path))) {
    const rows = endpoints.filter((row) => row.path === path);
    handlers.set(`${basePath}${path}`, createHandler(`${basePath}${path}`, rows, options));
    if (basePath !== '' && rows.some((row) => row.isAlsoAtRoot))
      handlers.set(path, createHandler(path, rows, options));
  }
  const handleOther = createHandler(undefined, [otherPaths(handlers)], options);
  const findNormalized = (url: string): RequestHandler | undefined => {
    const path = normalizePath(url);
    if (path === undefined) return undefined;
    return handlers.get(path) ?? handlers.get(withoutId(path)) ?? handlers.get(withoutInnerId(path));
  };

  return (request, response) => {
    const { url = '' } = request;
    const mark = url.indexOf('?');
    const path = mark === -1 ? url : url.slice(0, mark);
    // Nearly all requests have the path as it is in the table.
    const handle = handlers.get(path) ?? findNormalized(url) ?? handleOther;
    handle(request, response);
  };
}

/** An endpoint that exists only with another setting. `detail` says what the operator has to change. */
export const switchedOff = (path: string, detail: string): OpenEndpoint => ({
  path,
  methods: METHODS,
  answer: () => {
    throw new ProblemError('no-such-resource', { detail });
  },
});

const otherPaths = (handlers: ReadonlyMap<string, unknown>): OpenEndpoint => ({
  path: '',
  methods: METHODS,
  answer: ({ request }) => {
    const path = normalizePath(request.url);
    if (path === undefined) throw new ProblemError('malformed-request');
    const withoutSlash = path.replace(/\/$/, '');
    if (!handlers.has(withoutSlash)) throw new ProblemError('no-such-resource');
    throw new ProblemError('no-such-resource', {
      detail: `Leave out the slash at the end of the address: \`${withoutSlash}\`.`,
    });
  },
});

/** The path of a target that may be a whole URL, with encoded letters decoded. Undefined if the encoding is invalid. */
function normalizePath(target = ''): string | undefined {
  const [path = ''] = target.replace(/^https?:\/\/[^/?]*/i, '').split('?', 1);
  try {
    return decodeURI(path);
  } catch {
    return undefined;
  }
}

const withoutId = (path: string): string => path.replace(/\/[^/]*$/, '/{id}');
const withoutInnerId = (path: string): string => path.replace(/\/[^/]*(\/[^/]*)$/, '/{id}$1');
