/** How often each consumer polled this instance in each of the last 24 hours, for the status page. In memory. */
import type { Clock } from '../clock.ts';
import type { ConsumerKey, PollSummary } from '../store/consumers.ts';

const HOUR_MS = 3_600_000;
const HOURS = 24;
/** About 4 MB. Polls of further consumers are not counted until others have not polled for a day. */
const MAX_CONSUMERS = 10_000;

interface Counts {
  readonly byHour: Uint32Array;
  /** The hour of the last poll, counted since 1970. Hours after it have no polls. */
  lastHour: number;
}

type AddedPolls = Pick<PollSummary, 'userId' | 'tokenId' | 'lastPollAt' | 'polls'>;

const hourOf = (time: number): number => Math.floor(time / HOUR_MS);

const keyOf = ({ userId, tokenId }: ConsumerKey): string => `${tokenId ?? ''}\0${userId}`;

export class ConsumerPolls {
  readonly #clock: Clock;
  readonly #maxConsumers: number;
  readonly #counts = new Map<string, Counts>();
  #prunedAtHour = 0;

  constructor(clock: Clock, maxConsumers = MAX_CONSUMERS) {
    this.#clock = clock;
    this.#maxConsumers = maxConsumers;
  }

  /** Adds the polls that the recorder has written, off the path of the polls. They count in the hour of the last one. */
  add({ userId, tokenId, lastPollAt, polls }: AddedPolls): void {
    if (polls === 0) return;
    const hour = hourOf(lastPollAt);
    const key = keyOf({ userId, tokenId });
    const counts = this.#counts.get(key) ?? this.#add(key, hour);
    if (!counts) return;
    // A clock that was set back counts in the last hour.
    for (let skipped = Math.max(counts.lastHour, hour - HOURS) + 1; skipped <= hour; skipped += 1)
      counts.byHour[skipped % HOURS] = 0;
    counts.lastHour = Math.max(counts.lastHour, hour);
    const slot = counts.lastHour % HOURS;
    counts.byHour[slot] = (counts.byHour[slot] ?? 0) + polls;
  }

  /** The current hour last. Null if the consumer has not polled this instance for a day, or its polls are not counted. */
  read(consumer: ConsumerKey): number[] | null {
    const counts = this.#counts.get(keyOf(consumer));
    const current = hourOf(this.#clock());
    if (!counts || counts.lastHour <= current - HOURS) return null;
    const { byHour, lastHour } = counts;
    const hours = Array.from({ length: HOURS }, (_, index) => current - HOURS + 1 + index);
    return hours.map((hour) =>
      hour > lastHour || hour <= lastHour - HOURS ? 0 : (byHour[hour % HOURS] ?? 0),
    );
  }

  #add(key: string, hour: number): Counts | undefined {
    if (this.#counts.size >= this.#maxConsumers) this.#prune(hour);
    if (this.#counts.size >= this.#maxConsumers) return undefined;
    const counts = { byHour: new Uint32Array(HOURS), lastHour: hour };
    this.#counts.set(key, counts);
    return counts;
  }

  /** At most once an hour. */
  #prune(hour: number): void {
    if (this.#prunedAtHour === hour) return;
    this.#prunedAtHour = hour;
    for (const [key, { lastHour }] of this.#counts) if (lastHour <= hour - HOURS) this.#counts.delete(key);
  }
}
