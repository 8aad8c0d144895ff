import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { loadSigningKeys, type SigningKeys } from './accounts/own-tokens.ts';
import { makeVerifyToken } from './accounts/tokens.ts';
import { buildApp } from './app.ts';
import { type Clock, systemClock } from './clock.ts';
import type { Config } from './config.ts';
import { FAILED_TOKEN_POLICIES, USER_POLICIES } from './limits/limiter.ts';
import { MemoryLimiter } from './limits/memory-limiter.ts';
import { openStore } from './open-store.ts';
import { type Metrics, makeMetrics } from './ops/metrics.ts';
import type { Store } from './store/store.ts';
import { VERSION } from './version.ts';

export interface Service {
  readonly app: FastifyInstance;
  readonly store: Store;
  readonly keys: SigningKeys;
  readonly metrics: Metrics;
}

/** Config to a service that is ready to listen. */
export async function compose(config: Config, logger: Logger, clock: Clock = systemClock): Promise<Service> {
  const keys = await loadSigningKeys(config.signingKey);
  const verifyToken = makeVerifyToken({ keys, external: config.externalTokens, clock });
  const store = await openStore(config, { clock });
  const metrics = makeMetrics(store, clock, logger);
  const limiter = new MemoryLimiter(USER_POLICIES, clock);
  const failedTokens = new MemoryLimiter(FAILED_TOKEN_POLICIES, clock);
  const services = {
    store,
    verifyToken,
    limiter,
    failedTokens,
    observer: metrics,
    logger,
    clock,
    version: VERSION,
  };
  const app = buildApp(services, config);
  app.addHook('onClose', () => store.close());
  return { app, store, keys, metrics };
}
