import { randomUUID } from 'node:crypto';
import type { Lead } from '@leadtap/contract';
import { issueToken, type Organisation, type Store } from 'leadtap';
import { expect, onTestFinished } from 'vitest';
import { tempFolder, type WhenDone } from '../../../testing/harness/temp-folder.ts';
import { LONG_STORE_TIMEOUTS } from '../../../testing/harness/timeouts.ts';
import { compose, type Service } from '../../src/app.ts';
import { parseConfig } from '../../src/config.ts';
import { openLimiters } from '../../src/limits/open-limiters.ts';
import { start } from '../../src/ops/lifecycle.ts';
import { makeLogger } from '../../src/ops/logging.ts';
import { openPostgresStore, type PostgresOptions } from '../../src/store/postgres/store.ts';
import { eventually } from './eventually.ts';

const USERS = 10;
const company = (id: string): Organisation['companies'][number] => ({
  id,
  name: id,
  branches: [],
  users: Array.from({ length: USERS }, (_, index) => ({
    id: `${id}-${index}`,
    email: null,
    name: null,
    plan: 'PROFESSIONAL',
    accessLevel: 'COMPANY' as const,
    branchId: null,
    departmentId: null,
  })),
});

const TWO_COMPANIES: Organisation = { companies: [company('acme'), company('globex')] };

export interface LogLine {
  readonly level: string;
  readonly msg: string;
  readonly path?: string;
  readonly status?: number;
  readonly err?: { readonly message: string };
}

export interface Answer {
  readonly status: number;
  readonly retryAfter: string | null;
  readonly date: number;
  readonly leads: readonly Lead[];
}

export interface Instance {
  readonly url: string;
  readonly store: Store;
  readonly log: readonly LogLine[];
  /** The token of a user of the company, another user each time. */
  token(companyId: string): Promise<string>;
  poll(companyId: string, query?: string): Promise<Answer>;
  /** The lines of a metric. */
  metric(name: string): Promise<string>;
  probe(path: '/livez' | '/readyz'): Promise<Answer>;
  stop(): Promise<void>;
}

export interface InstanceOptions extends Omit<PostgresOptions, 'url'> {
  readonly whenDone?: WhenDone;
  readonly env?: Readonly<Record<string, string>>;
}

/** The service, as an operator runs it, on a database that the test is going to break. */
export async function serve(url: string, options: InstanceOptions = {}): Promise<Instance> {
  const { whenDone = onTestFinished, env: given, ...storeOptions } = options;
  const log: LogLine[] = [];
  const logger = makeLogger('trace', { write: (line) => void log.push(JSON.parse(line)) });
  const env = { LEADTAP_DATABASE_URL: url, LEADTAP_PORT: '0', LEADTAP_METRICS_ADDRESS: 'off', ...given };
  const config = parseConfig({ env, cwd: tempFolder(whenDone) });
  // With short timeouts, a slow machine may need several attempts.
  const open = () => eventually(() => openPostgresStore({ url, ...LONG_STORE_TIMEOUTS, ...storeOptions }));
  // However fast the machine is, no user reaches a rate limit.
  const limits: typeof openLimiters = (options) => openLimiters({ ...options, userPolicies: [] });
  const service = await compose(config, logger, { open, limits });
  const running = await start(service, config);
  whenDone(() => running.stop());
  await eventually(() => service.store.applyOrganisation(TWO_COMPANIES));
  const token = tokens(service);
  const ask = async (path: string, headers: Record<string, string> = {}) =>
    readAnswer(await fetch(`${running.url}${path}`, { headers }));
  return {
    url: running.url,
    store: service.store,
    log,
    token,
    poll: async (companyId, query = '') =>
      ask(`/automation/new-leads?${query}`, { authorization: `Bearer ${await token(companyId)}` }),
    metric: (name) => service.metrics.registry.getSingleMetricAsString(name),
    probe: (path) => ask(path),
    stop: running.stop,
  };
}

function tokens({ keys }: Service): Instance['token'] {
  let issued = 0;
  return (companyId) => {
    issued += 1;
    const issuedAt = Date.now();
    const expiresAt = issuedAt + 3_600_000;
    return issueToken(keys, {
      userId: `${companyId}-${issued % USERS}`,
      tokenId: randomUUID(),
      issuedAt,
      expiresAt,
    });
  };
}

async function readAnswer(response: Response): Promise<Answer> {
  const body: unknown = await response.json();
  return {
    status: response.status,
    retryAfter: response.headers.get('retry-after'),
    date: Date.parse(response.headers.get('date') ?? ''),
    leads: Array.isArray(body) ? body : [],
  };
}

const WHOLE_SECONDS = expect.stringMatching(/^[1-9]\d*$/);

export const expectUnavailable = ({ status, retryAfter }: Answer): void =>
  expect({ status, retryAfter }).toEqual({ status: 503, retryAfter: WHOLE_SECONDS });

/** During a fault, a client gets 200 or 503. */
export function expectAnswered(answer: Answer): void {
  if (answer.status !== 200) expectUnavailable(answer);
}

/** Writes one lead as Leadtap's own commands do. */
export async function addLead(store: Store, id: string, companyId = 'acme'): Promise<void> {
  const outcome = await store.writeLeads([{ companyId, id, fields: {} }]);
  expect(outcome).toMatchObject({ kind: 'written', results: [{ id }] });
}
