/**
 * The targets of one run, medians of its rounds. Ratios of polls to the bare server are by processor time of the instance, a tenth
 * below those of the published run: a miss means that polls have become dearer.
 */
export const TARGETS = {
  sqlite: { empty: 0.38, page: 0.57 },
  postgres: { empty: 0.23, page: 0.54 },
  redis: { empty: 0.23, page: 0.5 },
  /** Cost of a poll with the most leads, compared with a thousand. */
  growth: 1.15,
  startMs: 1000,
  /** With 100,000 active users. */
  memoryMb: 280,
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
  /** With 1,000 subscriptions. */
  hooks: {
    /** From the commit of a lead to its event at the receivers of 100 of them. */
    p50Ms: 300,
    p99Ms: 1000,
    /** p99 of the other receivers, while one in ten hangs and one in ten fails. */
    p99BesideFaulty: 1.25,
    idleShareOfCore: 0.02,
    /** Polls with the same processor time of the instance, compared with none. */
    pollsBeside: 0.95,
  },
  /** In arrays of 100. */
  intakeLeadsPerSecond: { sqlite: 5000, postgres: 3000 },
} as const;
