/** Config → running service. */
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { loadSigningKeys, type SigningKeys, secretsOf } from './accounts/signing-keys.ts';
import { makeVerifyToken } from './accounts/tokens.ts';
import { type AppOptions, buildApp } from './build-app.ts';
import { type Clock, systemClock } from './clock.ts';
import { type Config, describeDatabase } from './config.ts';
import { ConsumerRecorder } from './consumers/recorder.ts';
import { type DeliveryOptions, MAX_SOCKETS } from './hooks/deliver.ts';
import { addHookMetrics } from './hooks/metrics.ts';
import { allowedHosts } from './hooks/url.ts';
import type { RefusedRequest } from './http/exchange.ts';
import { openLimiters } from './limits/open-limiters.ts';
import { engineOf, openStore } from './open-store.ts';
import { createDropLog, heldPollLimit, socketLimits } from './ops/listen.ts';
import { type Metrics, makeMetrics } from './ops/metrics.ts';
import type { PrivatePages } from './ops/private-listener.ts';
import { addStatusMetrics } from './ops/status-metrics.ts';
import type { PollObserver } from './poll/observer.ts';
import { ConsumerPolls } from './status/consumer-polls.ts';
import { createStatusReader } from './status/read-status.ts';
import { Refusals } from './status/refusals.ts';
import { RequestHistory } from './status/request-history.ts';
import type { StatusTimeouts } from './status/timeouts.ts';
import { UntrustedProxies } from './status/untrusted-proxies.ts';
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
  /** How the person started this program. Default: `leadtap`. */
  readonly invocation?: string | undefined;
  /** For tests. Default: 5 seconds. */
  readonly consumerFlushMs?: number;
  /** For tests: long ones, for machines that are slow. */
  readonly statusTimeouts?: StatusTimeouts;
  /** For tests: the timers of held polls. */
  readonly schedule?: AppOptions['schedule'];
  /** For tests: another timeout, and receivers with certificates of their own. */
  readonly hookDelivery?: DeliveryOptions;
  /** Default: the number that the limit of open files allows. */
  readonly maxConnections?: number;
}

/** Creates the service of a configuration, ready to listen. */
export async function compose(
  config: Config,
  logger: Logger,
  options: ComposeOptions = {},
): Promise<Service> {
  const { clock = systemClock, open = openStore, limits = openLimiters, hookDelivery } = options;
  const { invocation = 'leadtap' } = options;
  const keys = await loadSigningKeys(config.signingKey);
  const verifyToken = makeVerifyToken({ keys, external: config.externalTokens, clock });
  const store = await open(config, { clock, log: logger });
  const limiters = await limits({ redisUrl: config.redisUrl, clock, log: logger });
  const metrics = makeMetrics(limiters.shared);
  const consumerPolls = new ConsumerPolls(clock);
  const recording = { clock, log: logger, flushMs: options.consumerFlushMs };
  const recorder =
    config.consumers && store.consumers
      ? new ConsumerRecorder(store.consumers, {
          ...recording,
          onWritten: (polls) => consumerPolls.add(polls),
        })
      : undefined;
  recorder?.start();
  const { staleAfterMs } = config;
  const timeouts = options.statusTimeouts;
  const hooks = config.hooks ? store.hooks : undefined;
  const sockets = socketLimits(hooks ? MAX_SOCKETS : 0);
  const { maxConnections = sockets?.maxConnections } = options;
  const requests = new RequestHistory(clock);
  const refusals = new Refusals(clock);
  const untrustedProxies = new UntrustedProxies(clock);
  const engine = engineOf(config.database);
  const readStatus = createStatusReader({
    clock,
    version: VERSION,
    store,
    databaseAddress: describeDatabase(config.database),
    databaseFile: engine.file,
    readLastBackup: engine.backupTimes?.readLast,
    sharedLimits: limiters.shared,
    requests,
    refusals,
    hooks,
    isRecording: recorder !== undefined,
    consumerPolls,
    untrustedProxy: untrustedProxies.read,
    staleAfterMs,
    invocation,
    log: logger,
    timeouts,
  });
  addStatusMetrics(metrics.registry, {
    ...{ readStatus, hasConsumers: recorder !== undefined, hasHooks: hooks !== undefined, timeouts },
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
    recorder,
    flushConsumers: recorder && ((userId: string) => recorder.flushUser(userId)),
    intakeObserver: metrics,
    onRefusal: (refused: RefusedRequest) => {
      requests.countRefusal(refused.status);
      refusals.add(refused);
    },
    onUntrustedProxy: untrustedProxies.add,
    hooks: hooks && {
      store: hooks,
      hosts: allowedHosts(config.hookHosts),
      signingSecrets: secretsOf(keys),
      onOutcome: addHookMetrics(metrics.registry),
      delivery: { maxSockets: sockets?.maxHookSockets, ...hookDelivery },
    },
    logger,
    clock,
    version: VERSION,
  };
  const logDrop = createDropLog(logger, maxConnections);
  const onDroppedConnection = () => {
    metrics.countDroppedConnection();
    logDrop();
  };
  const app = buildApp(services, {
    basePath: config.basePath,
    publicUrl: config.publicUrl,
    trustProxy: config.trustProxy,
    intake: config.intake,
    acceptsUrlTokens: config.acceptsUrlTokens,
    timeZone: config.timeZone,
    console: config.console,
    staleAfterMs,
    maxWaiting: heldPollLimit(config.maxWaiting, maxConnections),
    schedule: options.schedule,
    maxConnections,
    onDroppedConnection,
    drain: options.drain,
  });
  app.addHook('onClose', async () => {
    limiters.close();
    await recorder?.close();
    await store.close();
  });
  return { app, store, keys, metrics, recorder, readStatus, invocation };
}

/** Each poll is counted for Prometheus and for the status page. */
const observeBoth = (metrics: Metrics, requests: RequestHistory): PollObserver => ({
  observe(observation) {
    metrics.observe(observation);
    requests.observe(observation);
  },
  observeRefusal: (violatedPolicies) => metrics.observeRefusal?.(violatedPolicies),
  observeWaiting(count) {
    metrics.observeWaiting?.(count);
    requests.observeWaiting(count);
  },
});
