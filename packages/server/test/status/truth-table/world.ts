/** A service of its own for one situation, used through its public surface, and all that it claims afterwards. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Lead, SubscribedHook } from '@leadtap/contract';
import { expect, onTestFinished, vi } from 'vitest';
import { type ManualClock, manualClock } from '../../../../testing/harness/manual-clock.ts';
import {
  keyFileOf,
  type ServiceOptions,
  startService,
  type TestService,
} from '../../../../testing/harness/service.ts';
import { type Receiver, startReceiver } from '../../../../testing/integrations/hook-receiver.ts';
import { terminal } from '../../cli/terminal.ts';
import { storedHook, subscribe } from '../../hooks/support/hooks.ts';
import { writePolls } from '../support/status.ts';

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
}
