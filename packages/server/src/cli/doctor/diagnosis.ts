/** The diagnosis of the status page, evaluated from the database, with what only a running instance knows. */
import { type Config, describeDatabase, hookHostsOf } from '../../config.ts';
import { VERSION } from '../../lib/version.ts';
import { COMMAND_TIMEOUTS, engineOf, openStore } from '../../open-store.ts';
import { InstanceMemory } from '../../status/instance.ts';
import { createStatusReader, STATUS_TIMEOUTS, type StatusTimeouts } from '../../status/read-status.ts';
import type { StatusJson, StatusReport } from '../../status/report.ts';
import { type CommandContext, hooksOf } from '../context.ts';
import { type Finding, ok } from './finding.ts';

/** A command has time. */
const TIMEOUTS: StatusTimeouts = { ...STATUS_TIMEOUTS, readMs: 30_000, slowReadMs: 30_000 };

/** Commands are given as `leadtap …`: the caller replaces it. */
const invocation = 'leadtap';

export async function readReport(
  config: Config,
  { clock, signal }: CommandContext,
  instance: StatusJson | undefined,
): Promise<StatusReport> {
  const { database, silentAfterMs: staleAfterMs } = config;
  const { file, backupTimes } = engineOf(database);
  const opening = { clock, signal, timeouts: COMMAND_TIMEOUTS };
  const store = await openStore({ ...config, autoMigrate: false }, opening);
  let cause: unknown;
  const log = {
    error({ err }: { err?: unknown }) {
      cause ??= err;
    },
  };
  try {
    const report = await createStatusReader({
      ...{ clock, version: VERSION, store, invocation, staleAfterMs, log, timeouts: TIMEOUTS },
      databaseAddress: describeDatabase(database),
      databaseFile: file,
      readLastBackup: backupTimes?.readLast,
      instance: new InstanceMemory(clock),
      hooks: await hooksOf(store, config),
      hookHosts: hookHostsOf(config),
      isRecording: config.consumers,
      hasIntake: config.intake,
      known: instance && factsOf(instance),
    })();
    if (!report.database.reachable && instance?.database.reachable !== false) throw cause;
    return report;
  } finally {
    await store.close();
  }
}

/** What only the instance knows. */
const factsOf = (instance: StatusJson) => ({
  ...(!instance.database.reachable && { database: instance.database }),
  startedAt: instance.startedAt,
  redis: instance.redis,
  refusals: instance.refusals,
  errors: instance.errors,
  untrustedProxy: instance.untrustedProxy,
});

const STATES = { error: 'failed', warning: 'warning', unknown: 'unknown' } as const;

export function* toFindings({ problems, good, note }: StatusReport, baseUrl: string): Generator<Finding> {
  const sentence = good ?? note;
  if (sentence !== null) yield ok('delivery', sentence);
  for (const { kind, severity, message, fix, docs } of problems)
    yield { check: kind, state: STATES[severity], detail: message, fix: [fix, `See ${baseUrl}${docs}`] };
}
