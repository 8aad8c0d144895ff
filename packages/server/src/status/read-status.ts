/** Reads what is known of the installation and of all connections, once for all that ask meanwhile. */
import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { createEmptyCheck } from '../accounts/no-company.ts';
import { type Report, type ReportSources, readReport } from '../connections/report.ts';
import { toIso, toIsoOrNull } from '../lib/clock.ts';
import { withTimeout } from '../lib/timeout.ts';
import type { Store } from '../store/store.ts';
import type { InstanceMemory } from './instance.ts';
import type { Facts, Part, StatusReport } from './report.ts';
import { diagnose } from './rules.ts';

/** For what is read from the database for the operator. */
export interface StatusTimeouts {
  /** Each part of the page takes at most this long, so that the page appears while the database hangs. */
  readonly readMs: number;
  /** Reading 100,000 connections takes a second or more. After a read that took longer than this, the next one is made later. */
  readonly slowReadMs: number;
  /** A scrape that takes longer gets the result before: Prometheus gives up after 10 seconds, and then has no metric at all. */
  readonly scrapeMs: number;
}

export const STATUS_TIMEOUTS: StatusTimeouts = { readMs: 3000, slowReadMs: 250, scrapeMs: 2000 };
/** A slow read is repeated only after ten times as long. */
const PAUSE_FACTOR = 10;

export interface StatusSources {
  readonly reports: ReportSources;
  readonly version: string;
  readonly store: Pick<Store, 'status' | 'readSize' | 'organisation'>;
  /** Of the database, without a password. */
  readonly databaseAddress: string;
  readonly databaseFile?: string | undefined;
  /** Undefined if the database has its own tool for backups. */
  readonly readLastBackup?: (() => Promise<number | undefined>) | undefined;
  readonly sharedLimits?: { readonly isUp: boolean } | undefined;
  readonly hookHosts: Facts['hookHosts'];
  readonly instance: InstanceMemory;
  /** What the running instance has in memory, for a command. */
  readonly known?: Partial<Facts> | undefined;
  readonly log: { error(details: object, message: string): void };
  readonly timeouts?: StatusTimeouts | undefined;
}

/** The returned function reads once for all calls that are made meanwhile. */
export function createStatusReader(sources: StatusSources): () => Promise<StatusReport> {
  const readFacts = createFactsReader(sources);
  return shareReads(async () => diagnose(await readFacts()));
}

function shareReads<T>(read: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  return () => {
    running ??= read().finally(() => {
      running = undefined;
    });
    return running;
  };
}

/** After a slow read, and while one lasts that took too long for its page, the result before is returned. */
export function spaceReads<T>(read: () => Promise<T>, slowReadMs: number): () => Promise<T> {
  let last: T | undefined;
  let nextReadAt = 0;
  let isReading = false;
  const readNext = shareReads(async () => {
    const startedAt = performance.now();
    isReading = true;
    try {
      last = await read();
    } finally {
      isReading = false;
    }
    const durationMs = performance.now() - startedAt;
    if (durationMs > slowReadMs) nextReadAt = performance.now() + PAUSE_FACTOR * durationMs;
    return last;
  });
  return async () =>
    last !== undefined && (isReading || performance.now() < nextReadAt) ? last : readNext();
}

/** A part that fails or takes too long is missing; the others are there. */
function createFactsReader(sources: StatusSources): () => Promise<Facts> {
  const { store, log, instance, reports, hookHosts } = sources;
  const { readMs, slowReadMs } = sources.timeouts ?? STATUS_TIMEOUTS;
  const checkEmpty = createEmptyCheck(store);
  const readConnections = spaceReads<Report>(() => readReport(reports, { hasDoor: true }), slowReadMs);

  return async () => {
    const unread = new Set<Part>();
    const attempt = async <T>(part: Part, work: () => Promise<T>): Promise<T | undefined> => {
      try {
        return await withTimeout(readMs, work());
      } catch (error) {
        log.error({ err: error }, `${PARTS[part]} could not be read for the status page`);
        unread.add(part);
        return undefined;
      }
    };
    const readDatabase = async () => {
      const stored = await attempt('database', () => store.status());
      if (!stored) {
        unread.add('connections');
        return undefined;
      }
      const [isEmpty, bytes, connections] = await Promise.all([
        checkEmpty(),
        attempt('size', () => store.readSize()),
        attempt('connections', readConnections),
      ]);
      return { ...stored, isEmpty, bytes, connections };
    };
    const [read, disk, lastBackup] = await Promise.all([
      readDatabase(),
      attempt('disk', () => readDisk(sources.databaseFile)),
      attempt('backup', async () => sources.readLastBackup?.()),
    ]);
    const latestStamp = read?.latestStamp ?? 0;
    return {
      generatedAt: toIso(reports.clock()),
      version: sources.version,
      ...instance.read(),
      database: {
        address: sources.databaseAddress,
        reachable: read !== undefined,
        isEmpty: read?.isEmpty ?? false,
        engine: read?.engine ?? null,
        stampsAheadSeconds: read ? Math.max(0, latestStamp - read.now) / 1000 : null,
        bytes: read?.bytes ?? null,
      },
      latestLeadAt: latestStamp > 0 ? toIso(latestStamp) : null,
      backup: sources.readLastBackup ? { lastAt: toIsoOrNull(lastBackup) } : null,
      redis: sources.sharedLimits ? { reachable: sources.sharedLimits.isUp } : null,
      disk: disk ?? null,
      connections: read?.connections ?? null,
      hookHosts,
      unread,
      ...sources.known,
    };
  };
}

const PARTS: Readonly<Record<Part, string>> = {
  ...{ database: 'the state of the database', connections: 'the connections' },
  ...{ size: 'the size of the database', disk: 'the free space', backup: 'the time of the last backup' },
};

async function readDisk(databaseFile: string | undefined): Promise<Facts['disk']> {
  if (databaseFile === undefined) return null;
  const { bavail, blocks, bsize } = await statfs(dirname(databaseFile));
  return { freeBytes: bavail * bsize, totalBytes: blocks * bsize };
}
