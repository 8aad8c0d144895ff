/**
 * Senders post leads with retries while the service is killed with SIGKILL at random, and clients that follow `Link` poll.
 * In the end, every acknowledged lead was delivered exactly once, and no other lead more than once.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { Random } from '../random.ts';
import { LinkClient } from './link-client.ts';
import { Sender, type SentMarker } from './sender.ts';

export interface CrashTrialOptions {
  /** The instances. Each keeps its address when it is started again. */
  readonly urls: readonly string[];
  /** They may send and poll, and see the whole company. */
  readonly users: Readonly<Record<string, readonly string[]>>;
  token(userId: string): Promise<string>;
  /** Kills an instance with SIGKILL and starts it again. */
  kill(index: number): Promise<void>;
  readonly senders: number;
  /** Of all senders together, retries not counted. */
  readonly requests: number;
  /** There is a kill for so many requests, at a random one of them. */
  readonly requestsPerKill: number;
  readonly seed: number;
  readonly onProgress?: (done: number) => void;
}

export interface CrashTrialVerdict {
  readonly requests: number;
  readonly retries: number;
  readonly kills: number;
  /** Leads that were acknowledged at least once. */
  readonly acknowledged: number;
  /** Leads whose sender gave up before an answer came. */
  readonly abandoned: number;
  /** Of the abandoned ones: those that were stored nevertheless. */
  readonly abandonedStored: number;
  readonly polled: number;
  /** A sentence for each acknowledged lead that no client got, or with another id or time than was acknowledged. */
  readonly lost: readonly string[];
  readonly doubled: readonly string[];
  /** Leads that were delivered and never sent. */
  readonly unknown: readonly string[];
}

/** Kills come while requests are under way, not just between two of them. */
const MAX_KILL_DELAY_MS = 20;

export async function runCrashTrial(options: CrashTrialOptions): Promise<CrashTrialVerdict> {
  const companyIds = Object.keys(options.users);
  const clients = companyIds.map((companyId) => new LinkClient(options, options.users[companyId] ?? []));
  const senders = Array.from({ length: options.senders }, (_, index) => {
    const companyId = companyIds[index % companyIds.length] ?? '';
    // Each has users of its own, because a user may send only so often.
    const userIds = (options.users[companyId] ?? []).filter((_, user) => user % options.senders === index);
    return new Sender({
      ...options,
      userIds,
      name: `s${index}`,
      random: new Random(options.seed * 1009 + index),
    });
  });
  const killer = new Killer(options);
  let isOver = false;
  let begun = 0;
  const sending = senders.map(async (sender) => {
    for (; begun < options.requests; ) {
      begun += 1;
      await sender.send();
      killer.requestDone();
      options.onProgress?.(begun);
    }
  });
  const polling = clients.map(async (client) => {
    while (!isOver) await client.poll();
  });
  try {
    await Promise.all(sending);
  } finally {
    isOver = true;
    await Promise.all([killer.finish(), ...polling]);
  }
  for (const client of clients) await client.pollToEnd();
  return judge(senders, clients, killer.kills);
}

class Killer {
  kills = 0;
  readonly #options: CrashTrialOptions;
  readonly #random: Random;
  #done = 0;
  #nextAt: number;
  #killing: Promise<void> | undefined;

  constructor(options: CrashTrialOptions) {
    this.#options = options;
    this.#random = new Random(options.seed);
    this.#nextAt = this.#random.below(options.requestsPerKill);
  }

  requestDone(): void {
    this.#done += 1;
    if (this.#done < this.#nextAt || this.#killing) return;
    this.#nextAt = this.#done + 1 + this.#random.below(2 * this.#options.requestsPerKill);
    this.#killing = this.#kill().finally(() => {
      this.#killing = undefined;
    });
  }

  async finish(): Promise<void> {
    await this.#killing;
  }

  async #kill(): Promise<void> {
    await wait(this.#random.below(MAX_KILL_DELAY_MS));
    await this.#options.kill(this.#random.below(this.#options.urls.length));
    this.kills += 1;
  }
}

function judge(senders: readonly Sender[], clients: readonly LinkClient[], kills: number): CrashTrialVerdict {
  const sent = new Map<string, SentMarker>(senders.flatMap((sender) => [...sender.sent]));
  const delivered = clients.flatMap((client) => client.received);
  const seen = new Set<string>();
  const lost: string[] = [];
  const doubled: string[] = [];
  const unknown: string[] = [];
  for (const { id, createdAt, firstName } of delivered) {
    const marker = firstName ?? '';
    const expected = sent.get(marker);
    if (!expected) unknown.push(`${id} (${marker}) was delivered and never sent`);
    else if (seen.has(marker)) doubled.push(`${marker} was delivered twice, as ${id} the second time`);
    else if (expected.receipt && (expected.receipt.id !== id || expected.receipt.createdAt !== createdAt))
      lost.push(
        `${marker} was acknowledged as ${JSON.stringify(expected.receipt)}, but delivered as ${id}, ${createdAt}`,
      );
    seen.add(marker);
  }
  const markers = [...sent];
  const acknowledged = markers.filter(([, { receipt }]) => receipt);
  const abandoned = markers.filter(([, { receipt }]) => !receipt);
  for (const [marker, { receipt }] of acknowledged)
    if (!seen.has(marker)) lost.push(`${marker} was acknowledged as ${receipt?.id} and never delivered`);
  return {
    requests: sum(senders.map(({ requests }) => requests)),
    retries: sum(senders.map(({ retries }) => retries)),
    kills,
    acknowledged: acknowledged.length,
    abandoned: abandoned.length,
    abandonedStored: abandoned.filter(([marker]) => seen.has(marker)).length,
    polled: delivered.length,
    lost,
    doubled,
    unknown,
  };
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);
