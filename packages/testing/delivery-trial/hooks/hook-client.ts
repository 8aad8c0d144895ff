import { setTimeout as wait } from 'node:timers/promises';
import { HOOKS_PATH, type HookEvent, type Lead, NEW_LEADS_PATH } from '@leadtap/contract';
import { isFaultStatus } from '../declared.ts';
import type { Installation } from '../pollers/http-caller.ts';
import type { Random } from '../random.ts';
import { FaultyReceiver } from './faulty-receiver.ts';

/**
 * `window` reads what each event announces and nothing else; `position` polls from its own position on each event. `ignoring` is like
 * `position`, but accepts events without a poll; it polls only for some, and for each one that announces nothing new.
 */
export const HOOK_CLIENT_KINDS = ['window', 'position', 'ignoring'] as const;
export type HookClientKind = (typeof HOOK_CLIENT_KINDS)[number];

export interface HookClientOptions {
  readonly kind: HookClientKind;
  readonly userId: string;
  readonly random: Random;
  /** Among the clients of a trial. */
  readonly index: number;
}

const LIMIT = 100;
const BEGINNING = '1970-01-01T00:00:00.000Z';
const RETRY_MS = 100;
/** Only a request that hangs comes to this end. */
const REQUEST_TIMEOUT_MS = 240_000;

/** A client that subscribes, and polls on events alone. */
export class HookClient {
  readonly kind: HookClientKind;
  readonly userId: string;
  /** The ids of leads. */
  readonly received = new Set<string>();
  polls = 0;
  ignored = 0;
  /** Events whose leads were all announced before: reminders, and repetitions after a 2xx. */
  repeated = 0;
  /** It polls for repeated events alone. */
  isOnlyReminded = false;
  readonly #random: Random;
  #announcedThrough = '';
  readonly #underWay = new Set<Promise<void>>();
  #receiver: FaultyReceiver | undefined;
  #installation: Installation | undefined;
  #position = BEGINNING;

  private constructor({ kind, userId, random }: HookClientOptions) {
    this.kind = kind;
    this.userId = userId;
    this.#random = random;
  }

  /** Its receiver listens: the service has to allow its origin. */
  static async start(options: HookClientOptions): Promise<HookClient> {
    const client = new HookClient(options);
    client.#receiver = await FaultyReceiver.start({
      random: options.random,
      index: options.index,
      onEvent: ({ text }) => client.#accept(JSON.parse(text)),
      // A client of windows has read, or is reading, all that was announced before.
      onGone: ({ text }) => {
        const { data }: HookEvent = JSON.parse(text);
        client.#track(client.#subscribeAgain(client.kind === 'window' ? data.since : client.#position));
      },
    });
    return client;
  }

  get receiver(): FaultyReceiver {
    if (!this.#receiver) throw new Error('the client has not started');
    return this.#receiver;
  }

  async subscribe(installation: Installation): Promise<void> {
    this.#installation = installation;
    await this.#subscribe(BEGINNING);
  }

  /** When its requests so far are answered. */
  async settle(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
  }

  #accept({ data }: HookEvent): void {
    const isRepeated = data.through <= this.#announcedThrough;
    if (!isRepeated) this.#announcedThrough = data.through;
    if (isRepeated) this.repeated += 1;
    if (this.kind === 'ignoring' && !isRepeated && (this.isOnlyReminded || this.#random.chance(30)))
      this.ignored += 1;
    else this.#track(this.kind === 'window' ? this.#readWindow(data) : this.#readOn());
  }

  #track(work: Promise<void>): void {
    const tracked = work.finally(() => this.#underWay.delete(tracked));
    this.#underWay.add(tracked);
  }

  /** A page that is not full is the last one. */
  async #readWindow({ since, through }: HookEvent['data']): Promise<void> {
    for (let from = since; ; ) {
      const leads = await this.#readPage(from);
      for (const { id, createdAt } of leads) if (createdAt <= through) this.received.add(id);
      from = leads.at(-1)?.createdAt ?? through;
      if (leads.length < LIMIT || from >= through) return;
    }
  }

  async #readOn(): Promise<void> {
    for (;;) {
      const leads = await this.#readPage(this.#position);
      for (const { id } of leads) this.received.add(id);
      const last = leads.at(-1)?.createdAt ?? this.#position;
      if (last > this.#position) this.#position = last;
      if (leads.length < LIMIT) return;
    }
  }

  async #readPage(since: string): Promise<Lead[]> {
    this.polls += 1;
    const query = new URLSearchParams({ since, limit: String(LIMIT) });
    const response = await this.#request(`${NEW_LEADS_PATH}?${query}`, {});
    return (await response.json()) as Lead[];
  }

  /** At once, at the same URL or another one. */
  async #subscribeAgain(since: string): Promise<void> {
    if (this.#random.chance(50)) this.receiver.changeUrl();
    await this.#subscribe(since);
  }

  async #subscribe(since: string): Promise<void> {
    const body = JSON.stringify({ url: this.receiver.url, since });
    const headers = { 'content-type': 'application/json' };
    await this.#request(HOOKS_PATH, { method: 'POST', headers, body });
  }

  #request(path: string, init: RequestInit): Promise<Response> {
    if (!this.#installation) throw new Error('the client has not subscribed');
    return requestUntilAnswered(this.#installation, this.userId, this.#random, path, init);
  }
}

/** At any instance, until it succeeds. */
export async function requestUntilAnswered(
  { urls, token, timeoutMs }: Installation,
  userId: string,
  random: Random,
  path: string,
  init: RequestInit,
): Promise<Response> {
  const headers = { ...init.headers, authorization: `Bearer ${await token(userId)}` };
  for (;;) {
    const url = `${urls[random.below(urls.length)]}${path}`;
    const signal = AbortSignal.timeout(timeoutMs?.() ?? REQUEST_TIMEOUT_MS);
    const response = await fetch(url, { ...init, headers, signal }).catch(() => undefined);
    if (response?.ok) {
      // The body may be cut off.
      const body = await response.arrayBuffer().catch(() => undefined);
      if (body) return new Response(body);
    } else if (response && response.status !== 429 && !isFaultStatus(response.status))
      throw new Error(`${path} was answered with ${response.status}: ${await response.text()}`);
    await wait(RETRY_MS + random.below(RETRY_MS));
  }
}
