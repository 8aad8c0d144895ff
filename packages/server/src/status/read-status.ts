/** The state of the installation: what `/status.json` contains and `/status` shows. */
import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type Clock, toIso } from '../clock.ts';
import type { Store, StoreStatus } from '../store/store.ts';
import { messageOf } from '../system-error.ts';
import type { ConsumerPolls } from './consumer-polls.ts';
import { ConsumersReader } from './consumers.ts';
import { LeadHistory } from './lead-history.ts';
import { findProblems, summarise } from './problems.ts';
import type { ConsumersStatus, StatusHistory, StatusReport } from './report.ts';
import { MINUTE_MS, type RequestHistory } from './request-history.ts';

export interface StatusSources {
  readonly clock: Clock;
  readonly version: string;
  readonly store: Pick<Store, 'status' | 'countLeadsByMinute' | 'consumers'>;
  /** Of the database, without a password. */
  readonly databaseAddress: string;
  readonly databaseFile?: string | undefined;
  readonly sharedLimits?: { readonly isUp: boolean } | undefined;
  readonly requests: RequestHistory;
  /** Undefined if consumers are not recorded. */
  readonly consumerPolls: ConsumerPolls | undefined;
  readonly staleAfterMs?: number | undefined;
  readonly log: { error(details: object, message: string): void };
}

/** What is read from the database takes at most this long, so that the page appears while it hangs. */
const DATABASE_LIMIT_MS = 3000;
const NOT_RECORDED: ConsumersStatus = {
  ...{ recorded: false, active: 0, activeWithoutInterval: 0, stale: 0, inactive: 0 },
  listed: [],
};

/** The returned function reads once for all requests that arrive meanwhile. */
export function createStatusReader(sources: StatusSources): () => Promise<StatusReport> {
  const { store, clock, consumerPolls: polls, staleAfterMs } = sources;
  const readers: Readers = {
    leads: new LeadHistory(store),
    consumers: polls && new ConsumersReader({ store, clock, polls, staleAfterMs }),
  };
  let running: Promise<StatusReport> | undefined;
  return () => {
    running ??= readStatus(sources, readers).finally(() => {
      running = undefined;
    });
    return running;
  };
}

interface Readers {
  readonly leads: LeadHistory;
  readonly consumers: ConsumersReader | undefined;
}

async function readStatus(sources: StatusSources, readers: Readers): Promise<StatusReport> {
  const { clock, requests, sharedLimits, version } = sources;
  const [{ stored, leads, consumers }, disk] = await Promise.all([
    readDatabase(sources, readers),
    readDisk(sources),
  ]);
  const now = clock();
  const facts = {
    database: toDatabase(sources.databaseAddress, stored),
    redis: sharedLimits ? { reachable: sharedLimits.isUp } : null,
    disk,
    consumers,
    history: {
      hour: toHistory(requests, leads, now, 60, MINUTE_MS),
      day: toHistory(requests, leads, now, 96, 15 * MINUTE_MS),
    },
  };
  const problems = findProblems(facts, now);
  return {
    generatedAt: toIso(now),
    healthy: problems.length === 0,
    summary: summarise(problems, consumers, sources.staleAfterMs),
    problems,
    version,
    startedAt: toIso(requests.startedAt),
    uptimeSeconds: Math.max(0, Math.floor((now - requests.startedAt) / 1000)),
    waitingRequests: requests.heldPolls,
    ...facts,
  };
}

function toDatabase(address: string, stored: StoreStatus | undefined): StatusReport['database'] {
  if (!stored)
    return { address, reachable: false, engine: null, latestStamp: null, stampsAheadSeconds: null };
  const { engine, latestStamp, now } = stored;
  return {
    address,
    reachable: true,
    engine,
    latestStamp: latestStamp > 0 ? toIso(latestStamp) : null,
    stampsAheadSeconds: Math.max(0, latestStamp - now) / 1000,
  };
}

interface DatabaseFacts {
  /** Undefined while the database is unreachable. */
  readonly stored: StoreStatus | undefined;
  /** Undefined if the leads could not be counted. */
  readonly leads: LeadHistory | undefined;
  readonly consumers: ConsumersStatus | null;
}

/** A part that fails or takes too long is missing; the others are there. */
async function readDatabase({ store, log }: StatusSources, readers: Readers): Promise<DatabaseFacts> {
  const attempt = async <T>(what: string, work: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await withTimeout(DATABASE_LIMIT_MS, work());
    } catch (error) {
      log.error({ err: error }, `the ${what} could not be read for the status page`);
      return undefined;
    }
  };
  const stored = await attempt('state of the database', () => store.status());
  if (!stored) return { stored, leads: undefined, consumers: null };
  const [leads, consumers] = await Promise.all([
    attempt('number of leads', async () =>
      (await readers.leads.refresh(stored.now)) ? readers.leads : undefined,
    ),
    attempt('consumers', async () => (readers.consumers ? readers.consumers.read() : NOT_RECORDED)),
  ]);
  return { stored, leads, consumers: consumers ?? null };
}

async function withTimeout<T>(timeoutMs: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const expired = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${timeoutMs / 1000} s`)), timeoutMs);
  });
  try {
    return await Promise.race([work, expired]);
  } finally {
    clearTimeout(timer);
  }
}

async function readDisk({ databaseFile, log }: StatusSources): Promise<StatusReport['disk']> {
  if (databaseFile === undefined) return null;
  try {
    const { bavail, blocks, bsize } = await statfs(dirname(databaseFile));
    return { freeBytes: bavail * bsize, totalBytes: blocks * bsize };
  } catch (error) {
    log.error({ err: error }, `the free space could not be read for the status page: ${messageOf(error)}`);
    return null;
  }
}

const rounded = (value: number, digits: number): number => Number(value.toFixed(digits));
/** In a step that has just begun, one poll would be a high rate. */
const MIN_RATE_SECONDS = 5;

function toHistory(
  requests: RequestHistory,
  leads: LeadHistory | undefined,
  now: number,
  steps: number,
  stepMs: number,
): StatusHistory {
  const end = Math.floor(now / stepMs) * stepMs + stepMs;
  const from = end - steps * stepMs;
  const starts = Array.from({ length: steps }, (_, step) => from + step * stepMs);
  const { startedAt } = requests;
  const counted = starts.map((start) =>
    start + stepMs <= startedAt ? undefined : requests.read(start, start + stepMs),
  );
  const pollsPerSecond = counted.map((counts, step) => {
    if (!counts) return null;
    const begin = Math.max(from + step * stepMs, startedAt);
    const seconds = (Math.min(from + (step + 1) * stepMs, now) - begin) / 1000;
    return rounded(counts.polls / Math.max(seconds, MIN_RATE_SECONDS), 3);
  });
  const p99Ms = counted.map((counts) => {
    const p99 = counts?.p99Ms ?? null;
    return p99 === null ? null : rounded(p99, 2);
  });
  return {
    from: toIso(from),
    stepSeconds: stepMs / 1000,
    pollsPerSecond,
    p99Ms,
    rateLimited: counted.map((counts) => counts?.rateLimited ?? null),
    rejected: counted.map((counts) => counts?.rejected ?? null),
    failed: counted.map((counts) => counts?.failed ?? null),
    leads: leads ? starts.map((start) => leads.read(start, start + stepMs)) : null,
  };
}
