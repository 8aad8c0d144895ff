import type { Kind, StoreName } from './contestants.ts';

/** Of the processor time of the instance: what the bare server needs for the same bytes. */
const OF_BARE: Record<StoreName, Partial<Record<Kind, number>>> = {
  sqlite: { empty: 0.62, page: 0.62, cold: 0.42 },
  postgres: { empty: 0.52, page: 0.58 },
  redis: { empty: 0.42, page: 0.48 },
};

/** The targets of one run, medians of its rounds. */
export const TARGETS = {
  ofBare: OF_BARE,
  /** Cost of a page of old leads, compared with the hand-written poll. */
  oldPage: 1,
  /** Cost of a poll with the most leads, compared with a thousand. */
  growth: 1.15,
  /** With the most leads. */
  startMs: 1000,
  /** Rate of an import, compared with plain `INSERT` or `COPY` of the same rows. */
  importOfPlain: 0.25,
  /** With 100,000 active users. */
  memoryMb: 150,
  waiting: {
    /** From the commit of a lead to its last byte at the 100 of 1,000 clients that it is for. */
    p50Ms: 60,
    p99Ms: 200,
    /** With 10,000 long polls. */
    memoryMb: 150,
    idleShareOfCore: 0.05,
    /** Ordinary polls with the same processor time beside them, compared with none held. */
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
  /** While 20 webhooks of a user send leads to a receiver that answers at once. */
  leadHooks: {
    /** The longest slice of processor time between two turns of the event loop. */
    sliceMs: 30,
    /** The median of polls of others, compared with before. */
    polls: 1.5,
    /** From the commit of a lead to its request, for another company. */
    webhookMs: 1000,
    /** Of one webhook, whose receiver needs 5 ms and 100 ms. */
    fastPerSecond: 100,
    slowPerSecond: 9,
  },
  /** While one company sends a load that is within all rate limits. */
  isolation: {
    /** The median of polls and of `POST /leads` of others, compared with before; lists during a lock, compared with polls then. */
    others: 4,
    /** The longest slice of processor time between two turns of the event loop. */
    sliceMs: 60,
  },
  /** Processor time of the instance and of PostgreSQL. */
  connections: {
    /** `GET /automation/connections` with 300 automations and a million deliveries. */
    listMs: 30,
    /** `/status.json` with 1,000 companies and a million leads. */
    statusMs: 100,
    /** 50 automations in one transaction, with 0 to 3 new leads each. */
    batchMs: 20,
    /** Of a core, at 100 leads a second. */
    auditShare: 0.01,
    /** While 1,000 automations get 100 new leads each. */
    sliceMs: 30,
  },
  /** In arrays of 100. */
  intakeLeadsPerSecond: { sqlite: 5000, postgres: 3000 },
} as const;
