import { METHODS } from 'node:http';
import { NEW_LEADS_PATH } from '@leadtap/contract';
import Fastify, { type FastifyBaseLogger, type FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import type { VerifyToken } from './accounts/tokens.ts';
import type { Clock } from './clock.ts';
import { answerProblem, answerUnroutable, commonHeaders } from './http/answer-problem.ts';
import { Connections } from './http/connections.ts';
import { docsRoutes } from './http/docs.ts';
import { makeTrust } from './http/forwarded.ts';
import { healthRoutes, isReadinessProbe } from './http/health.ts';
import { requireHost } from './http/methods.ts';
import { mountPolls } from './http/new-leads.ts';
import type { PollObserver } from './http/observe-polls.ts';
import { createPollHandler } from './http/poll-handler.ts';
import { ProblemError, unavailable } from './http/problems.ts';
import { makePublicUrl } from './http/public-url.ts';
import { answerRawError, handleConnectAndExpect } from './http/raw-errors.ts';
import { requestId } from './http/request-id.ts';
import { RequestLog } from './http/request-log.ts';
import { makeServer, routePolls } from './http/server.ts';
import type { Limiter } from './limits/limiter.ts';
import type { TrustProxy } from './ops/addresses.ts';
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
  /**
   * When it stops, it continues to accept connections and to answer until this resolves, and tells clients to close
   * their connections. Default: no such time.
   */
  readonly drain?: () => Promise<void>;
  /** Further connections are dropped. Default: no limit. */
  readonly maxConnections?: number | undefined;
  readonly onDroppedConnection?: () => void;
}

const REQUEST_TIMEOUT_MS = 15_000;

/** Services to a Fastify application. The order of the plugins is the order of this function. */
export function buildApp(services: AppServices, options: AppOptions): FastifyInstance {
  const { basePath: prefix, requestTimeoutMs = REQUEST_TIMEOUT_MS, drain } = options;
  const handlePoll = createPollHandler({ ...services, ...options });
  const path = `${prefix}${NEW_LEADS_PATH}`;
  let connections: Connections | undefined;
  let isStopping = false;
  // As Fastify itself knows loggers.
  const loggerInstance: FastifyBaseLogger = services.logger;
  const app = Fastify({
    loggerInstance,
    genReqId: requestId,
    logController: new RequestLog(),
    trustProxy: makeTrust(options.trustProxy) ?? false,
    serverFactory: (handleOther) => {
      connections = new Connections(routePolls(path, handlePoll, handleOther));
      return makeServer(connections, { ...options, requestTimeoutMs });
    },
    bodyLimit: 1024,
    return503OnClosing: false,
    clientErrorHandler: answerRawError,
    frameworkErrors: answerUnroutable,
  });
  handleConnectAndExpect(app.server, app.log);
  // Node knows more methods than Fastify routes; here each of them gets a 405 of ours.
  for (const method of METHODS)
    if (method !== 'CONNECT' && !app.supportedMethods.includes(method)) app.addHttpMethod(method);

  app.addHook('preClose', async () => {
    isStopping = true;
    connections?.drain();
    await drain?.();
  });
  app.setErrorHandler(answerProblem);
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(commonHeaders(request.id));
    if (isStopping && isReadinessProbe(request)) throw unavailable();
    // The handler of polls does that itself, and writes its own line to the log.
    if (request.routeOptions.url !== path) requireHost(request.raw);
    // Here and not in a handler for what is not found: the body of such a request is never read.
    if (request.is404) throw new ProblemError('no-such-resource');
  });

  const ready = () => services.store.ping();
  app.register(healthRoutes, { ready });
  if (prefix !== '') app.register(healthRoutes, { prefix, ready });
  const publicUrl = makePublicUrl(options.publicUrl, prefix);
  app.register(docsRoutes, { prefix, version: services.version, publicUrl });
  const mountHandler = async (routes: FastifyInstance) =>
    mountPolls(routes, (request, reply) => handlePoll(request.raw, reply.raw), { logLevel: 'silent' });
  app.register(mountHandler, { prefix });
  return app;
}
