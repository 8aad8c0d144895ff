import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { Lead } from '@leadtap/contract';
import { issueToken, type LeadInput, type Organisation, type Store } from 'leadtap';
import { onTestFinished } from 'vitest';
import { type Clock, systemClock } from '../../src/clock.ts';
import { compose, type Service } from '../../src/compose.ts';
import { type Config, parseConfig } from '../../src/config.ts';
import { type LifecycleOptions, start } from '../../src/ops/lifecycle.ts';
import { makeLogger } from '../../src/ops/logging.ts';
import { ORGANISATION } from './organisation.ts';
import { tempFolder, type WhenDone } from './temp-folder.ts';

export interface ServiceOptions {
  readonly env?: Record<string, string>;
  readonly organisation?: Organisation;
  readonly clock?: Clock;
  /** Log lines arrive here. */
  readonly logTo?: { write(line: string): void };
  /** Called before the service listens, for hooks that must be in place by then. */
  readonly prepare?: (service: Service) => void;
  readonly lifecycle?: LifecycleOptions;
  /** Default: the service goes with the test that started it. */
  readonly whenDone?: WhenDone;
}

export interface TestService {
  readonly url: string;
  readonly metricsUrl: string;
  readonly folder: string;
  readonly config: Config;
  readonly service: Service;
  readonly store: Store;
  token(userId: string, options?: { tokenId?: string; expiresInMs?: number }): Promise<string>;
  /** Polls as a user; `query` is what stands behind the question mark. */
  poll(userId: string, query?: string, init?: RequestInit): Promise<Response>;
  leads(userId: string, query?: string): Promise<Lead[]>;
  /** Adds leads and gives their `createdAt` in milliseconds. */
  add(...leads: (Partial<LeadInput> & { companyId?: string })[]): Promise<number[]>;
  stop(): Promise<void>;
}

/** The real service: real HTTP on a free port, real SQLite in a folder of the test's own. */
export async function startService(options: ServiceOptions = {}): Promise<TestService> {
  const { whenDone = onTestFinished } = options;
  const folder = tempFolder(whenDone);
  const clock = options.clock ?? systemClock;
  const config = parseConfig({
    env: {
      LEADTAP_DATABASE_URL: `sqlite:${join(folder, 'leadtap.db')}`,
      LEADTAP_PORT: '0',
      LEADTAP_METRICS_ADDRESS: '127.0.0.1:0',
      ...options.env,
    },
    cwd: folder,
  });
  const logger = makeLogger('trace', options.logTo ?? { write: () => undefined });
  const service = await compose(config, logger, clock);
  options.prepare?.(service);
  const running = await start(service, config, options.lifecycle);
  whenDone(() => running.stop());
  await service.store.applyOrganisation(options.organisation ?? ORGANISATION);
  const url = `${running.url}${config.basePath}`;

  const token: TestService['token'] = (userId, { tokenId = randomUUID(), expiresInMs = 3_600_000 } = {}) =>
    issueToken(service.keys, { userId, tokenId, issuedAt: clock(), expiresAt: clock() + expiresInMs });
  const poll: TestService['poll'] = async (userId, query = '', init = {}) =>
    fetch(`${url}/automation/new-leads${query && `?${query}`}`, {
      ...init,
      headers: { authorization: `Bearer ${await token(userId)}`, ...init.headers },
    });

  return {
    url,
    metricsUrl: running.metricsUrl ?? '',
    folder,
    config,
    service,
    store: service.store,
    token,
    poll,
    leads: async (userId, query) => (await poll(userId, query)).json() as Promise<Lead[]>,
    add: async (...leads) => {
      const inputs = leads.map((lead) => ({ companyId: 'acme', fields: {}, ...lead }));
      const outcome = await service.store.writeLeads(inputs);
      if (outcome.kind !== 'written') throw new Error('the leads were not written');
      return outcome.results.map((result) => {
        if (result.kind === 'rejected') throw new Error(`rejected: ${JSON.stringify(result.problem)}`);
        return result.createdAt;
      });
    },
    stop: running.stop,
  };
}
