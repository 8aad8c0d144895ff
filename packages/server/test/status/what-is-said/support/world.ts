/** One company with its service, and what happens to it: forms, automations, and the time. */
import type { Lead } from '@leadtap/contract';
import type { LeadInput, TokenScope } from 'leadtap';
import { onTestFinished, vi } from 'vitest';
import { type ManualClock, manualClock } from '../../../../../testing/harness/manual-clock.ts';
import { ORGANISATION } from '../../../../../testing/harness/organisation.ts';
import { startService, type TestService } from '../../../../../testing/harness/service.ts';
import {
  type Receiver,
  respondWith,
  startReceiver,
} from '../../../../../testing/integrations/hook-receiver.ts';
import { terminal } from '../../../cli/terminal.ts';

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;
const YEARS = 3000 * DAY;
/** Until all is looked at: one run sees a position, the next one compares. */
const AUDITS = 3;

const ALERTS = '/hooks/alerts';

export const iso = (ms: number): string => new Date(ms).toISOString();

export interface TokenOptions {
  readonly user?: string;
  readonly scopes?: readonly TokenScope[];
  readonly expiresInMs?: number;
  /** Of a token beside others of the same name. Default: the name. */
  readonly id?: string;
}

export interface Form {
  readonly token: string;
  /** Returns the status. */
  post(body: unknown, headers?: Readonly<Record<string, string>>): Promise<number>;
}

export interface Poller {
  readonly token: string;
  /** What follows its last page, so often, with this pause. */
  next(times?: number, pauseMs?: number): Promise<void>;
  /** Returns the ids of the page. */
  ask(query?: string): Promise<readonly string[]>;
  /** Until it has worked: eleven polls in twenty minutes, with `since` or without. */
  works(): Promise<void>;
}

export class World {
  readonly clock: ManualClock = manualClock();
  /** Of webhooks, and of alerts at another path. */
  readonly receiver: Receiver;
  service!: TestService;
  #env: Record<string, string>;

  private constructor(receiver: Receiver) {
    this.receiver = receiver;
    // In the form of Slack, which is JSON.
    this.#env = { LEADTAP_ALERT_URL: `${receiver.origin}${ALERTS}`, LEADTAP_HOOK_HOSTS: receiver.origin };
  }

  static async start(env: Record<string, string> = {}): Promise<World> {
    const world = new World(await startReceiver());
    await world.restart(env);
    return world;
  }

  /** With other settings: after so long. */
  async restart(env: Record<string, string>, afterMs = 0): Promise<void> {
    const before: TestService | undefined = this.service;
    await before?.stop();
    this.clock.advance(afterMs);
    this.#env = { ...this.#env, ...env };
    this.service = await startService({
      ...{ clock: this.clock, env: this.#env },
      organisation: before ? { companies: [] } : { companies: ORGANISATION.companies.slice(0, 1) },
      ...(before && { beside: before }),
    });
  }

  /** Nothing is compared meanwhile. */
  async wait(ms: number): Promise<void> {
    await this.service.service.connections.flush();
    this.clock.advance(ms);
  }

  /** Leads are compared with what was sent at its begin and its end. */
  async pass(ms: number): Promise<void> {
    const { connections } = this.service.service;
    await connections.flush();
    const isLong = ms > 2 * AUDITS * MINUTE;
    const steps = isLong
      ? [MINUTE, ms - (AUDITS + 1) * MINUTE, ...Array(AUDITS).fill(MINUTE)]
      : Array(AUDITS).fill(ms / AUDITS);
    for (const step of steps) {
      this.clock.advance(step);
      await connections.audit();
    }
  }

  /** Of a connection of this name. */
  async token(
    name: string,
    { user = 'boss', scopes = ['leads:read'], id = name, expiresInMs = YEARS }: TokenOptions = {},
  ) {
    const times = { issuedAt: this.clock(), expiresAt: this.clock() + expiresInMs };
    const [{ id: keyId }] = this.service.service.keys;
    await this.service.store.recordTokens([{ id, userId: user, name, ...times, keyId, scopes: [...scopes] }]);
    return this.service.token(user, { tokenId: id, scopes, expiresInMs });
  }

  async form(name: string, options: TokenOptions = {}): Promise<Form> {
    const token = await this.token(name, { scopes: ['leads:write'], ...options });
    return {
      token,
      post: (body, headers) => this.post(body, { authorization: `Bearer ${token}`, ...headers }),
    };
  }

  async post(body: unknown, headers: Readonly<Record<string, string>>, query = ''): Promise<number> {
    this.clock.advance(1000);
    const response = await fetch(`${this.service.url}/leads${query}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
    await response.arrayBuffer();
    return response.status;
  }

  async poller(name: string, { start = '', ...options }: TokenOptions & { start?: string } = {}) {
    const token = await this.token(name, options);
    const headers = { authorization: `Bearer ${token}` };
    let link = start;
    const ask = async (query = ''): Promise<readonly string[]> => {
      const response = await fetch(`${this.service.url}/automation/new-leads?${query}`, { headers });
      const leads: unknown = await response.json();
      if (link !== '') link = /\?([^>]+)>/.exec(response.headers.get('link') ?? '')?.[1] ?? link;
      await this.service.service.connections.flush();
      return Array.isArray(leads) ? leads.map(({ id }: Lead) => id) : [];
    };
    const next = async (times = 1, pauseMs = 2 * MINUTE) => {
      for (let time = 0; time < times; time += 1) {
        await ask(link);
        await this.pass(pauseMs);
      }
    };
    return { token, ask, next, works: () => next(11) } satisfies Poller;
  }

  /** One that follows `Link`. */
  follower(name: string, options: TokenOptions = {}): Promise<Poller> {
    return this.poller(name, { start: `since=${iso(this.clock())}`, ...options });
  }

  /** What the receiver answers from now on: to webhooks, and to alerts. */
  answer(toWebhooks: number, toAlerts = 200): void {
    this.receiver.respond = (response, { path }) =>
      respondWith(path === ALERTS ? toAlerts : toWebhooks)(response);
  }

  /** The texts of all alerts. */
  get alerts(): string[] {
    return this.receiver.events.flatMap(({ path, text }) =>
      path === ALERTS ? (JSON.parse(text) as { text: string }).text : [],
    );
  }

  /** So many leads, or one with these values. Returns their ids. */
  async lead(leads: number | Partial<LeadInput> = 1): Promise<number[]> {
    this.clock.advance(1000);
    return this.service.add(...(typeof leads === 'number' ? Array(leads).fill({}) : [leads]));
  }

  /** A command as the operator types it. Returns what it prints. */
  async command(text: string): Promise<string> {
    await this.service.service.connections.flush();
    const { signingKey } = this.service.config;
    const keyFile = 'file' in signingKey ? { LEADTAP_SIGNING_KEY_FILE: signingKey.file } : {};
    const env = { ...this.service.database.env, ...this.#env, ...keyFile };
    const { code, stdout, stderr } = await terminal().run(text, { env, parts: { clock: this.clock } });
    if (code !== 0) throw new Error(`leadtap ${text}: ${stderr}`);
    return stdout;
  }
}

export const startWorld = async (env?: Record<string, string>): Promise<World> => {
  onTestFinished(() => void vi.restoreAllMocks());
  return World.start(env);
};
