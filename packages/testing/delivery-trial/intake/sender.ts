import { type LeadToSend, sendLeads, type WrittenLead } from '@leadtap/client';
import type { Random } from '../random.ts';

export interface SenderOptions {
  /** A prefix of all that it sends. */
  readonly name: string;
  readonly urls: readonly string[];
  readonly userIds: readonly string[];
  readonly random: Random;
  token(userId: string): Promise<string>;
}

/** What is known of one lead: its first name is the marker that tells it from all others. */
export interface SentMarker {
  /** Undefined: its sender gave up before an answer came. */
  receipt: Pick<WrittenLead, 'id' | 'createdAt'> | undefined;
}

interface Call {
  readonly leads: readonly LeadToSend[];
  readonly key: string | undefined;
}

/** Below the 600 a minute that a user may send, retries included. */
const REQUESTS_OF_A_USER = 300;
const MAX_LEADS = 10;
const MAX_PATIENCE_MS = 30;
/** The client waits for a second at first, which is right for a service and long for a trial. */
const SPEED = 100;

/** A program that sends leads with the client, one call after the other, and now and then crashes itself. */
export class Sender {
  /** By marker. */
  readonly sent = new Map<string, SentMarker>();
  requests = 0;
  retries = 0;
  readonly #options: SenderOptions;
  #token: Promise<string> | undefined;
  #earlier: LeadToSend | undefined;
  #unfinished: Call | undefined;

  constructor(options: SenderOptions) {
    this.#options = options;
  }

  /** One call, in one of the ways that programs send leads. */
  async send(): Promise<void> {
    const { random } = this.#options;
    const unfinished = this.#unfinished;
    this.#unfinished = undefined;
    // A program that starts again sends what it has not finished, with the key that it has saved.
    if (unfinished && random.chance(70)) return this.#call(unfinished);
    const count = random.chance(70) ? 1 : 1 + random.below(MAX_LEADS);
    const leads = Array.from({ length: count }, () => this.#makeLead());
    if (this.#earlier && random.chance(10)) leads.push(this.#earlier);
    const withId = leads.find(({ id }) => id !== undefined);
    if (withId) this.#earlier = withId;
    const hasOwnKey = random.chance(50);
    const call = { leads, key: hasOwnKey ? `${this.#options.name}-key-${this.requests}` : undefined };
    const isRepeatable = hasOwnKey || leads.every(({ id }) => id !== undefined);
    // One that neither has ids nor knows its key cannot repeat a call.
    if (random.chance(15)) return this.#giveUp(call, isRepeatable);
    await this.#call(call);
  }

  #makeLead(): LeadToSend {
    const marker = `${this.#options.name}-${this.sent.size}`;
    this.sent.set(marker, { receipt: undefined });
    return { firstName: marker, ...(this.#options.random.chance(50) && { id: `id-${marker}` }) };
  }

  async #giveUp(call: Call, isRepeatable: boolean): Promise<void> {
    const patience = AbortSignal.timeout(this.#options.random.below(MAX_PATIENCE_MS));
    try {
      await this.#call(call, patience);
    } catch (error) {
      if (!patience.aborted) throw error;
      if (isRepeatable) this.#unfinished = call;
    }
  }

  async #call({ leads, key }: Call, signal?: AbortSignal): Promise<void> {
    const { urls, userIds, random, token } = this.#options;
    if (this.requests % REQUESTS_OF_A_USER === 0)
      this.#token = token(userIds[(this.requests / REQUESTS_OF_A_USER) % userIds.length] ?? '');
    this.requests += 1;
    const receipts = await sendLeads(leads, {
      baseUrl: urls[random.below(urls.length)] ?? '',
      token: (await this.#token) ?? '',
      idempotencyKey: key,
      maxAttempts: Number.POSITIVE_INFINITY,
      signal,
      onRetry: () => {
        this.retries += 1;
      },
      environment: {
        now: () => performance.now() * SPEED,
        sleep: (ms, stop) => pause(ms / SPEED, stop),
      },
    });
    for (const [index, { firstName }] of leads.entries()) {
      const known = this.sent.get(firstName ?? '');
      if (known) known.receipt = receipts[index];
    }
  }
}

/** Ends early, without an error, when the signal is aborted. */
const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end);
  });
