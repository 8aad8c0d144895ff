import { setTimeout as wait } from 'node:timers/promises';
import type { Lead } from '@leadtap/contract';
import type { Random } from '../random.ts';

/** How a consumer remembers where it is. */
export const CONSUMER_KINDS = ['link', 'created-at', 'date', 'newest', 'waiting'] as const;
export type ConsumerKind = (typeof CONSUMER_KINDS)[number];

/** A poll as the consumer itself has seen it. */
export interface OwnPoll {
  readonly instance: number;
  readonly endedAt: number;
  readonly since: number | undefined;
  /** The newest `createdAt` of the page; undefined if it was empty or did not arrive. */
  readonly received: number | undefined;
  /** The `createdAt` of all leads of the page. */
  readonly leads: ReadonlySet<number>;
  /** The consumer crashed, or the connection failed: nothing is known about the answer. */
  readonly isBroken: boolean;
}

export interface TrialConsumerOptions {
  readonly kind: ConsumerKind;
  readonly token: string;
  readonly urls: readonly string[];
  readonly random: Random;
  readonly maxLimit: number;
  readonly waitS: number;
}

const BEGINNING = '1970-01-01T00:00:00.000Z';

const newestOf = (times: readonly number[]): number | undefined =>
  times.length === 0 ? undefined : Math.max(...times);

/** Polls with one token, keeps a record of all its polls, and crashes at random: it then continues from an older position. */
export class TrialConsumer {
  readonly kind: ConsumerKind;
  readonly polls: OwnPoll[] = [];
  readonly crashes: number[] = [];
  readonly #options: TrialConsumerOptions;
  #since: string;
  /** What survives a crash. */
  #saved: string;

  constructor(options: TrialConsumerOptions) {
    this.#options = options;
    this.kind = options.kind;
    this.#since = BEGINNING;
    this.#saved = this.#since;
  }

  async poll(): Promise<void> {
    const { random, urls, maxLimit } = this.#options;
    const instance = random.below(urls.length);
    const since = this.kind === 'newest' ? undefined : this.#since;
    const limit = 1 + random.below(maxLimit);
    const isCrash = random.chance(5);
    const crash = new AbortController();
    try {
      const answer = this.#request(urls[instance] ?? '', since, limit, crash.signal);
      if (isCrash) {
        await Promise.race([answer, wait(random.below(10))]);
        crash.abort();
      }
      const times = await answer;
      const received = newestOf(times);
      this.#add({ instance, since, received, leads: new Set(times), isBroken: false });
    } catch {
      this.#add({ instance, since, received: undefined, leads: new Set(), isBroken: true });
      await wait(5);
    }
    if (isCrash) this.#restart();
    else if (random.chance(50)) this.#saved = this.#since;
  }

  #restart(): void {
    this.crashes.push(Date.now());
    this.#since = this.#saved;
  }

  #add(poll: Omit<OwnPoll, 'endedAt' | 'since'> & { readonly since: string | undefined }): void {
    const since = poll.since === undefined ? undefined : Date.parse(poll.since);
    this.polls.push({ ...poll, since, endedAt: Date.now() });
  }

  /** The `createdAt` of the leads of the page. */
  async #request(
    url: string,
    since: string | undefined,
    limit: number,
    signal: AbortSignal,
  ): Promise<number[]> {
    const query = new URLSearchParams({ limit: String(limit), ...(since !== undefined && { since }) });
    const prefer = this.kind === 'waiting' ? { prefer: `wait=${this.#options.waitS}` } : undefined;
    const response = await fetch(`${url}/automation/new-leads?${query}`, {
      headers: { authorization: `Bearer ${this.#options.token}`, ...prefer },
      signal,
    });
    if (response.status !== 200) throw new Error(`a poll was answered with ${response.status}`);
    const leads = (await response.json()) as Lead[];
    const times = leads.map(({ createdAt }) => Date.parse(createdAt));
    this.#since = this.#nextSince(response.headers, newestOf(times), leads.length === limit);
    return times;
  }

  #nextSince(headers: Headers, newest: number | undefined, isFull: boolean): string {
    const last = newest === undefined ? this.#since : new Date(newest).toISOString();
    switch (this.kind) {
      case 'created-at':
        return last;
      case 'date':
        // The time of a full page says nothing about the leads that follow it.
        return isFull ? last : new Date(headers.get('date') ?? '').toISOString();
      case 'newest':
        return this.#since;
      default: {
        const next = /<([^>]*)>\s*;\s*rel="next"/.exec(headers.get('link') ?? '')?.[1];
        return new URL(next ?? '').searchParams.get('since') ?? '';
      }
    }
  }
}
