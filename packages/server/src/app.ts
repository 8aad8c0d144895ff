import { METHODS } from 'node:http';
import Fastify, { type FastifyBaseLogger, type FastifyInstance, type FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { VerifyToken } from './accounts/verification.ts';
import type { Clock } from './clock.ts';
import { answerProblem, answerUnroutable, logFault } from './http/answer-problem.ts';
import { onCallerGone } from './http/caller-gone.ts';
import { docsRoutes } from './http/docs.ts';
import { makeTrust } from './http/forwarded.ts';
import { healthRoutes, isLivenessProbe } from './http/health.ts';
import { ExpressLane } from './http/lane/express-lane.ts';
import { answerWith, pollAnswerer } from './http/new-leads.ts';
import { observationOf, type PollObserver } from './http/observe-polls.ts';
import { ProblemError, unavailable } from './http/problems.ts';
import { makePublicUrl } from './http/public-url.ts';
import { answerRawError, answerWhatNodeWouldNot } from './http/raw-errors.ts';
import { requestId } from './http/request-id.ts';
import { KEEP_ALIVE_MS, makeServer } from './http/server.ts';
import type { Limiter } from './limits/limiter.ts';
import type { TrustProxy } from './ops/addresses.ts';
import { RequestLog } from './ops/request-log.ts';
import type { Store } from './store/store.ts';

export interface AppServices {
  readonly store: Store;
  readonly verifyToken: VerifyToken;
  readonly limiter: Limiter;
  readonly failedTokens: Limiter;
  readonly observer: PollObserver;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly version: string;
}

export interface AppOptions {
  readonly basePath: string;
  readonly publicUrl: string | undefined;
  readonly trustProxy: TrustProxy;
  /** A request arrives whole within this, or is ended: slow senders must not hold sockets. */
  readonly requestTimeoutMs?: number;
}

const REQUEST_TIMEOUT_MS = 15_000;

/** Services to a Fastify application. The order of the plugins is the order of this function. */
export function buildApp(services: AppServices, options: AppOptions): FastifyInstance {
  const { basePath: prefix, requestTimeoutMs = REQUEST_TIMEOUT_MS } = options;
  const publicUrl = makePublicUrl(options.publicUrl, prefix);
  const requestLog = new RequestLog();
  const answerPoll = pollAnswerer(services);
  let closing = false;
  const trust = makeTrust(options.trustProxy);
  const lane = new ExpressLane({
    basePath: prefix,
    answerPoll,
    publicUrl,
    trust,
    onProblem: (problem, id) => logFault(problem, services.logger.child({ requestId: id })),
    onServed: (served) => {
      services.observer.observe(observationOf(served.state, 'GET', served.status, served.durationMs));
      requestLog.polled(served, services.logger);
    },
    silenceMs: requestTimeoutMs,
    keepAliveMs: KEEP_ALIVE_MS,
  });
  // As Fastify itself knows loggers.
  const loggerInstance: FastifyBaseLogger = services.logger;
  const app = Fastify({
    loggerInstance,
    genReqId: requestId,
    logController: requestLog,
    trustProxy: trust ?? false,
    serverFactory: (toFastify) => makeServer(lane, toFastify, requestTimeoutMs),
    bodyLimit: 1024,
    return503OnClosing: false,
    clientErrorHandler: answerRawError,
    frameworkErrors: answerUnroutable,
  });
  answerWhatNodeWouldNot(app.server, app.log);
  // Node knows more methods than Fastify routes; here each of them gets a 405 of ours.
  for (const method of METHODS)
    if (method !== 'CONNECT' && !app.supportedMethods.includes(method)) app.addHttpMethod(method);

  app.addHook('preClose', async () => {
    closing = true;
    lane.close();
  });
  // Else a client would keep the connection of its last answer, and the stop would wait for that.
  app.addHook('onSend', (_request, reply, payload, done) => {
    if (closing) reply.header('connection', 'close');
    done(null, payload);
  });
  app.setErrorHandler(answerProblem);
  onCallerGone(app, (request, reply) => requestLog.requestCompleted(null, request, reply));
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id);
    if (closing && !isLivenessProbe(request)) throw unavailable();
    if (lacksHost(request)) throw new ProblemError('malformed-request', { detail: 'Send a Host header.' });
    // Here and not in a handler for what is not found: the body of such a request is never read.
    if (request.is404) throw new ProblemError('no-such-resource');
  });

  const ready = () => services.store.ping();
  app.register(healthRoutes, { ready });
  if (prefix !== '') app.register(healthRoutes, { prefix, ready });
  app.register(docsRoutes, { prefix, version: services.version, publicUrl });
  app.register(async (routes) => answerWith(routes, answerPoll, { publicUrl, observer: services.observer }), {
    prefix,
  });
  return app;
}

/** HTTP/1.0 knew no Host; since then it is asked for. */
const lacksHost = ({ raw, headers }: FastifyRequest): boolean =>
  headers.host === undefined && raw.httpVersion === '1.1';
