/** A service of its own for one situation, used through its public surface, and all that it claims afterwards. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  type Consumers,
  type Lead,
  leadStateOf,
  SENDERS_PATH,
  type Senders,
  type StatusJson,
  type SubscribedHook,
} from '@leadtap/contract';
import { expect, onTestFinished, vi } from 'vitest';
import { type ManualClock, manualClock } from '../../../../testing/harness/manual-clock.ts';
import {
  keyFileOf,
  type ServiceOptions,
  startService,
  type TestService,
} from '../../../../testing/harness/service.ts';
import { type Receiver, startReceiver } from '../../../../testing/integrations/hook-receiver.ts';
import { RULES } from '../../../src/status/rules.ts';
import { terminal } from '../../cli/terminal.ts';
import { storedHook, subscribe } from '../../hooks/support/hooks.ts';
import { readStatus, writePolls } from '../support/status.ts';

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

export const iso = (ms: number): string => new Date(ms).toISOString();

/** What `LEADTAP_ALERT_URL` gets. */
async function startAlertReceiver() {
  const receiver = { texts: [] as string[], status: 200, url: '' };
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    receiver.texts.push(Buffer.concat(chunks).toString());
    response.writeHead(receiver.status).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/alerts`;
  return receiver;
}

interface TokenOptions {
  readonly expiresInMs?: number;
  readonly scopes?: readonly ('leads:read' | 'leads:write')[];
}

export interface Client {
  /** With the `since` of its last page, as a client that follows `Link`. */
  next(): Promise<number>;
  /** With this query. */
  poll(query: string): Promise<number>;
  /** Several times, after this time each. */
  polls(times: number, everyMs?: number): Promise<void>;
}

export class World {
  readonly clock: ManualClock = manualClock();
  #env: Record<string, string>;
  readonly #tokens = new Map<string, string>();
  receiver!: Receiver;
  alerts!: Awaited<ReturnType<typeof startAlertReceiver>>;
  service!: TestService;
  /** The last one that was sent. */
  lead: { readonly id: string; readonly companyId: string } | undefined;

  constructor(env: Record<string, string> = {}) {
    this.#env = env;
  }

  get env(): Record<string, string> {
    return {
      LEADTAP_HOOK_HOSTS: this.receiver.origin,
      LEADTAP_ALERT_URL: this.alerts.url,
      ...this.#env,
    };
  }

  /** From the next start. */
  set env(changed: Record<string, string>) {
    this.#env = { ...this.#env, ...changed };
  }

  async start(options: ServiceOptions = {}): Promise<void> {
    this.receiver ??= await startReceiver();
    this.alerts ??= await startAlertReceiver();
    this.service = await startService({ clock: this.clock, env: this.env, ...options });
  }

  async restart(afterMs: number): Promise<void> {
    await this.service.stop();
    this.clock.advance(afterMs);
    await this.start({ beside: this.service });
  }

  /** As `leadtap token issue --name` does. Its id is its name. */
  async token(name: string, userId: string, { expiresInMs = 90 * DAY_MS, scopes }: TokenOptions = {}) {
    const made = this.#tokens.get(name);
    if (made !== undefined) return made;
    const issuedAt = this.clock();
    const known = { id: name, userId, name, issuedAt, expiresAt: issuedAt + expiresInMs };
    await this.service.store.recordTokens([{ ...known, scopes: scopes ?? ['leads:read'] }]);
    const token = await this.service.token(userId, { tokenId: name, expiresInMs, ...(scopes && { scopes }) });
    this.#tokens.set(name, token);
    return token;
  }

  async client(name: string, userId = 'boss', options: TokenOptions = {}): Promise<Client> {
    const authorization = `Bearer ${await this.token(name, userId, options)}`;
    let link = `since=${iso(this.clock())}`;
    const poll = async (query: string) => {
      const url = `${this.service.url}/automation/new-leads?${query}`;
      const response = await fetch(url, { headers: { authorization } });
      await response.arrayBuffer();
      await writePolls(this.service);
      link = /\?([^>]+)>/.exec(response.headers.get('link') ?? '')?.[1] ?? link;
      return response.status;
    };
    const next = () => poll(link);
    return {
      ...{ poll, next },
      polls: async (times, everyMs = 2 * MINUTE_MS) => {
        for (let count = 0; count < times; count += 1) {
          if (count > 0) this.clock.advance(everyMs);
          await next();
        }
      },
    };
  }

  /** A client that has polled often enough to have an interval. */
  async established(name: string, userId = 'boss', everyMs = 2 * MINUTE_MS): Promise<Client> {
    const client = await this.client(name, userId);
    await client.polls(7, everyMs);
    return client;
  }

  /** A webhook that sends leads to the receiver. */
  async sendingHook(name: string, userId = 'boss'): Promise<SubscribedHook> {
    const token = await this.token(name, userId);
    return subscribe(this.service, token, `${this.receiver.url}/${name}`, undefined, 'lead');
  }

  /** Waits until the receiver has accepted so many leads, and the last one is stored as accepted by the hook. */
  async accepted({ id }: SubscribedHook, leads: number): Promise<void> {
    const { text } = await this.receiver.event(leads);
    const { createdAt } = JSON.parse(text) as Lead;
    await vi.waitFor(async () => {
      this.clock.advance(100);
      expect((await storedHook(this.service, id)).announcedThrough).toBe(Date.parse(createdAt));
    });
  }

  /** Leads over HTTP: some, or one with these fields. */
  async send(leads: number | object = 1, userId = 'boss'): Promise<void> {
    const bodies =
      typeof leads === 'number'
        ? Array.from({ length: leads }, (_, index) => ({ firstName: `Ada ${index}` }))
        : [{ firstName: 'Ada', ...leads }];
    const response = await this.post(
      bodies,
      await this.token(`form-of-${userId}`, userId, { scopes: ['leads:write'] }),
    );
    const { leads: stored = [] } = (await response.json()) as { leads?: { id: string }[] };
    expect(response.status, 'the leads are accepted').toBeLessThan(300);
    const companyId = userId.startsWith('rival') ? 'globex' : 'acme';
    this.lead = { id: stored.at(-1)?.id ?? '', companyId };
  }

  post(body: unknown, token: string, headers: Record<string, string> = {}): Promise<Response> {
    return fetch(`${this.service.url}/leads`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
  }

  /** A command as the operator types it. */
  async command(text: string) {
    const { service, clock } = this;
    const env = {
      ...service.database.env,
      ...this.env,
      LEADTAP_PORT: '0',
      LEADTAP_METRICS_ADDRESS: new URL(service.statusUrl).host,
      LEADTAP_SIGNING_KEY_FILE: keyFileOf(service),
    };
    return terminal().run(text, { env, parts: { clock } });
  }

  async json<T>(text: string): Promise<T> {
    return JSON.parse((await this.command(`${text} --json`)).stdout) as T;
  }

  /** What the user of a consumer reads. Undefined if the user may not. */
  async readConsumers(userId: string): Promise<Consumers | undefined> {
    const token = await this.service.token(userId, { tokenId: 'console' });
    const headers = { authorization: `Bearer ${token}`, 'leadtap-client': 'console' };
    const response = await fetch(`${this.service.url}/automation/consumers`, { headers });
    return response.status === 200 ? ((await response.json()) as Consumers) : undefined;
  }
}

interface ListedJson {
  readonly tokenId: string | null;
  readonly userId: string;
  readonly state: string;
  readonly hook: { readonly host: string | null } | null;
}

/** What a situation is expected to claim, in the words of each output. */
export interface Claims {
  readonly healthy: boolean | null;
  /** The colour of the worst problem. */
  readonly light: 'green' | 'grey' | 'amber' | 'red';
  /** `kind severity` of each problem. */
  readonly problems: readonly string[];
  readonly summary: string;
  /** By name: the state and, for its user, level and problem. */
  readonly consumers: Readonly<Record<string, string>>;
  /** Those that are not good, by name: for its user, the level and the last refusal. */
  readonly senders: Readonly<Record<string, string>>;
  /** Who has the last lead. */
  readonly lead: Readonly<Record<string, string>>;
  /** The first line of each message. */
  readonly alerts: readonly string[];
}

const LEVELS: Readonly<Record<string, string>> = { failed: 'error', warning: 'warning', unknown: 'unknown' };
const LIGHTS = { error: 'red', warning: 'amber', unknown: 'grey', good: 'green' } as const;

/** Reads every output. Fails where two of them disagree. */
export async function readClaims(world: World): Promise<Claims> {
  const { service, alerts } = world;
  await writePolls(service);
  await service.service.senders?.flush();
  await service.service.refusedLeads.flush();
  const report = await readStatus(service);
  const metrics = await (await fetch(service.metricsUrl)).text();
  const doctor = await world.json<{ checks: { check: string; state: string; detail: string }[] }>('doctor');
  await service.service.alerts?.check();
  const problems = report.problems.map(({ kind, severity }) => `${kind} ${severity}`).sort();
  expect(
    namesOf(
      [...metrics.matchAll(/^leadtap_problem\{name="([a-z-]+)",level="([a-z]+)"\} 1$/gm)].map((found) =>
        found.slice(1),
      ),
    ),
    'metrics',
  ).toEqual(problems);
  const checks = doctor.checks.filter(({ check }) => RULES.some(({ name }) => name === check));
  expect(namesOf(checks.map(({ check, state }) => [check, LEVELS[state]])), 'doctor').toEqual(problems);
  expect(checks.map(({ detail }) => detail).sort(), 'doctor').toEqual(
    report.problems.map(({ message }) => message).sort(),
  );
  const sentence = report.good ?? report.note;
  expect(doctor.checks.find(({ check }) => check === 'delivery')?.detail ?? null, 'doctor').toBe(sentence);
  expect(gaugeOf(metrics, 'leadtap_leads_unseen'), 'metrics').toBe(
    report.consumers?.coverage?.unseen ?? null,
  );
  const level = report.problems[0]?.severity ?? (report.good === null ? 'unknown' : 'good');
  const consumers = report.consumers ? await readConsumerClaims(world, report, metrics) : {};
  return {
    healthy: report.healthy,
    light: LIGHTS[level],
    problems,
    summary: report.summary.replaceAll(/127\.0\.0\.1:\d+/g, 'HOST'),
    consumers,
    senders: await readSenderClaims(world, report),
    lead: report.consumers?.recorded ? await readLeadClaims(world) : {},
    alerts: alerts.texts.map((text) =>
      (text.split('\n')[0] ?? '')
        .replace(/^Leadtap( \([^)]*\))?: /, '')
        .replaceAll(/127\.0\.0\.1:\d+/g, 'HOST'),
    ),
  };
}

const namesOf = (found: readonly (readonly unknown[])[]): string[] =>
  found.map((parts) => parts.join(' ')).sort();

function gaugeOf(metrics: string, name: string): number | null {
  const value = new RegExp(`^${name.replaceAll(/[{}"]/g, '\\$&')} (.+)$`, 'm').exec(metrics)?.[1];
  return value === undefined || Number.isNaN(Number(value)) ? null : Number(value);
}

const labelOf = ({ tokenId, hook }: Pick<ListedJson, 'tokenId' | 'hook'>): string =>
  `${tokenId}${hook?.host ? ' →' : ''}`;

/** The state is the same in the command, on the page and for the user. */
async function readConsumerClaims(world: World, report: StatusJson, metrics: string) {
  if (!report.consumers?.recorded) return {};
  const listed = await world.json<ListedJson[]>('consumers');
  const states = listed.map((one) => `${one.userId} ${labelOf(one)} ${one.state}`).sort();
  expect(
    report.consumers.listed.map((one) => `${one.userId} ${labelOf(one)} ${one.state}`).sort(),
    'status.json',
  ).toEqual(states);
  for (const state of ['active', 'stale'] as const)
    expect(gaugeOf(metrics, `leadtap_consumers{state="${state}"}`), 'metrics').toBe(
      listed.filter((one) => one.state === state).length,
    );
  const claims: Record<string, string> = Object.fromEntries(listed.map((one) => [labelOf(one), one.state]));
  const userIds = new Set(listed.map((one) => one.userId));
  for (const userId of userIds) {
    const read = await world.readConsumers(userId);
    for (const one of read?.consumers ?? []) {
      expect(one.state, `what ${userId} reads of ${labelOf(one)}`).toBe(claims[labelOf(one)]);
      const row = report.consumers.listed.find(({ id }) => id === one.id);
      const { level, problem, message } = one;
      expect(row, `${labelOf(one)} in status.json`).toMatchObject({ level, problem, message });
      claims[labelOf(one)] = `${one.state} ${one.level}${one.problem === null ? '' : ` ${one.problem}`}`;
    }
    const worst = ['error', 'warning', 'unknown', 'good'].find((level) =>
      read?.consumers.some((one) => one.level === level),
    );
    if (worst === 'error' || worst === 'warning')
      expect(read?.summary.level, `the sentence for ${userId}`).toBe(worst);
    // What is true of all leads is true of those that the only user may see.
    if (report.good !== null && report.problems.length === 0 && userIds.size === 1)
      expect(read?.summary, `the sentence for ${userId}`).toMatchObject({ level: 'good' });
  }
  return claims;
}

/** All users of the company read the same, and the page has it too. */
async function readSenderClaims(world: World, report: StatusJson) {
  const token = await world.service.token('boss', { tokenId: 'console' });
  const headers = { authorization: `Bearer ${token}` };
  const response = await fetch(`${world.service.url}${SENDERS_PATH}`, { headers });
  const { senders = [] } = response.status === 200 ? ((await response.json()) as Partial<Senders>) : {};
  const shown = report.senders?.recorded
    ? await world.json<{ tokenId: string; level: string }[]>('senders')
    : [];
  const claims: Record<string, string> = {};
  for (const { name, tokenId, level, message, lastRefusal, accepted30d, refused30d } of senders) {
    const listed = report.senders?.listed.find((one) => one.tokenId === tokenId);
    expect(listed, `${tokenId} in status.json`).toMatchObject({ accepted30d, refused30d, level });
    // For the operator, it ends with the questions of a form.
    const questions = listed?.refused?.questions ?? [];
    expect(listed?.message, 'status.json').toBe(
      questions.length === 0 ? message : `${message}: ${questions.join(', ')}`,
    );
    expect(level === 'error' || level === 'warning', `the level of ${tokenId}`).toBe(
      listed?.problems.length !== 0,
    );
    expect(shown.find((one) => one.tokenId === tokenId)?.level, `${tokenId} of the command`).toBe(level);
    const refusal =
      lastRefusal === null ? '' : `, ${refused30d} refused: ${lastRefusal.code} ${lastRefusal.fields}`;
    if (level !== 'good') claims[name ?? ''] = `${level}: ${accepted30d} accepted${refusal}`;
  }
  return claims;
}

/** The command, and the console, which computes it from positions. */
async function readLeadClaims(world: World) {
  if (!world.lead) return {};
  const { id, companyId } = world.lead;
  const { stdout, code } = await world.command(`leads show ${id} --company ${companyId} --json`);
  if (code !== 0) return { none: 'there is no such lead' };
  const shown = JSON.parse(stdout) as Lead & {
    consumers: { tokenId: string; userId: string; state: string }[];
  };
  const claims: Record<string, string> = {};
  for (const { tokenId, userId, state } of shown.consumers) {
    // A webhook that was removed.
    claims[/^[0-9a-f]{32}$/.test(tokenId) ? 'webhook' : tokenId] = state;
    const read = await world.readConsumers(userId);
    const own = read?.consumers.find((one) => one.tokenId === tokenId && one.lastPollAt !== null);
    if (own) expect(leadStateOf(own, shown), `the console about ${tokenId}`).toBe(state);
  }
  return claims;
}
