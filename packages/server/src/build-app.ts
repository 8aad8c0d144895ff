/** The Fastify application around the endpoints. */
import { METHODS } from 'node:http';
import { CONSUMERS_PATH, HOOKS_PATH, LEADS_PATH, NEW_LEADS_PATH } from '@leadtap/contract';
import Fastify, { type FastifyBaseLogger, type FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { createConsumersHandler } from './consumers/endpoint.ts';
import { createHooksHandlers, type HookSettings } from './hooks/endpoint.ts';
import { HookSender, type HookSenderOptions } from './hooks/sender.ts';
import { Connections } from './http/connections.ts';
import { consoleRoutes } from './http/console.ts';
import { docsRoutes } from './http/docs.ts';
import {
  createErrorHandler,
  handleConnectAndExpect,
  handleParserError,
  handleUnroutable,
} from './http/error-handlers.ts';
import { createHandler, type HandlerOptions, type RequestHandler } from './http/exchange.ts';
import { mountWithBody, mountWithoutBody } from './http/fastify-plugins.ts';
import { compileTrust, createPublicUrl, type TrustProxy } from './http/forwarded.ts';
import { healthRoutes, isReadinessProbe } from './http/health.ts';
import { requireValidHeaders } from './http/methods.ts';
import { commonHeaders, ProblemError, unavailable } from './http/problems.ts';
import { requestIdOf } from './http/request-log.ts';
import { makeServer, RequestLogController, routeEndpoints, type ServerLimits } from './http/server.ts';
import { createIntakeResponder, type IntakeObserver } from './intake/endpoint.ts';
import type { Limiter } from './limits/limiter.ts';
import { createReaders, type PollReaders } from './poll/cache/poll-cache.ts';
import { createPollResponder, type PollOptions } from './poll/endpoint.ts';
import type { Schedule } from './poll/held-polls.ts';
import type { Store } from './store/store.ts';

export interface AppServices extends PollOptions {
  readonly store: Store;
  /** Of requests that send leads. Default: 600 a minute for each user, in the memory of this process. */
  readonly intakeLimiter?: Limiter | undefined;
  readonly intakeLeadLimiter?: Limiter | undefined;
  readonly intakeObserver?: IntakeObserver | undefined;
  /** Writes the polls of a user that are in memory. Absent: consumers are not recorded, and not listed over HTTP. */
  readonly flushConsumers?: ((userId: string) => Promise<void>) | undefined;
  readonly onRefusal?: HandlerOptions['onRefusal'];
  readonly onUntrustedProxy?: HandlerOptions['onUntrustedProxy'];
  /** Absent: there are no webhook subscriptions. */
  readonly hooks?: (HookSettings & Pick<HookSenderOptions, 'onOutcome' | 'delivery'>) | undefined;
  readonly logger: Logger;
  readonly version: string;
}

export interface AppOptions extends Partial<ServerLimits> {
  readonly basePath: string;
  readonly publicUrl: string | undefined;
  readonly trustProxy: TrustProxy;
  /** Accept leads over HTTP. Default: no. */
  readonly intake?: boolean | undefined;
  /** Accept tokens of senders in URLs. Default: no. */
  readonly acceptsUrlTokens?: boolean | undefined;
  readonly timeZone?: string | undefined;
  /** Serve the web console. Default: no. */
  readonly console?: boolean | undefined;
  readonly maxWaiting?: number | undefined;
  /** For tests. Default: timers of Node. */
  readonly schedule?: Schedule | undefined;
  readonly staleAfterMs?: number | undefined;
  /**
   * During shutdown, the app accepts connections and answers with `Connection: close` until this resolves. Default: it does
   * not wait.
   */
  readonly drain?: (() => Promise<void>) | undefined;
}

const REQUEST_TIMEOUT_MS = 15_000;
/** What the operator has to change for paths that exist only with a setting. */
const OFF_DETAILS: Readonly<Record<string, string>> = {
  [LEADS_PATH]:
    'This service does not accept leads over HTTP. Ask its operator to set `LEADTAP_INTAKE=on` and to start it again.',
  [CONSUMERS_PATH]: 'This service does not record who polls: its operator has set `LEADTAP_CONSUMERS=off`.',
  [HOOKS_PATH]: 'This service has no webhook subscriptions: its operator has set `LEADTAP_HOOKS=off`.',
};

/** Of a path below `{base_url}`. */
const offDetailOf = (path: string): string | undefined =>
  OFF_DETAILS[path.startsWith(`${HOOKS_PATH}/`) ? HOOKS_PATH : path];

/** The Fastify application over the given services. */
export function buildApp(services: AppServices, options: AppOptions): FastifyInstance {
  const { basePath: prefix, requestTimeoutMs = REQUEST_TIMEOUT_MS, drain } = options;
  const stop = new AbortController();
  const { endpoints, hookSender } = createEndpoints(services, options, stop.signal);
  const handlers = Object.fromEntries(endpoints.map(({ path, handle }) => [`${prefix}${path}`, handle]));
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
      connections = new Connections(routeEndpoints(handlers, handleOther));
      return makeServer(connections, {
        requestTimeoutMs,
        maxConnections: options.maxConnections,
        onDroppedConnection: options.onDroppedConnection,
      });
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
    await Promise.all([drain?.(), hookSender?.stop()]);
  });
  app.addHook('onReady', async () => hookSender?.start());
  app.setErrorHandler(handleError);
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(commonHeaders(request.id));
    if (isStopping && isReadinessProbe(request)) throw unavailable();
    // The handlers of the endpoints check their own requests.
    if (Object.hasOwn(handlers, request.routeOptions.url ?? '')) return;
    // In this hook, not in a handler, so that the body is never read.
    requireValidHeaders(request.raw);
    if (!request.is404) return;
    const [path = ''] = request.url.split('?', 1);
    const withoutSlash = path.replace(/\/$/, '');
    const detail = Object.hasOwn(handlers, withoutSlash)
      ? `Leave out the slash at the end of the address: \`${withoutSlash}\`.`
      : offDetailOf(path.startsWith(prefix) ? path.slice(prefix.length) : '');
    throw new ProblemError('no-such-resource', detail === undefined ? {} : { detail });
  });

  const ping = () => services.store.ping();
  app.register(healthRoutes, { ping });
  if (prefix !== '') app.register(healthRoutes, { prefix, ping });
  const publicUrl = createPublicUrl(options.publicUrl, prefix);
  const hasIntake = options.intake ?? false;
  const hasConsole = options.console ?? false;
  app.register(docsRoutes, { prefix, version: services.version, publicUrl, hasIntake, hasConsole });
  if (hasConsole) app.register(consoleRoutes, { prefix, hasHooks: hookSender !== undefined });
  const mountEndpoints = async (routes: FastifyInstance) => {
    for (const { path, handle, mount } of endpoints)
      mount(routes, (request, reply) => handle(request.raw, reply.raw), { logLevel: 'silent' }, path);
  };
  app.register(mountEndpoints, { prefix });
  return app;
}

interface Endpoint {
  /** Below `{base_url}`. */
  readonly path: string;
  readonly handle: RequestHandler;
  /** How Fastify routes other spellings of the path to it. */
  readonly mount: typeof mountWithoutBody;
}

/** Those that are switched on. They share one cache. */
function createEndpoints(
  services: AppServices,
  options: AppOptions,
  stopSignal: AbortSignal,
): { readonly endpoints: readonly Endpoint[]; readonly hookSender: HookSender | undefined } {
  const { store, verifyToken, failedTokens, clock, limiter, observer, recorder, logger, onRefusal } =
    services;
  const { basePath, publicUrl, trustProxy } = options;
  const { onUntrustedProxy } = services;
  const readers = createReaders(store);
  const identification = { store, verifyToken, failedTokens, clock };
  const mounting = { basePath, publicUrl, trustProxy, logger, onRefusal, onUntrustedProxy };
  const { maxWaiting, schedule } = options;
  const polls = createPollResponder(
    { ...identification, limiter, observer, recorder, maxWaiting, schedule, stopSignal },
    readers,
  );
  const endpoints: Endpoint[] = [
    { path: NEW_LEADS_PATH, handle: createHandler(NEW_LEADS_PATH, polls, mounting), mount: mountWithoutBody },
  ];
  const { flushConsumers: flushUser } = services;
  if (flushUser) {
    const { staleAfterMs } = options;
    const reading = { limiter, observer, flushUser, staleAfterMs, hooks: services.hooks };
    const handle = createConsumersHandler({ ...identification, ...mounting, ...reading }, readers);
    endpoints.push({ path: CONSUMERS_PATH, handle, mount: mountWithoutBody });
  }
  const hookSender = createHookSender(services, publicUrl, readers);
  if (services.hooks && hookSender) {
    const onSubscribed = () => hookSender.onSubscribed();
    const subscribing = { limiter, observer, hooks: services.hooks, onSubscribed };
    const handlers = createHooksHandlers({ ...identification, ...mounting, ...subscribing }, readers);
    endpoints.push({ path: HOOKS_PATH, handle: handlers.collection, mount: mountWithBody });
    endpoints.push({ path: `${HOOKS_PATH}/:id`, handle: handlers.item, mount: mountWithBody });
  }
  if (options.intake) {
    const { intakeLimiter, intakeLeadLimiter: leadLimiter, intakeObserver } = services;
    const { acceptsUrlTokens, timeZone } = options;
    const accepting = {
      acceptsUrlTokens,
      timeZone,
      limiter: intakeLimiter,
      leadLimiter,
      observer: intakeObserver,
    };
    const intake = createIntakeResponder({ ...identification, ...accepting }, readers);
    endpoints.push({
      path: LEADS_PATH,
      handle: createHandler(LEADS_PATH, intake, mounting),
      mount: mountWithBody,
    });
  }
  return { endpoints, hookSender };
}

function createHookSender(
  { hooks, logger: log, version, recorder }: AppServices,
  publicUrl: string | undefined,
  { changes }: PollReaders,
): HookSender | undefined {
  const hasConsumers = recorder !== undefined;
  return hooks && new HookSender({ ...hooks, changes, publicUrl, hasConsumers, version, log });
}
