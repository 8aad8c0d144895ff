/** The state of the installation: what `/status.json` contains and `/status` shows. */
import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type Clock, toIso, toIsoOrNull } from '../clock.ts';
import { hookPages } from '../consumers/consumer-hooks.ts';
import type { ConsumerKey } from '../consumers/store.ts';
import { type HookStore, hookStateOf } from '../hooks/store.ts';
import type { Store, StoreStatus } from '../store/store.ts';
import { messageOf } from '../system-error.ts';
import { withTimeout } from '../timeout.ts';
import type { ConsumerPolls } from './consumer-polls.ts';
import { ConsumersReader, NO_CONSUMERS } from './consumers.ts';
import { LeadHistory } from './lead-history.ts';
import { LeadSilence } from './lead-silence.ts';
import type { Refusals } from './refusals.ts';
import type {
  ConsumersStatus,
  HooksStatus,
  LeadsStatus,
  RefusalsOfCode,
  RefusedConsumer,
  StatusHistory,
  StatusReport,
  UntrustedProxy,
} from './report.ts';
import { MINUTE_MS, type RequestHistory } from './request-history.ts';
import { conclude, diagnose, type Facts } from './rules.ts';
import { STATUS_TIMEOUTS, type StatusTimeouts } from './timeouts.ts';

export interface StatusSources {
  readonly clock: Clock;
  readonly version: string;
  readonly store: Pick<
    Store,
    'status' | 'countLeadsByMinute' | 'consumers' | 'findToken' | 'findUser' | 'readPage' | 'readSize'
  >;
  /** Of the database, without a password. */
  readonly databaseAddress: string;
  readonly databaseFile?: string | undefined;
  /** Undefined if the database has its own tool for backups. */
  readonly readLastBackup?: (() => Promise<number | undefined>) | undefined;
  readonly sharedLimits?: { readonly isUp: boolean } | undefined;
  readonly requests: RequestHistory;
  readonly refusals: Refusals;
  /** Undefined if webhook subscriptions are switched off. */
  readonly hooks?: HookStore | undefined;
  /** Whether consumers are recorded. */
  readonly isRecording: boolean;
  /** Undefined in a command, which answers no polls. */
  readonly consumerPolls?: ConsumerPolls | undefined;
  readonly untrustedProxy?: (() => UntrustedProxy | null) | undefined;
  /** What another instance knows better. */
  readonly known?: Partial<Facts> | undefined;
  readonly staleAfterMs?: number | undefined;
  /** How the person started this program. */
  readonly invocation: string;
  readonly log: { error(details: object, message: string): void };
  readonly timeouts?: StatusTimeouts | undefined;
}

/** The returned function reads once for all requests that arrive meanwhile. */
export function createStatusReader(sources: StatusSources): () => Promise<StatusReport> {
  const { store, hooks, clock, consumerPolls: polls, staleAfterMs, isRecording } = sources;
  const { slowReadMs } = sources.timeouts ?? STATUS_TIMEOUTS;
  const consumerSources = { consumers: store.consumers, hooks, leads: store };
  const readers: Readers = {
    leads: new LeadHistory(store),
    silence: new LeadSilence(store),
    consumers: isRecording
      ? new ConsumersReader({ sources: consumerSources, clock, polls, staleAfterMs, slowReadMs })
      : undefined,
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
  readonly silence: LeadSilence;
  readonly consumers: ConsumersReader | undefined;
}

async function readStatus(sources: StatusSources, readers: Readers): Promise<StatusReport> {
  const { clock, requests, sharedLimits, version } = sources;
  const [{ stored, leads, silence, bytes, consumers, hooks, refusals }, disk, backup] = await Promise.all([
    readDatabase(sources, readers),
    readDisk(sources),
    readBackup(sources),
  ]);
  const now = clock();
  const facts: Facts = {
    generatedAt: toIso(now),
    version,
    startedAt: toIso(requests.startedAt),
    uptimeSeconds: Math.max(0, Math.floor((now - requests.startedAt) / 1000)),
    waitingRequests: requests.heldPolls,
    database: { ...toDatabase(sources.databaseAddress, stored), bytes },
    leads: silence,
    backup,
    redis: sharedLimits ? { reachable: sharedLimits.isUp } : null,
    disk,
    consumers,
    hooks,
    untrustedProxy: sources.untrustedProxy?.() ?? null,
    refusals,
    errors: sources.refusals.readErrors(),
    history: {
      hour: toHistory(requests, leads, now, 60, MINUTE_MS),
      day: toHistory(requests, leads, now, 96, 15 * MINUTE_MS),
    },
    ...sources.known,
  };
  return toReport(facts, sources);
}

/** The facts with what follows from them. */
function toReport(
  facts: Facts,
  { invocation, staleAfterMs }: Pick<StatusSources, 'invocation' | 'staleAfterMs'>,
): StatusReport {
  const problems = diagnose(facts).map(({ fix, ...problem }) => ({
    ...problem,
    fix: fix.replaceAll('`leadtap ', () => `\`${invocation} `),
  }));
  const conclusion = conclude(facts, problems, staleAfterMs);
  const sentence = conclusion.good ?? conclusion.note;
  const messages = problems.map(({ message }) => message);
  const summary = (sentence === null ? messages : [sentence, ...messages]).join(' ');
  const { generatedAt, ...others } = facts;
  const { healthy, good, note } = conclusion;
  return { generatedAt, healthy, summary, good, note, problems, ...others };
}

function toDatabase(
  address: string,
  stored: StoreStatus | undefined,
): Omit<StatusReport['database'], 'bytes'> {
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
  readonly silence: LeadsStatus | null;
  readonly bytes: number | null;
  readonly consumers: ConsumersStatus | null;
  readonly hooks: HooksStatus | null;
  readonly refusals: StatusReport['refusals'];
}

/** A part that fails or takes too long is missing; the others are there. */
async function readDatabase(
  { store, hooks, refusals, log, timeouts: { readMs } = STATUS_TIMEOUTS }: StatusSources,
  readers: Readers,
): Promise<DatabaseFacts> {
  const attempt = async <T>(what: string, work: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await withTimeout(readMs, work());
    } catch (error) {
      log.error({ err: error }, `the ${what} could not be read for the status page`);
      return undefined;
    }
  };
  const stored = await attempt('state of the database', () => store.status());
  if (!stored) {
    const unknown = { silence: null, bytes: null, consumers: null, hooks: null };
    return { stored, leads: undefined, ...unknown, refusals: refusals.read().map(withoutNames) };
  }
  const { latestStamp, now } = stored;
  const [leads, silence, bytes, consumers, counts, named] = await Promise.all([
    attempt('number of leads', async () => ((await readers.leads.refresh(now)) ? readers.leads : undefined)),
    attempt('usual number of leads', () => readers.silence.read(latestStamp, now)),
    attempt('size of the database', async () => store.readSize?.()),
    attempt('consumers', async () => (readers.consumers ? readers.consumers.read() : NO_CONSUMERS)),
    attempt('webhook subscriptions', async () => hooks && countHooks(hooks, now)),
    attempt('names of tokens', () => readNames(refusals.read(), store)),
  ]);
  return {
    ...{ stored, leads, silence: silence ?? null, bytes: bytes ?? null },
    ...{ consumers: consumers ?? null, hooks: counts ?? null },
    refusals: named ?? refusals.read().map(withoutNames),
  };
}

/** As in the alerts of most services: a receiver that is restarted fails for some minutes. */
const FAILING_LONG_MS = 15 * MINUTE_MS;

async function countHooks(hooks: HookStore, now: number): Promise<HooksStatus> {
  const counts = await hooks.countByState();
  let failingLong = 0;
  if (counts.failing > 0)
    for await (const page of hookPages(hooks, { now }))
      failingLong += page.filter(
        ({ hook }) => hookStateOf(hook) === 'failing' && now - (hook.failingSince ?? now) >= FAILING_LONG_MS,
      ).length;
  return { ...counts, failingLong };
}

type UnnamedRefusals = RefusalsOfCode<ConsumerKey>;

const withoutNames = (refusals: UnnamedRefusals): RefusalsOfCode<RefusedConsumer> => ({
  ...refusals,
  consumers: refusals.consumers.map((consumer) => ({ name: null, ...consumer })),
});

/** Not those of the consumers: a revoked token is none. */
const readNames = (
  refusals: readonly UnnamedRefusals[],
  store: Pick<Store, 'findToken'>,
): Promise<RefusalsOfCode<RefusedConsumer>[]> =>
  Promise.all(
    refusals.map(async (ofCode) => ({
      ...ofCode,
      consumers: await Promise.all(
        ofCode.consumers.map(async (consumer) => {
          const token = consumer.tokenId === null ? undefined : await store.findToken(consumer.tokenId);
          return { name: token?.name ?? null, ...consumer };
        }),
      ),
    })),
  );

async function readBackup({ readLastBackup, log }: StatusSources): Promise<StatusReport['backup']> {
  if (!readLastBackup) return null;
  try {
    return { lastAt: toIsoOrNull(await readLastBackup()) };
  } catch (error) {
    log.error({ err: error }, `the time of the last backup could not be read: ${messageOf(error)}`);
    return { lastAt: null };
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
