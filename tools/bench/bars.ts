/** What the figures are held to. A ratio is of one run: the median of its rounds. */
export const BARS = {
  sqlite: {
    emptyOfBare: 0.58,
    fullOfBare: 0.66,
    /** At half the rate that the bare server reaches. */
    p99OfBare: 2,
  },
  /** One instance, limits in memory. */
  postgres: { emptyOfBare: 0.55, emptyOfHandWritten: 2, fullOfBare: 0.65, fullOfHandWritten: 8 },
  /** One instance, limits in Redis. */
  redis: { emptyOfBare: 0.48, fullOfBare: 0.6 },
  /** Empty polls by 50,000 users, to the same by 6,000. */
  manyUsersOfFew: 0.9,
  /** The cost of a poll with the most leads, to that with the fewest. */
  growth: 1.15,
  /** With 100,000 active users. */
  memoryMb: 150,
  startMs: 1000,
  waiting: {
    /** From the commit of a lead in another process to the last byte at the clients that it is for; 1,000 wait. */
    p50Ms: 60,
    p99Ms: 200,
    /** With 10,000 waiting clients. */
    memoryMb: 150,
    idleShareOfCore: 0.05,
    /** Ordinary empty polls beside them, to the same without them. */
    pollsBeside: 0.9,
  },
  /** Empty polls while the positions of consumers are recorded, to the same without. */
  consumersOfNone: 0.95,
  import: { sqlitePerSecond: 10_000, postgresPerSecond: 6_000 },
  /** Leads over HTTP: single ones, to one-row transactions of the store itself; and leads a second in arrays of 100. */
  intake: { singleOfStore: 0.5, sqliteArraysPerSecond: 5_000, postgresArraysPerSecond: 3_000 },
} as const;

export interface Verdict {
  /** In words: which figure of what. */
  readonly figure: string;
  readonly value: number;
  readonly bar: number;
  readonly rule: 'at least' | 'at most';
  readonly met: boolean;
}

export const atLeast = (bar: number, value: number, figure: string): Verdict => ({
  figure,
  value,
  bar,
  rule: 'at least',
  met: value >= bar,
});

export const atMost = (bar: number, value: number, figure: string): Verdict => ({
  figure,
  value,
  bar,
  rule: 'at most',
  met: value <= bar,
});
