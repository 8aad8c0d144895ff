/** The targets of one run, medians of its rounds. Ratios of polls are by processor time of the instance. */
export const TARGETS = {
  sqlite: { empty: 0.65, page: 0.65 },
  postgres: { empty: 0.58, page: 0.6 },
  redis: { empty: 0.48, page: 0.5 },
  /** On SQLite, at half of the rate of the bare server. */
  p99OfBare: 2,
  /** Cost of a poll with the most leads, compared with a thousand. */
  growth: 1.15,
  startMs: 1000,
  /** With 100,000 active users. */
  memoryMb: 150,
  waiting: {
    /** From the commit of a lead to its last byte at the 100 of 1,000 clients that it is for. */
    p50Ms: 60,
    p99Ms: 200,
    /** With 10,000 held polls. */
    memoryMb: 150,
    idleShareOfCore: 0.05,
    /** Rate of ordinary polls beside them, compared with none held. */
    pollsBeside: 0.9,
  },
  /** In arrays of 100. */
  intakeLeadsPerSecond: { sqlite: 5000, postgres: 3000 },
} as const;
