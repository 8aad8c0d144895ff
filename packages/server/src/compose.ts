import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { loadSigningKeys, type SigningKeys } from './accounts/signing-keys.ts';
import { makeVerifyToken } from './accounts/tokens.ts';
import { buildApp } from './app.ts';
import { type Clock, systemClock } from './clock.ts';
import type { Config } from './config.ts';
import { openLimiters } from './limits/open-limiters.ts';
import { openStore } from './open-store.ts';
import { connectionLimit, makeDropLog } from './ops/dropped-connections.ts';
import { type Metrics, makeMetrics } from './ops/metrics.ts';
import type { Store } from './store/store.ts';
import { VERSION } from './version.ts';

export interface Service {
  readonly app: FastifyInstance;
  readonly store: Store;
  readonly keys: SigningKeys;
  readonly metrics: Metrics;
}

export interface ComposeOptions {
  readonly clock?: Clock;
  readonly open?: typeof openStore;
  readonly limits?: typeof openLimiters;
  readonly drain?: () => Promise<void>;
  /** Default: what the limit of open files leaves room for. */
  readonly maxConnections?: number;
}

/** Config to a service that is ready to listen. */
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
  const services = {
    store,
    verifyToken,
    limiter: limiters.users,
    failedTokens: limiters.failedTokens,
    observer: metrics,
    logger,
    clock,
    version: VERSION,
  };
  const maxConnections = connections.maxConnections ?? connectionLimit();
  const logDrop = makeDropLog(logger, maxConnections);
  const onDroppedConnection = () => {
    metrics.countDroppedConnection();
    logDrop();
  };
  const app = buildApp(services, { ...config, ...connections, maxConnections, onDroppedConnection });
  app.addHook('onClose', async () => {
    limiters.close();
    await store.close();
  });
  return { app, store, keys, metrics };
}
