import { METHODS } from 'node:http';
import { CONSUMERS_PATH, LEADS_PATH, NEW_LEADS_PATH } from '@leadtap/contract';
import Fastify, { type FastifyBaseLogger, type FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { loadSigningKeys, type SigningKeys } from './accounts/signing-keys.ts';
import { makeVerifyToken } from './accounts/tokens.ts';
import { createReaders, type PollReaders } from './cache/poll-cache.ts';
import { type Clock, systemClock } from './clock.ts';
import { type Config, describeDatabase } from './config.ts';
import { Connections } from './http/connections.ts';
import { consoleRoutes } from './http/console.ts';
import { createConsumersHandler } from './http/consumers-handler.ts';
import { docsRoutes } from './http/docs.ts';
import {
  createErrorHandler,
  handleConnectAndExpect,
  handleParserError,
  handleUnroutable,
} from './http/error-handlers.ts';
import { createHandler } from './http/exchange.ts';
import { mountIntake, mountPolls } from './http/fastify-plugins.ts';
import { compileTrust, createPublicUrl, type TrustProxy } from './http/forwarded.ts';
import { healthRoutes, isReadinessProbe } from './http/health.ts';
import { createIntakeResponder, type IntakeObserver } from './http/intake-handler.ts';
import { requireValidHeaders } from './http/methods.ts';
import { createPollResponder, type PollOptions } from './http/poll-handler.ts';
import type { PollObserver } from './http/poll-observer.ts';
import { commonHeaders, ProblemError, unavailable } from './http/problems.ts';
import { requestIdOf } from './http/request-log.ts';
import { makeServer, RequestLogController, routeEndpoints, type ServerLimits } from './http/server.ts';
import { ConsumerRecorder } from './leads/consumer-recorder.ts';
import type { Limiter } from './limits/limiter.ts';
import { openLimiters } from './limits/open-limiters.ts';
import { engineOf, openStore } from './open-store.ts';
import { addConsumerMetrics } from './ops/consumer-metrics.ts';
import { connectionLimit, createDropLog, heldPollLimit } from './ops/listen.ts';
import { type Metrics, makeMetrics } from './ops/metrics.ts';
import type { PrivatePages } from './ops/private-listener.ts';
import { ConsumerPolls } from './status/consumer-polls.ts';
import { createStatusReader } from './status/read-status.ts';
import { RequestHistory } from './status/request-history.ts';
import type { Store } from './store/store.ts';
import { VERSION } from './version.ts';

export interface Service extends PrivatePages {
  readonly app: FastifyInstance;
  readonly store: Store;
  readonly keys: SigningKeys;
  readonly metrics: Metrics;
  /** Undefined if it is switched off. */
  readonly recorder: ConsumerRecorder | undefined;
}

export interface ComposeOptions {
  readonly clock?: Clock;
  readonly open?: typeof openStore;
  readonly limits?: typeof openLimiters;
  readonly drain?: () => Promise<void>;
  /** For tests. Default: 5 seconds. */
  readonly consumerFlushMs?: number;
  /** Default: the number that the limit of open files allows. */
  readonly maxConnections?: number;
}

/** Creates the service of a configuration, ready to listen. */
export async function compose(
  config: Config,
  logger: Logger,
  { clock = systemClock, open = openStore, limits = openLimiters, ...connections }: ComposeOptions = {},
): Promise<Service> {
  const keys = await loadSigningKeys(config.signingKey);
  const verifyToken = makeVerifyToken({ keys, external: config.externalTokens, clock });
  const store = await open(config, { clock, log: logger });
  const limiters = await limits({ redisUrl: config.redisUrl, clock, log: logger });
  const metrics = makeMetrics(store, logger, limiters.shared);
  const consumerPolls = new ConsumerPolls(clock);
  const recording = { clock, log: logger, flushMs: connections.consumerFlushMs };
  const recorder =
    config.consumers && store.consumers
      ? new ConsumerRecorder(store.consumers, {
          ...recording,
          onWritten: (polls) => consumerPolls.add(polls),
        })
      : undefined;
  const { staleAfterMs } = config;
  if (recorder) addConsumerMetrics(metrics.registry, { store, clock, staleAfterMs, log: logger });
  const requests = new RequestHistory(clock);
  const readStatus = createStatusReader({
    clock,
    version: VERSION,
    store,
    databaseAddress: describeDatabase(config.database),
    databaseFile: engineOf(config.database).file,
    sharedLimits: limiters.shared,
    requests,
    consumerPolls: recorder && consumerPolls,
    staleAfterMs,
    log: logger,
  });
  const observer = observeBoth(metrics, requests);
  const services = {
    store,
    verifyToken,
    limiter: limiters.users,
    intakeLimiter: limiters.intake,
    intakeLeadLimiter: limiters.intakeLeads,
    failedTokens: limiters.failedTokens,
    observer,
    ...(recorder && { recorder, flushConsumers: (userId: string) => recorder.flushUser(userId) }),
    intakeObserver: observer,
    logger,
    clock,
    version: VERSION,
  };
  const maxConnections = connections.maxConnections ?? connectionLimit();
  const logDrop = createDropLog(logger, maxConnections);
  const onDroppedConnection = () => {
    metrics.countDroppedConnection();
    logDrop();
  };
  const maxWaiting = heldPollLimit(config.maxWaiting, maxConnections);
  const limited = { maxConnections, maxWaiting, onDroppedConnection };
  const app = buildApp(services, { ...config, ...connections, ...limited });
  app.addHook('onClose', async () => {
    limiters.close();
    await recorder?.close();
    await store.close();
  });
  return { app, store, keys, metrics, recorder, readStatus };
}

/** Each request is counted for Prometheus and for the status page. */
const observeBoth = (metrics: Metrics, requests: RequestHistory): PollObserver & IntakeObserver => ({
  observe(observation) {
    metrics.observe(observation);
    requests.observe(observation);
  },
  observeIntake(observation) {
    metrics.observeIntake(observation);
    requests.observeIntake(observation);
  },
  observeRefusal: (violatedPolicies) => metrics.observeRefusal?.(violatedPolicies),
  observeWaiting(count) {
    metrics.observeWaiting?.(count);
    requests.observeWaiting(count);
  },
});

export interface AppServices extends PollOptions {
  readonly store: Store;
  /** Of requests that send leads. Default: 600 a minute for each user, in the memory of this process. */
  readonly intakeLimiter?: Limiter;
  readonly intakeLeadLimiter?: Limiter;
  readonly intakeObserver?: IntakeObserver;
  /** Writes the polls of a user that are in memory. Absent: consumers are not recorded, and not listed over HTTP. */
  readonly flushConsumers?: (userId: string) => Promise<void>;
  readonly logger: Logger;
  readonly version: string;
}

export interface AppOptions extends Partial<ServerLimits> {
  readonly basePath: string;
  readonly publicUrl: string | undefined;
  readonly trustProxy: TrustProxy;
  /** Accept leads over HTTP. Default: no. */
  readonly intake?: boolean;
  /** Accept tokens of senders in URLs. Default: no. */
  readonly acceptsUrlTokens?: boolean;
  /** Serve the web console. Default: no. */
  readonly console?: boolean;
  readonly maxWaiting?: number;
  readonly staleAfterMs?: number | undefined;
  /**
   * During shutdown, the app accepts connections and answers with `Connection: close` until this resolves. Default: it does
   * not wait.
   */
  readonly drain?: () => Promise<void>;
}

const REQUEST_TIMEOUT_MS = 15_000;
/** What the operator has to change for paths that exist only with a setting. */
const OFF_DETAILS: Readonly<Record<string, string>> = {
  [LEADS_PATH]:
    'This service does not accept leads over HTTP. Ask its operator to set `LEADTAP_INTAKE=on` and to start it again.',
  [CONSUMERS_PATH]: 'This service does not record who polls: its operator has set `LEADTAP_CONSUMERS=off`.',
};

/** The Fastify application over the given services. */
export function buildApp(services: AppServices, options: AppOptions): FastifyInstance {
  const { basePath: prefix, requestTimeoutMs = REQUEST_TIMEOUT_MS, drain } = options;
  const stop = new AbortController();
  const readers = createReaders(services.store);
  const pollOptions = { ...services, ...options, stopSignal: stop.signal };
  const handlePoll = createHandler(NEW_LEADS_PATH, createPollResponder(pollOptions, readers), pollOptions);
  const handleIntake = options.intake ? createIntake(services, options, readers) : undefined;
  const { flushConsumers: flushUser } = services;
  const handleConsumers =
    flushUser && createConsumersHandler({ ...services, ...options, flushUser }, readers);
  const endpoints = {
    [`${prefix}${NEW_LEADS_PATH}`]: handlePoll,
    ...(handleConsumers && { [`${prefix}${CONSUMERS_PATH}`]: handleConsumers }),
    ...(handleIntake && { [`${prefix}${LEADS_PATH}`]: handleIntake }),
  };
  const handleError = createErrorHandler();
  let connections: Connections | undefined;
  let isStopping = false;
  // The type that Fastify uses for its own logger, so that the instance keeps its default type.
  const loggerInstance: FastifyBaseLogger = services.logger;
  const app = Fastify({
    loggerInstance,
    genReqId: requestIdOf,
    logController: new RequestLogController(),
    trustProxy: compileTrust(options.trustProxy) ?? false,
    serverFactory: (handleOther) => {
      connections = new Connections(routeEndpoints(endpoints, handleOther));
      return makeServer(connections, { ...options, requestTimeoutMs });
    },
    bodyLimit: 1024,
    return503OnClosing: false,
    clientErrorHandler: handleParserError,
    frameworkErrors: handleUnroutable(handleError),
  });
  handleConnectAndExpect(app.server, app.log);
  // Node parses more methods than Fastify routes. All of them get our 405.
  for (const method of METHODS)
    if (method !== 'CONNECT' && !app.supportedMethods.includes(method)) app.addHttpMethod(method);

  app.addHook('preClose', async () => {
    isStopping = true;
    connections?.drain();
    stop.abort();
    await drain?.();
  });
  app.setErrorHandler(handleError);
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(commonHeaders(request.id));
    if (isStopping && isReadinessProbe(request)) throw unavailable();
    // The handlers of the endpoints check their own requests.
    if (Object.hasOwn(endpoints, request.routeOptions.url ?? '')) return;
    // In this hook, not in a handler, so that the body is never read.
    requireValidHeaders(request.raw);
    if (!request.is404) return;
    const [path = ''] = request.url.split('?', 1);
    const detail = path.startsWith(prefix) ? OFF_DETAILS[path.slice(prefix.length)] : undefined;
    throw new ProblemError('no-such-resource', detail === undefined ? {} : { detail });
  });

  const ping = () => services.store.ping();
  app.register(healthRoutes, { ping });
  if (prefix !== '') app.register(healthRoutes, { prefix, ping });
  const publicUrl = createPublicUrl(options.publicUrl, prefix);
  const hasIntake = handleIntake !== undefined;
  const hasConsole = options.console ?? false;
  app.register(docsRoutes, { prefix, version: services.version, publicUrl, hasIntake, hasConsole });
  if (hasConsole) app.register(consoleRoutes, { prefix });
  const mountHandlers = async (routes: FastifyInstance) => {
    const mountOptions = { logLevel: 'silent' } as const;
    mountPolls(routes, (request, reply) => handlePoll(request.raw, reply.raw), mountOptions);
    if (handleConsumers)
      mountPolls(
        routes,
        (request, reply) => handleConsumers(request.raw, reply.raw),
        mountOptions,
        CONSUMERS_PATH,
      );
    if (handleIntake)
      mountIntake(routes, (request, reply) => handleIntake(request.raw, reply.raw), mountOptions);
  };
  app.register(mountHandlers, { prefix });
  return app;
}

function createIntake(services: AppServices, options: AppOptions, readers: PollReaders) {
  const {
    limiter: _limiter,
    observer: _observer,
    intakeLimiter,
    intakeLeadLimiter,
    intakeObserver,
    ...shared
  } = services;
  const intakeOptions = {
    ...shared,
    ...options,
    ...(intakeLimiter && { limiter: intakeLimiter }),
    ...(intakeLeadLimiter && { leadLimiter: intakeLeadLimiter }),
    ...(intakeObserver && { observer: intakeObserver }),
  };
  return createHandler(LEADS_PATH, createIntakeResponder(intakeOptions, readers), intakeOptions);
}
