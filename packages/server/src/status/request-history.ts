/** What this instance answered in each minute of the last 24 hours, for the status page. In memory, so it begins with the process. */
import type { Clock } from '../clock.ts';
import type { PollObservation, PollObserver } from '../poll/observer.ts';

export const MINUTE_MS = 60_000;
export const HISTORY_MINUTES = 24 * 60;

/** Each latency bucket is 26 % wider than the one before: 48 of them reach from 0.1 ms to 5 s. */
const LATENCY_BUCKETS = 48;
const FIRST_BUCKET_MS = 0.1;
const BUCKETS_PER_DOUBLING = 3;

/** The upper bound of a latency bucket. */
const boundMs = (bucket: number): number => FIRST_BUCKET_MS * 2 ** (bucket / BUCKETS_PER_DOUBLING);

function bucketOf(ms: number): number {
  const bucket = Math.ceil(Math.log2(Math.max(ms, FIRST_BUCKET_MS) / FIRST_BUCKET_MS) * BUCKETS_PER_DOUBLING);
  return Math.min(LATENCY_BUCKETS - 1, bucket);
}

/** The requests of one period. */
export interface RequestCounts {
  readonly polls: number;
  /** The 99th percentile of the duration of polls, without the time that they waited for a lead. Null without polls. */
  readonly p99Ms: number | null;
  /** Requests of all endpoints, answered with 429. */
  readonly rateLimited: number;
  /** Answered with another 4xx. */
  readonly rejected: number;
  /** Answered with 5xx. */
  readonly failed: number;
}

const RATE_LIMITED = 429;

/** A ring of minutes: 300 kB, whatever the load. */
export class RequestHistory implements PollObserver {
  readonly #clock: Clock;
  /** The minute that a slot has now, counted since 1970. A slot of another minute is empty. */
  readonly #minutes = new Float64Array(HISTORY_MINUTES).fill(Number.NaN);
  readonly #polls = new Uint32Array(HISTORY_MINUTES);
  readonly #rateLimited = new Uint32Array(HISTORY_MINUTES);
  readonly #rejected = new Uint32Array(HISTORY_MINUTES);
  readonly #failed = new Uint32Array(HISTORY_MINUTES);
  readonly #latencies = new Uint32Array(HISTORY_MINUTES * LATENCY_BUCKETS);
  readonly startedAt: number;
  /** Polls that are held now. */
  heldPolls = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.startedAt = clock();
  }

  observe({ durationMs, waitedMs }: PollObservation): void {
    const slot = this.#currentSlot();
    increment(this.#polls, slot);
    increment(this.#latencies, slot * LATENCY_BUCKETS + bucketOf(durationMs - waitedMs));
  }

  /** With the status of the response. A client that disconnected before it was not refused. */
  countRefusal(status: number): void {
    const slot = this.#currentSlot();
    if (status >= 500) increment(this.#failed, slot);
    else if (status === RATE_LIMITED) increment(this.#rateLimited, slot);
    else increment(this.#rejected, slot);
  }

  observeWaiting(count: number): void {
    this.heldPolls = count;
  }

  /** The requests of the minutes from one time until another, both full minutes. */
  read(from: number, until: number): RequestCounts {
    const counts = { polls: 0, rateLimited: 0, rejected: 0, failed: 0 };
    const latencies = new Float64Array(LATENCY_BUCKETS);
    for (let minute = from / MINUTE_MS; minute < until / MINUTE_MS; minute += 1) {
      const slot = minute % HISTORY_MINUTES;
      if (this.#minutes[slot] !== minute) continue;
      counts.polls += this.#polls[slot] ?? 0;
      counts.rateLimited += this.#rateLimited[slot] ?? 0;
      counts.rejected += this.#rejected[slot] ?? 0;
      counts.failed += this.#failed[slot] ?? 0;
      for (let bucket = 0; bucket < LATENCY_BUCKETS; bucket += 1)
        increment(latencies, bucket, this.#latencies[slot * LATENCY_BUCKETS + bucket]);
    }
    return { ...counts, p99Ms: quantileMs(latencies, counts.polls, 0.99) };
  }

  #currentSlot(): number {
    const minute = Math.floor(this.#clock() / MINUTE_MS);
    const slot = minute % HISTORY_MINUTES;
    if (this.#minutes[slot] !== minute) {
      this.#minutes[slot] = minute;
      for (const counts of [this.#polls, this.#rateLimited, this.#rejected, this.#failed]) counts[slot] = 0;
      this.#latencies.fill(0, slot * LATENCY_BUCKETS, (slot + 1) * LATENCY_BUCKETS);
    }
    return slot;
  }
}

function increment(counts: Uint32Array | Float64Array, index: number, by = 1): void {
  counts[index] = (counts[index] ?? 0) + by;
}

/** Interpolated within its bucket, as Prometheus does. */
function quantileMs(buckets: Float64Array, total: number, quantile: number): number | null {
  const rank = quantile * total;
  let below = 0;
  for (const [bucket, count] of buckets.entries()) {
    if (count > 0 && below + count >= rank) {
      const lowerMs = bucket === 0 ? 0 : boundMs(bucket - 1);
      return lowerMs + (boundMs(bucket) - lowerMs) * ((rank - below) / count);
    }
    below += count;
  }
  return null;
}
