import {
  type Environment,
  type LeadToSend,
  LeadtapError,
  sendLeads,
  type WrittenLead,
} from '@leadtap/client';
import type { Answer, FaultyNetwork, Script } from './faulty-network.ts';
import type { LiveService } from './live-service.ts';
import { ALL_WELL, type NetworkStep } from './schedule.ts';
import { SendRules } from './send-rules.ts';
import type { CallStep, SendSchedule } from './send-schedule.ts';

const TIMEOUT_MS = 30_000;

export interface SendVerdict {
  readonly broken: readonly string[];
  /** A sentence for each acknowledged lead that is not stored as acknowledged, and for each that is stored twice. */
  readonly lost: readonly string[];
  readonly doubled: readonly string[];
}

let markers = 0;

/** A program that sends leads and a service live through a schedule. */
export class SendTrial implements Script {
  readonly #service: LiveService;
  readonly #baseUrl: string;
  readonly #schedule: SendSchedule;
  readonly #network: NetworkStep[];
  /** By marker, which is the first name: what was acknowledged, if anything was. */
  readonly #sent = new Map<string, WrittenLead | undefined>();
  readonly #broken: string[] = [];
  #rules: SendRules;
  #timeLimit = new AbortController();

  constructor(service: LiveService, network: FaultyNetwork, schedule: SendSchedule) {
    this.#service = service;
    this.#baseUrl = network.url;
    this.#schedule = schedule;
    this.#network = [...schedule.network];
    this.#rules = new SendRules(service.clock, 0, 1);
    network.follow(this);
  }

  async finish(): Promise<SendVerdict> {
    const begun = await this.#service.newestStamp();
    for (const step of this.#schedule.calls) await this.#live(step);
    const lost: string[] = [];
    const doubled: string[] = [];
    const stored = new Map<string, string>();
    for (const { id, firstName } of await this.#service.storedSince(begun)) {
      const marker = firstName ?? '';
      if (stored.has(marker)) doubled.push(`${marker} is stored as ${stored.get(marker)} and as ${id}`);
      stored.set(marker, id);
    }
    for (const [marker, receipt] of this.#sent)
      if (receipt && stored.get(marker) !== receipt.id)
        lost.push(`${marker} was acknowledged as ${receipt.id} and is stored as ${stored.get(marker)}`);
    return { broken: this.#broken, lost, doubled };
  }

  /** A call that fails is repeated with the same leads, if they have ids or a key that the caller knows. */
  async #live({ hasId, hasOwnKey, maxAttempts }: CallStep): Promise<void> {
    const leads = hasId.map((isGiven): LeadToSend => {
      markers += 1;
      const firstName = `marker-${markers}`;
      this.#sent.set(firstName, undefined);
      return { firstName, ...(isGiven && { id: `id-${markers}` }) };
    });
    const key = hasOwnKey ? `key-${markers}` : undefined;
    if (await this.#call(leads, key, maxAttempts)) return;
    if (!hasOwnKey && hasId.includes(false)) return;
    if (!(await this.#call(leads, key, Number.POSITIVE_INFINITY)))
      this.#broken.push('a call gave up too early');
  }

  /** Whether the leads were acknowledged. */
  async #call(leads: readonly LeadToSend[], key: string | undefined, maxAttempts: number): Promise<boolean> {
    const { clock, token } = this.#service;
    this.#rules = new SendRules(clock, this.#schedule.random, maxAttempts);
    try {
      const receipts = await sendLeads(leads, {
        baseUrl: this.#baseUrl,
        token,
        idempotencyKey: key,
        maxAttempts,
        timeoutMs: TIMEOUT_MS,
        environment: this.#environment(),
      });
      this.#acknowledge(leads, receipts);
      return true;
    } catch (error) {
      if (!(error instanceof LeadtapError) || !error.isTransient) throw error;
      this.#acknowledge(leads, error.sent);
      return false;
    } finally {
      this.#broken.push(...this.#rules.broken);
    }
  }

  #acknowledge(leads: readonly LeadToSend[], receipts: readonly WrittenLead[]): void {
    for (const [index, receipt] of receipts.entries()) this.#sent.set(leads[index]?.firstName ?? '', receipt);
  }

  #environment(): Partial<Environment> {
    const { clock } = this.#service;
    return {
      now: clock,
      random: () => this.#schedule.random,
      fetch: (url, init) => {
        this.#rules.requested(init);
        return fetch(url, init);
      },
      sleep: async (ms) => {
        clock.advance(ms);
      },
      timeLimit: () => {
        this.#timeLimit = new AbortController();
        return this.#timeLimit.signal;
      },
    };
  }

  get targetUrl(): string {
    return this.#service.url;
  }

  async arrived(): Promise<NetworkStep> {
    const { fault, retryAfterS, isServiceRestarted } = this.#network.shift() ?? ALL_WELL;
    if (isServiceRestarted) await this.#service.restart();
    return { ...ALL_WELL, fault, retryAfterS };
  }

  async read(): Promise<void> {}

  delivered(answer: Answer): void {
    this.#rules.answered(answer);
  }

  lost(): void {
    this.#rules.failed();
  }

  silent(): void {
    this.#service.clock.advance(TIMEOUT_MS);
    this.#rules.failed();
    this.#timeLimit.abort();
  }

  failed(error: unknown): void {
    this.#broken.push(String(error instanceof Error ? error.stack : error));
    this.#timeLimit.abort();
  }
}
