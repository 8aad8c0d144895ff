/** Config → running service, from top to bottom: store, recording, status, endpoints, servers. */
import { HOOKS_PATH, LEADS_PATH } from '@leadtap/contract';
import type { Logger } from 'pino';
import { createEmptyCheck } from './accounts/no-company.ts';
import { keyIdOf } from './accounts/own-tokens.ts';
import { acceptedKeysOf, loadSigningKeys, type SigningKeys, secretsOf } from './accounts/signing-keys.ts';
import { makeVerifyToken } from './accounts/tokens.ts';
import { type Config, describeDatabase, hookHostsOf, serviceUrl } from './config.ts';
import { createConnectionEndpoints, listOwed } from './connections/endpoint.ts';
import { ConnectionRecorder } from './connections/recorder.ts';
import { DEFAULT_SILENT_AFTER_MS, type ReportSources } from './connections/report.ts';
import { createFindEndpoint } from './find/endpoint.ts';
import { createDelivery, type DeliveryOptions, MAX_SOCKETS } from './hooks/deliver.ts';
import { createHookEndpoints } from './hooks/endpoint.ts';
import { addHookMetrics } from './hooks/metrics.ts';
import { HookSender } from './hooks/sender.ts';
import { withAcceptedKeys } from './hooks/store.ts';
import { allowedHosts, createStopCheck } from './hooks/url.ts';
import { consoleEndpoints } from './http/console.ts';
import { docsEndpoints, redirectsToDocs } from './http/docs.ts';
import { createRouter, type Endpoint, switchedOff } from './http/endpoint.ts';
import { healthEndpoints } from './http/health.ts';
import { createReadQueue } from './http/read-endpoint.ts';
import { HttpServer } from './http/server.ts';
import { createIntakeEndpoint } from './intake/endpoint.ts';
import { RefusedLeadRecorder } from './intake/refused-leads.ts';
import { createUnidentifiedRecorder } from './intake/unidentified.ts';
import { type Clock, systemClock } from './lib/clock.ts';
import { waitFor } from './lib/timeout.ts';
import { VERSION } from './lib/version.ts';
import { openLimiters } from './limits/open-limiters.ts';
import { engineOf, openStore } from './open-store.ts';
import type { Startable } from './ops/lifecycle.ts';
import { createDropLog, longPollLimit, socketLimits } from './ops/listen.ts';
import { type Metrics, makeMetrics } from './ops/metrics.ts';
import { privateEndpoints } from './ops/private-endpoints.ts';
import { addStatusMetrics } from './ops/status-metrics.ts';
import { AccountCache } from './poll/cache/account-cache.ts';
import { createPollEndpoint } from './poll/endpoint.ts';
import type { Schedule } from './poll/long-polls.ts';
import { Alerts } from './status/alerts.ts';
import { InstanceMemory } from './status/instance.ts';
import { createStatusReader, type StatusTimeouts } from './status/read-status.ts';
import type { Store } from './store/store.ts';
import { createUuid } from './store/uuids.ts';

export interface Service extends Startable {
  readonly store: Store;
  readonly keys: SigningKeys;
  readonly metrics: Metrics;
  readonly connections: ConnectionRecorder;
  readonly refusedLeads: RefusedLeadRecorder;
  /** Undefined without `LEADTAP_ALERT_URL`. */
  readonly alerts: Alerts | undefined;
  /** Of the public server. */
  readonly endpoints: readonly Endpoint[];
}

export interface ComposeOptions {
  readonly clock?: Clock;
  readonly open?: typeof openStore;
  readonly limits?: typeof openLimiters;
  /**
   * During shutdown, the service accepts connections and answers with `Connection: close` until this resolves. Default: it does
   * not wait.
   */
  readonly drain?: () => Promise<void>;
  /** How the person started this program. Default: `leadtap`. */
  readonly invocation?: string | undefined;
  /** For tests. Default: 5 seconds. */
  readonly recordFlushMs?: number;
  /** For tests: long ones, for machines that are slow. */
  readonly statusTimeouts?: StatusTimeouts;
  /** For tests: the timers of long polls. */
  readonly schedule?: Schedule;
  /** For tests: another timeout, and receivers with certificates of their own. */
  readonly hookDelivery?: DeliveryOptions;
  /** Default: the number that the limit of open files allows. */
  readonly maxConnections?: number;
  /** For tests: the time for a request to arrive. */
  readonly requestTimeoutMs?: number;
}

/** Creates the service of a configuration, ready to be started. */
export async function compose(
  config: Config,
  logger: Logger,
  options: ComposeOptions = {},
): Promise<Service> {
  const { clock = systemClock, open = openStore, limits = openLimiters } = options;
  const { invocation = 'leadtap', statusTimeouts: timeouts } = options;
  const { basePath, publicUrl, trustProxy, silentAfterMs: staleAfterMs } = config;

  // What requests use.
  const keys = await loadSigningKeys(config.signingKey);
  const verifyToken = makeVerifyToken({ keys, external: config.externalTokens, clock });
  const store = await open(config, { clock, log: logger });
  const limiters = await limits({ redisUrl: config.redisUrl, clock, log: logger });
  const acceptedKeys = acceptedKeysOf(keys, config.externalTokens);
  const storedHooks = withAcceptedKeys(store.hooks, acceptedKeys);
  const sockets = socketLimits(config.hooks ? MAX_SOCKETS : 0);
  const { maxConnections = sockets?.maxConnections } = options;

  // What is counted and recorded of them.
  const metrics = makeMetrics(limiters.shared);
  const instance = new InstanceMemory(clock);
  const recording = { clock, log: logger, flushMs: options.recordFlushMs };
  const connections = new ConnectionRecorder(store.connections, {
    ...recording,
    instanceId: createUuid(clock()),
  });
  connections.start();
  const stored = createFlushWait();
  const refusedLeads = new RefusedLeadRecorder(store.refusedLeads, {
    ...{ clock, createId: createUuid, isOn: config.keepRefused, log: logger },
  });
  refusedLeads.start();

  // What the operator sees of it.
  const engine = engineOf(config.database);
  const reports: ReportSources = {
    ...{ connections: store.connections, clock, timeZone: config.timeZone ?? 'UTC', acceptedKeys },
    silentAfterMs: staleAfterMs ?? DEFAULT_SILENT_AFTER_MS,
    stoppedBy: createStopCheck(hookHostsOf(config)),
  };
  const readStatus = createStatusReader({
    ...{ reports, version: VERSION, store, instance, timeouts, log: logger },
    databaseAddress: describeDatabase(config.database),
    databaseFile: engine.file,
    readLastBackup: engine.backupTimes?.readLast,
    sharedLimits: limiters.shared,
    hookHosts: hookHostsOf(config),
  });
  addStatusMetrics(metrics.registry, { readStatus, timeouts });
  const alerts =
    config.alertUrl === undefined
      ? undefined
      : new Alerts({
          ...{ alertUrl: config.alertUrl, publicUrl, version: VERSION, invocation },
          delivery: createDelivery({ ...options.hookDelivery, maxSockets: ALERT_SOCKETS }),
          ...{ readStatus, onOutcome: instance.setAlertFailure, clock, log: logger },
        });

  // The endpoints. They share the accounts.
  const stop = new AbortController();
  const accounts = new AccountCache(store.changeTracking);
  const identification = { verifyToken, failedTokens: limiters.failedTokens, clock };
  const lists = createReadQueue();
  metrics.watchReserved('list_slots', () => lists.size);
  const reading = {
    ...identification,
    accounts,
    limiter: limiters.users,
    observeRefusal: metrics.observeRefusal,
    queue: lists,
  };
  const polls = createPollEndpoint(
    {
      ...identification,
      store,
      limiter: limiters.users,
      observer: metrics,
      recorder: connections,
      maxWaiting: longPollLimit(config.maxLongPolls, maxConnections),
      schedule: options.schedule,
      stopSignal: stop.signal,
    },
    accounts,
  );
  const connectionEndpoints = createConnectionEndpoints({
    ...reading,
    sources: reports,
    isOnlyCompany: async () => (await store.countAccounts()).companies === 1,
    onSendAgain: () => hookSender?.onSubscribed(),
    flushUser: (userId) => stored(connections.flushUser(userId)),
  });
  const find = createFindEndpoint({
    ...{ ...reading, store },
    listOwed: (...of) => listOwed(store.connections, ...of),
  });
  const hooks = config.hooks
    ? {
        store: storedHooks,
        hosts: allowedHosts(config.hookHosts),
        signingSecrets: secretsOf(keys),
        keyIdOf: (token: string) => keyIdOf(token, keys, config.externalTokens),
        revokeToken: store.revokeToken,
      }
    : undefined;
  const hookSender =
    hooks &&
    new HookSender({
      ...hooks,
      changes: accounts,
      publicUrl,
      connections,
      onOutcome: addHookMetrics(metrics.registry),
      watchReserved: metrics.watchReserved,
      delivery: createDelivery({ maxSockets: sockets?.maxHookSockets, ...options.hookDelivery }),
      version: VERSION,
      log: logger,
    });
  const hookEndpoints = hooks
    ? createHookEndpoints({ ...reading, hooks, onSubscribed: () => hookSender?.onSubscribed() })
    : [switchedOff(HOOKS_PATH, HOOKS_OFF), switchedOff(`${HOOKS_PATH}/{id}`, HOOKS_OFF)];
  const intake = config.intake
    ? createIntakeEndpoint(
        {
          ...identification,
          store,
          acceptsUrlTokens: config.acceptsUrlTokens,
          timeZone: config.timeZone,
          limiter: limiters.intake,
          leadLimiter: limiters.intakeLeads,
          refusedLeads,
          observer: metrics,
          connections,
        },
        accounts,
      )
    : switchedOff(LEADS_PATH, INTAKE_OFF);
  const endpoints: readonly Endpoint[] = [
    polls,
    find,
    ...connectionEndpoints,
    ...hookEndpoints,
    intake,
    ...healthEndpoints({
      ping: () => store.ping(),
      isEmpty: createEmptyCheck(store),
      isStopping: () => stop.signal.aborted,
    }),
    ...docsEndpoints({ version: VERSION, hasIntake: config.intake, hasConsole: config.console }),
    ...(config.console ? consoleEndpoints({ hasHooks: hooks !== undefined }) : redirectsToDocs()),
  ];

  // The servers.
  const { addRefusal: onRefusal, addUntrustedProxy: onUntrustedProxy } = instance;
  const onUnidentified = createUnidentifiedRecorder({
    ...{ verifyToken, basePath, connections, clock },
    isIntakeOff: !config.intake,
  });
  const mounting = {
    ...{ basePath, publicUrl, trustProxy, logger, onRefusal, onUnidentified, onUntrustedProxy },
  };
  const logDrop = createDropLog(logger, maxConnections);
  const publicServer = new HttpServer(createRouter(endpoints, mounting), {
    logger,
    requestTimeoutMs: options.requestTimeoutMs,
    maxConnections,
    onDroppedConnection: () => {
      metrics.countDroppedConnection();
      logDrop();
    },
  });
  // The status page leads to `/docs`: it is also at the private address, where it names the public one.
  const privateTable = [
    ...privateEndpoints({ metrics, readStatus, invocation }),
    ...docsEndpoints({ version: VERSION, hasIntake: config.intake }),
  ];
  const privateSite = { logger, publicUrl: serviceUrl(config) };
  const privateServer = new HttpServer(createRouter(privateTable, privateSite), { logger });

  return {
    store,
    keys,
    metrics,
    connections,
    refusedLeads,
    alerts,
    endpoints,
    publicServer,
    privateServer,
    onStart: () => {
      hookSender?.start();
      alerts?.start();
    },
    beforeStop: async () => {
      publicServer.drain();
      stop.abort();
      alerts?.stop();
      await Promise.all([options.drain?.(), hookSender?.stop()]);
    },
    close: async () => {
      limiters.close();
      await Promise.all([refusedLeads.close(), connections.close()]);
      await store.close();
    },
  };
}

/** As polls wait for their lock. */
const MAX_FLUSH_WAIT_MS = 1000;

/** After a wait that was too long: otherwise ten lists of a user would wait one after the other. */
const NO_FLUSH_WAIT_MS = 5000;

/** A list has what is recorded in memory, unless it cannot be written soon. Does not reject. */
function createFlushWait() {
  let lateAt = Number.NEGATIVE_INFINITY;
  return async (...flushes: readonly Promise<void>[]): Promise<void> => {
    const begunAt = performance.now();
    if (begunAt - lateAt < NO_FLUSH_WAIT_MS) return;
    await waitFor(MAX_FLUSH_WAIT_MS, Promise.all(flushes));
    const endedAt = performance.now();
    if (endedAt - begunAt > MAX_FLUSH_WAIT_MS / 2) lateAt = endedAt;
  };
}

/** Messages are sent one after the other. */
const ALERT_SOCKETS = 4;

const INTAKE_OFF = 'This service accepts no leads over HTTP: its operator has set `LEADTAP_INTAKE=off`.';
const HOOKS_OFF = 'This service has no webhook subscriptions: its operator has set `LEADTAP_HOOKS=off`.';
