/** How often each consumer polled this instance in each of the last 24 hours, for the status page. In memory. */
import type { Clock } from '../clock.ts';
import { type ConsumerKey, consumerKeyText, type PollSummary } from '../consumers/store.ts';
import { StepCounts } from './step-counts.ts';

const HOUR_MS = 3_600_000;
const HOURS = 24;
/** About 4 MB. Polls of further consumers are not counted until others have not polled for a day. */
const MAX_CONSUMERS = 10_000;

type AddedPolls = Pick<PollSummary, 'userId' | 'tokenId' | 'lastPollAt' | 'polls'>;

const hourOf = (time: number): number => Math.floor(time / HOUR_MS);

export class ConsumerPolls {
  readonly #clock: Clock;
  readonly #maxConsumers: number;
  readonly #counts = new Map<string, StepCounts>();
  #prunedAtHour = 0;

  constructor(clock: Clock, maxConsumers = MAX_CONSUMERS) {
    this.#clock = clock;
    this.#maxConsumers = maxConsumers;
  }

  /** Adds the polls that the recorder has written, off the path of the polls. They count in the hour of the last one. */
  add({ userId, tokenId, lastPollAt, polls }: AddedPolls): void {
    if (polls === 0) return;
    const hour = hourOf(lastPollAt);
    const key = consumerKeyText({ userId, tokenId });
    const counts = this.#counts.get(key) ?? this.#add(key, hour);
    counts?.add(hour, polls);
  }

  /** The current hour last. Null if the consumer has not polled this instance for a day, or its polls are not counted. */
  read(consumer: ConsumerKey): number[] | null {
    const counts = this.#counts.get(consumerKeyText(consumer));
    const current = hourOf(this.#clock());
    return !counts || counts.isOver(current) ? null : counts.read(current);
  }

  #add(key: string, hour: number): StepCounts | undefined {
    if (this.#counts.size >= this.#maxConsumers) this.#prune(hour);
    if (this.#counts.size >= this.#maxConsumers) return undefined;
    const counts = new StepCounts(HOURS, hour);
    this.#counts.set(key, counts);
    return counts;
  }

  /** At most once an hour. */
  #prune(hour: number): void {
    if (this.#prunedAtHour === hour) return;
    this.#prunedAtHour = hour;
    for (const [key, counts] of this.#counts) if (counts.isOver(hour)) this.#counts.delete(key);
  }
}
