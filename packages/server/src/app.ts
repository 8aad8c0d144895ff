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
import { openLimiters } from './limits/open-limiters.ts';
import { engineOf, openStore } from './open-store.ts';
import { createDropLog, heldPollLimit, socketLimits } from './ops/listen.ts';
import { type Metrics, makeMetrics } from './ops/metrics.ts';
import type { PrivatePages } from './ops/private-listener.ts';
import { addStatusMetrics } from './ops/status-metrics.ts';
import { InstanceMemory } from './status/instance.ts';
import { createStatusReader } from './status/read-status.ts';
import type { StatusTimeouts } from './status/timeouts.ts';
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
  const recording = { clock, log: logger, flushMs: options.consumerFlushMs };
  const recorder =
    config.consumers && store.consumers ? new ConsumerRecorder(store.consumers, recording) : undefined;
  recorder?.start();
  const { staleAfterMs } = config;
  const timeouts = options.statusTimeouts;
  const hooks = config.hooks ? store.hooks : undefined;
  const sockets = socketLimits(hooks ? MAX_SOCKETS : 0);
  const { maxConnections = sockets?.maxConnections } = options;
  const instance = new InstanceMemory(clock);
  const engine = engineOf(config.database);
  const readStatus = createStatusReader({
    clock,
    version: VERSION,
    store,
    databaseAddress: describeDatabase(config.database),
    databaseFile: engine.file,
    readLastBackup: engine.backupTimes?.readLast,
    sharedLimits: limiters.shared,
    instance,
    hooks,
    isRecording: recorder !== undefined,
    staleAfterMs,
    invocation,
    log: logger,
    timeouts,
  });
  addStatusMetrics(metrics.registry, {
    ...{ readStatus, hasConsumers: recorder !== undefined, hasHooks: hooks !== undefined, timeouts },
  });
  const services = {
    store,
    verifyToken,
    limiter: limiters.users,
    intakeLimiter: limiters.intake,
    intakeLeadLimiter: limiters.intakeLeads,
    failedTokens: limiters.failedTokens,
    observer: metrics,
    recorder,
    flushConsumers: recorder && ((userId: string) => recorder.flushUser(userId)),
    intakeObserver: metrics,
    onRefusal: instance.addRefusal,
    onUntrustedProxy: instance.addUntrustedProxy,
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
