import { randomUUID } from 'node:crypto';
import type { Lead } from '@leadtap/contract';
import { issueToken, type LeadInput, type Organisation, type Store, type TokenScope } from 'leadtap';
import { type Response as Injected, type InjectOptions, inject } from 'light-my-request';
import { onTestFinished } from 'vitest';
import type { ExternalTokens } from '../../server/src/accounts/external-tokens.ts';
import { compose, type Service } from '../../server/src/app.ts';
import { type Config, parseConfig } from '../../server/src/config.ts';
import type { DeliveryOptions } from '../../server/src/hooks/deliver.ts';
import { type Clock, systemClock } from '../../server/src/lib/clock.ts';
import { type Limiters, type LimitersOptions, openLimiters } from '../../server/src/limits/open-limiters.ts';
import { openStore, type StoreTimeouts } from '../../server/src/open-store.ts';
import { type LifecycleOptions, start } from '../../server/src/ops/lifecycle.ts';
import { makeLogger } from '../../server/src/ops/logging.ts';
import type { Schedule } from '../../server/src/poll/long-polls.ts';
import type { StatusTimeouts } from '../../server/src/status/read-status.ts';
import { makeTestDatabase, type TestDatabase } from './database.ts';
import { ORGANISATION } from './organisation.ts';
import { tempFolder, type WhenDone } from './temp-folder.ts';
import {
  LONG_JWKS_TIMING,
  LONG_REDIS_TIMEOUTS,
  LONG_STATUS_TIMEOUTS,
  LONG_STORE_TIMEOUTS,
  NEVER_MS,
} from './timeouts.ts';

export interface ServiceOptions {
  readonly env?: Record<string, string>;
  readonly organisation?: Organisation;
  readonly clock?: Clock;
  /** Log lines arrive here. */
  readonly logTo?: { write(line: string): void };
  /** Called before the service listens, for hooks that must be in place by then. */
  readonly prepare?: (service: Service) => void;
  readonly lifecycle?: LifecycleOptions;
  /** A stop continues to answer until this resolves. Default: it does not, so that tests end at once. */
  readonly drain?: () => Promise<void>;
  readonly maxConnections?: number;
  /** The time for a request to arrive. */
  readonly requestTimeoutMs?: number;
  /** How the person started the program. Default: `leadtap`. */
  readonly invocation?: string;
  /** How long after a poll its consumer is written. Default: 5 s, or when a test calls `recorder.flush`. */
  readonly recordFlushMs?: number;
  /** Default: long ones, for machines that are slow. */
  readonly statusTimeouts?: StatusTimeouts;
  /** The timers of long polls. Default: those of Node. */
  readonly schedule?: Schedule;
  /** How webhook events are sent. Default: without a timeout, for machines that are slow. */
  readonly hookDelivery?: DeliveryOptions;
  /** Default: long ones, for machines that are slow. */
  readonly storeTimeouts?: StoreTimeouts;
  /** Default: the limits of the contract, in windows that end only when the test advances its clock. */
  readonly limits?: Partial<LimitersOptions>;
  /** Another instance: it gets the same database and the same signing key. */
  readonly beside?: Pick<TestService, 'folder' | 'database'>;
  /** Default: the service goes with the test that started it. */
  readonly whenDone?: WhenDone;
}

export interface TestService {
  readonly url: string;
  readonly metricsUrl: string;
  readonly statusUrl: string;
  /** Where it runs, so that relative paths and what it makes are found here. */
  readonly folder: string;
  readonly database: TestDatabase;
  readonly config: Config;
  readonly service: Service;
  readonly store: Store;
  /** For tests that use up what a user may ask. */
  readonly limiters: Limiters;
  token(
    userId: string,
    options?: { tokenId?: string; expiresInMs?: number; scopes?: readonly TokenScope[] },
  ): Promise<string>;
  /** Polls as a user; `query` is what stands behind the question mark. */
  poll(userId: string, query?: string, init?: RequestInit): Promise<Response>;
  leads(userId: string, query?: string): Promise<Lead[]>;
  /** A request without a connection. */
  inject(request: InjectOptions): Promise<Injected>;
  /** Adds leads and gives their `createdAt` in milliseconds. */
  add(...leads: (Partial<LeadInput> & { companyId?: string })[]): Promise<number[]>;
  stop(): Promise<void>;
}

/** Where the service keeps its signing key, for commands that share it. */
export function keyFileOf({ config }: TestService): string {
  if (!('file' in config.signingKey)) throw new Error('the key comes from the environment');
  return config.signingKey.file;
}

/** Uses up what a user may ask until no more requests than these are left. */
export async function leaveRequests({ limiters }: TestService, userId: string, count: number): Promise<void> {
  for (let left = Number.POSITIVE_INFINITY; left > count; ) {
    const { windows } = await limiters.users.consume(userId);
    left = Math.min(...windows.map(({ remaining }) => remaining));
  }
}

/** The real service: real HTTP on a free port, a real database and a folder of the test's own. */
export async function startService(options: ServiceOptions = {}): Promise<TestService> {
  const { whenDone = onTestFinished, beside } = options;
  const folder = beside?.folder ?? tempFolder(whenDone);
  const database = beside?.database ?? (await makeTestDatabase(whenDone, { folder }));
  const clock = options.clock ?? systemClock;
  if (options.clock) await database.useClock(options.clock);
  const parsed = parseConfig({
    env: {
      ...database.env,
      LEADTAP_PORT: '0',
      LEADTAP_METRICS_ADDRESS: '127.0.0.1:0',
      ...options.env,
    },
    cwd: folder,
  });
  const externalTokens: ExternalTokens | undefined = parsed.externalTokens && {
    ...parsed.externalTokens,
    timing: LONG_JWKS_TIMING,
  };
  const config: Config = { ...parsed, externalTokens };
  const logger = makeLogger('trace', options.logTo ?? { write: () => undefined });
  const startedAt = clock();
  let limiters: Limiters | undefined;
  const service = await compose(config, logger, {
    clock,
    invocation: options.invocation,
    ...(options.drain && { drain: options.drain }),
    ...(options.maxConnections !== undefined && { maxConnections: options.maxConnections }),
    ...(options.requestTimeoutMs !== undefined && { requestTimeoutMs: options.requestTimeoutMs }),
    ...(options.recordFlushMs !== undefined && { recordFlushMs: options.recordFlushMs }),
    statusTimeouts: options.statusTimeouts ?? LONG_STATUS_TIMEOUTS,
    ...(options.schedule && { schedule: options.schedule }),
    hookDelivery: { timeoutMs: NEVER_MS, ...options.hookDelivery },
    open: (opened, parts) =>
      openStore(opened, { ...parts, timeouts: { ...LONG_STORE_TIMEOUTS, ...options.storeTimeouts } }),
    limits: async (parts) => {
      limiters = await openLimiters({
        ...parts,
        // A window of the system's clock could end between two requests of a test.
        clock: options.clock ?? (() => startedAt),
        redisTimeouts: LONG_REDIS_TIMEOUTS,
        ...options.limits,
      });
      return limiters;
    },
  });
  if (!limiters) throw new Error('the service has no limiters');
  options.prepare?.(service);
  const running = await start(service, config, options.lifecycle);
  whenDone(() => running.stop());
  await service.store.applyOrganisation(options.organisation ?? ORGANISATION);
  const url = `${running.url}${config.basePath}`;

  const token: TestService['token'] = (
    userId,
    { tokenId = randomUUID(), expiresInMs = 3_600_000, scopes } = {},
  ) =>
    issueToken(service.keys, {
      userId,
      tokenId,
      issuedAt: clock(),
      expiresAt: clock() + expiresInMs,
      ...(scopes && { scopes }),
    });
  const poll: TestService['poll'] = async (userId, query = '', init = {}) =>
    fetch(`${url}/automation/new-leads${query && `?${query}`}`, {
      ...init,
      headers: { authorization: `Bearer ${await token(userId)}`, ...init.headers },
    });

  return {
    url,
    metricsUrl: running.metricsUrl ?? '',
    statusUrl: running.statusUrl ?? '',
    folder,
    database,
    config,
    service,
    store: service.store,
    limiters,
    token,
    poll,
    inject: (request) => inject(service.publicServer.listener, request),
    leads: async (userId, query) => (await poll(userId, query)).json() as Promise<Lead[]>,
    add: async (...leads) => {
      const inputs = leads.map((lead) => ({ companyId: 'acme', fields: {}, ...lead }));
      const outcome = await service.store.writeLeads(inputs);
      return outcome.results.map((result) => {
        if (result.kind === 'rejected') throw new Error(`rejected: ${JSON.stringify(result.problem)}`);
        return result.createdAt;
      });
    },
    stop: running.stop,
  };
}
