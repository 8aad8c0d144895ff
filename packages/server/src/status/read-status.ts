/** Collects the facts about the installation, and judges them by the rules: what `/status.json` contains and `/status` shows. */
import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { createEmptyCheck } from '../accounts/no-company.ts';
import { type HookStore, hookPages, listedStateOf } from '../hooks/store.ts';
import { type Clock, toIso, toIsoOrNull } from '../lib/clock.ts';
import { withTimeout } from '../lib/timeout.ts';
import type { Store } from '../store/store.ts';
import type { HookSources } from './consumer-hooks.ts';
import { FAILING_LONG_S } from './consumer-problems.ts';
import { ConsumersReader, NO_CONSUMERS } from './consumers.ts';
import type { InstanceMemory } from './instance.ts';
import { CoverageReader, type CoverageReaderOptions } from './lead-coverage.ts';
import { LeadSilence } from './lead-silence.ts';
import type { ConsumersStatus, Facts, HooksStatus, Refusal, StatusReport } from './report.ts';
import { diagnose } from './rules.ts';
import { readSenders } from './senders.ts';

/** For what is read from the database for the operator: the status page, and the metrics about consumers. */
export interface StatusTimeouts {
  /** Each part of the page takes at most this long, so that the page appears while the database hangs. */
  readonly readMs: number;
  /** Reading 100,000 consumers takes a second or more. After a read that took longer than this, the next one is made later. */
  readonly slowReadMs: number;
  /** A scrape that takes longer gets the result before: Prometheus gives up after 10 seconds, and then has no metric at all. */
  readonly scrapeMs: number;
}

export const STATUS_TIMEOUTS: StatusTimeouts = { readMs: 3000, slowReadMs: 250, scrapeMs: 2000 };

export interface StatusSources extends HookSources {
  readonly clock: Clock;
  readonly version: string;
  readonly store: Pick<
    Store,
    'status' | 'countLeadsByMinute' | 'consumers' | 'senders' | 'refusedLeads' | 'findToken' | 'readSize'
  > &
    CoverageReaderOptions['store'];
  /** Of the database, without a password. */
  readonly databaseAddress: string;
  readonly databaseFile?: string | undefined;
  /** Undefined if the database has its own tool for backups. */
  readonly readLastBackup?: (() => Promise<number | undefined>) | undefined;
  readonly sharedLimits?: { readonly isUp: boolean } | undefined;
  readonly instance: InstanceMemory;
  /** Whether consumers are recorded. */
  readonly isRecording: boolean;
  /** Not `LEADTAP_INTAKE=off`. */
  readonly hasIntake: boolean;
  /** Writes what is recorded of the senders of a user. */
  readonly flushSenders?: ((userId: string) => Promise<void>) | undefined;
  /** What the running instance has in memory, for a command. */
  readonly known?: Partial<Facts> | undefined;
  readonly staleAfterMs?: number | undefined;
  /** How the person started this program. */
  readonly invocation: string;
  readonly log: { error(details: object, message: string): void };
  readonly timeouts?: StatusTimeouts | undefined;
}

/** The returned function reads once for all requests that arrive meanwhile. */
export function createStatusReader(sources: StatusSources): () => Promise<StatusReport> {
  const readFacts = createFactsReader(sources);
  let running: Promise<StatusReport> | undefined;
  return () => {
    running ??= readFacts()
      .then((facts) => toReport(facts, sources))
      .finally(() => {
        running = undefined;
      });
    return running;
  };
}

function toReport(facts: Facts, { invocation, staleAfterMs }: StatusSources): StatusReport {
  const { healthy, good, note, problems: found } = diagnose(facts, staleAfterMs);
  const withInvocation = (fix: string): string => fix.replaceAll('`leadtap ', () => `\`${invocation} `);
  const problems = found.map((problem) => ({
    ...problem,
    fix: withInvocation(problem.fix),
    subjects: problem.subjects?.map((subject) => ({ ...subject, fix: withInvocation(subject.fix) })),
  }));
  const sentences = [good ?? note, ...problems.map(({ message }) => message)];
  const summary = sentences.filter((sentence) => sentence !== null).join(' ');
  const { generatedAt, ...others } = facts;
  return { generatedAt, healthy, summary, good, note, problems, ...others };
}

/** A part that fails or takes too long is missing; the others are there. */
function createFactsReader(sources: StatusSources): () => Promise<Facts> {
  const { clock, store, hooks, hookHosts, log, instance, staleAfterMs } = sources;
  const { readMs, slowReadMs } = sources.timeouts ?? STATUS_TIMEOUTS;
  const silence = new LeadSilence(store);
  const checkEmpty = createEmptyCheck(store);
  const consumerSources = { consumers: store.consumers, hooks, hookHosts };
  const consumersReader = new ConsumersReader({ sources: consumerSources, clock, staleAfterMs, slowReadMs });
  const coverageReader = new CoverageReader({ store, clock, slowReadMs });

  const attempt = async <T>(what: string, work: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await withTimeout(readMs, work());
    } catch (error) {
      log.error({ err: error }, `the ${what} could not be read for the status page`);
      return undefined;
    }
  };

  async function readConsumers(): Promise<ConsumersStatus> {
    if (!sources.isRecording) return NO_CONSUMERS;
    const { status, viewers } = await consumersReader.read();
    const coverage = await attempt('leads of the last 30 days', () => coverageReader.read(viewers));
    return { ...status, coverage: coverage ?? null };
  }

  /** Those of users who do not exist are known by what was refused of them: it is written first. */
  async function readRecordedSenders(refusals: readonly Refusal[]) {
    const consumers = refusals.flatMap((one) => (one.code === 'user-not-found' ? one.consumers : []));
    for (const { sendsLeads, userId } of consumers) if (sendsLeads) await sources.flushSenders?.(userId);
    return readSenders(store, clock, { isIntakeOff: !sources.hasIntake });
  }

  /** What needs the database. */
  async function readDatabase(refusals: readonly Refusal[]) {
    const stored = await attempt('state of the database', () => store.status());
    if (!stored) return undefined;
    const { latestStamp, now } = stored;
    const [isEmpty, isSilent, bytes, consumers, senders, counts, named] = await Promise.all([
      checkEmpty(),
      attempt('usual number of leads', () => silence.isSilent(latestStamp, now)),
      attempt('size of the database', () => store.readSize()),
      attempt('consumers', readConsumers),
      attempt('senders', () => readRecordedSenders(refusals)),
      attempt('webhook subscriptions', () => countHooks(hooks, now)),
      attempt('names of tokens', () => addNames(refusals, store)),
    ]);
    return { ...stored, isEmpty, isSilent, bytes, consumers, senders, counts, named };
  }

  return async () => {
    const { refusals, ...remembered } = instance.read();
    const [read, disk, lastBackup] = await Promise.all([
      readDatabase(refusals),
      attempt('free space', () => readDisk(sources.databaseFile)),
      attempt('time of the last backup', async () => sources.readLastBackup?.()),
    ]);
    const latestStamp = read?.latestStamp ?? 0;
    return {
      generatedAt: toIso(clock()),
      version: sources.version,
      ...remembered,
      database: {
        address: sources.databaseAddress,
        reachable: read !== undefined,
        isEmpty: read?.isEmpty ?? false,
        engine: read?.engine ?? null,
        stampsAheadSeconds: read ? Math.max(0, latestStamp - read.now) / 1000 : null,
        bytes: read?.bytes ?? null,
      },
      leads: {
        latestAt: latestStamp > 0 ? toIso(latestStamp) : null,
        isSilent: read?.isSilent ?? false,
      },
      backup: sources.readLastBackup ? { lastAt: toIsoOrNull(lastBackup) } : null,
      redis: sources.sharedLimits ? { reachable: sources.sharedLimits.isUp } : null,
      disk: disk ?? null,
      consumers: read?.consumers ?? null,
      senders: read?.senders ?? null,
      hooks: read?.counts ?? null,
      hookHosts,
      refusals: read?.named ?? refusals,
      ...sources.known,
    };
  };
}

async function countHooks(hooks: HookStore, now: number): Promise<HooksStatus> {
  const counts = await hooks.countByState();
  let failingLong = 0;
  if (counts.failing > 0)
    for await (const page of hookPages(hooks, { now }))
      failingLong += page.filter(
        (listed) =>
          listedStateOf(listed, now) === 'failing' &&
          now - (listed.hook.failingSince ?? now) >= FAILING_LONG_S * 1000,
      ).length;
  return { ...counts, failingLong };
}

/** The names of the tokens. Not those of the consumers: a revoked token is none. */
async function addNames(refusals: readonly Refusal[], store: Pick<Store, 'findToken'>): Promise<Refusal[]> {
  const nameOf = async (tokenId: string | null) => tokenId !== null && (await store.findToken(tokenId))?.name;
  const named = refusals.map(async (refusal) => ({
    ...refusal,
    consumers: await Promise.all(
      refusal.consumers.map(async (one) => ({ ...one, name: (await nameOf(one.tokenId)) || null })),
    ),
  }));
  return Promise.all(named);
}

async function readDisk(databaseFile: string | undefined): Promise<Facts['disk']> {
  if (databaseFile === undefined) return null;
  const { bavail, blocks, bsize } = await statfs(dirname(databaseFile));
  return { freeBytes: bavail * bsize, totalBytes: blocks * bsize };
}
