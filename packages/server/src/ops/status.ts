/** The state of the installation: what `/status.json` contains and `/status` shows. */
import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type Clock, toIso } from '../clock.ts';
import type { Store, StoreStatus } from '../store/store.ts';
import { messageOf } from '../system-error.ts';
import type { LeadHistory } from './lead-history.ts';
import { MINUTE_MS, type RequestHistory } from './request-history.ts';
import { findProblems, summarise } from './status-problems.ts';
import type { ConsumersStatus, StatusHistory, StatusReport } from './status-report.ts';

export interface StatusSources {
  readonly clock: Clock;
  readonly version: string;
  readonly store: Pick<Store, 'status'>;
  /** Of the database, without a password. */
  readonly databaseAddress: string;
  readonly databaseFile?: string | undefined;
  readonly sharedLimits?: { readonly isUp: boolean } | undefined;
  readonly requests: RequestHistory;
  /** Absent: the store cannot count leads. */
  readonly leads?: LeadHistory | undefined;
  readonly readConsumers: (now: number) => Promise<ConsumersStatus>;
  readonly log: { error(details: object, message: string): void };
}

/** A database that does not answer for this long is reported as unreachable, so that the page appears. */
const DATABASE_LIMIT_MS = 3000;

/** The returned function reads once for all requests that arrive meanwhile. */
export function createStatusReader(sources: StatusSources): () => Promise<StatusReport> {
  let running: Promise<StatusReport> | undefined;
  return () => {
    running ??= readStatus(sources).finally(() => {
      running = undefined;
    });
    return running;
  };
}

async function readStatus(sources: StatusSources): Promise<StatusReport> {
  const { clock, requests, databaseAddress, sharedLimits, version } = sources;
  const [stored, disk] = await Promise.all([readDatabase(sources), readDisk(sources)]);
  const now = clock();
  const history = {
    hour: toHistory(sources, now, 60, MINUTE_MS, stored?.hasLeads),
    day: toHistory(sources, now, 96, 15 * MINUTE_MS, stored?.hasLeads),
  };
  const facts = {
    database: {
      address: databaseAddress,
      reachable: stored !== undefined,
      engine: stored?.status.engine ?? null,
      latestStamp: stored && stored.status.latestStamp > 0 ? toIso(stored.status.latestStamp) : null,
      stampsAheadSeconds: stored ? Math.max(0, stored.status.latestStamp - stored.status.now) / 1000 : null,
    },
    redis: sharedLimits ? { reachable: sharedLimits.isUp } : null,
    disk,
    consumers: stored?.consumers ?? null,
    history,
  };
  const problems = findProblems(facts, now);
  return {
    generatedAt: toIso(now),
    healthy: problems.length === 0,
    summary: summarise(problems, facts.consumers),
    problems,
    version,
    startedAt: toIso(requests.startedAt),
    uptimeSeconds: Math.max(0, Math.floor((now - requests.startedAt) / 1000)),
    waitingRequests: requests.waiting,
    ...facts,
  };
}

interface StoredFacts {
  readonly status: StoreStatus;
  readonly consumers: ConsumersStatus;
  readonly hasLeads: boolean;
}

/** Undefined while the database is unreachable. */
async function readDatabase(sources: StatusSources): Promise<StoredFacts | undefined> {
  const { store, leads, readConsumers, log } = sources;
  const read = async () => {
    const status = await store.status();
    const counted = leads?.refresh(status.now).then(
      () => true,
      (error: unknown) => {
        log.error({ err: error }, 'the leads could not be counted for the status page');
        return false;
      },
    );
    const [consumers, hasLeads = false] = await Promise.all([readConsumers(status.now), counted]);
    return { status, consumers, hasLeads };
  };
  try {
    return await withTimeout(DATABASE_LIMIT_MS, read());
  } catch (error) {
    log.error({ err: error }, 'the database could not be read for the status page');
    return undefined;
  }
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
  { requests, leads }: StatusSources,
  now: number,
  steps: number,
  stepMs: number,
  hasLeads = false,
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
    leads: leads && hasLeads ? starts.map((start) => leads.read(start, start + stepMs)) : null,
  };
}
