/** What the status page says, read from the database, with what only a running instance knows. */
import type { StatusJson } from '@leadtap/contract';
import { type Config, describeDatabase, hookHostsOf } from '../../config.ts';
import { shownName } from '../../connections/report.ts';
import { inSentence } from '../../connections/rules.ts';
import { VERSION } from '../../lib/version.ts';
import { COMMAND_TIMEOUTS, engineOf, openStore } from '../../open-store.ts';
import { InstanceMemory } from '../../status/instance.ts';
import { createStatusReader, STATUS_TIMEOUTS, type StatusTimeouts } from '../../status/read-status.ts';
import type { StatusReport } from '../../status/report.ts';
import { reportSourcesOf } from '../connections.ts';
import type { CommandContext } from '../context.ts';
import type { Finding } from './finding.ts';

/** A command has time. */
const TIMEOUTS: StatusTimeouts = { ...STATUS_TIMEOUTS, readMs: 30_000, slowReadMs: 30_000 };

export async function readReport(
  config: Config,
  { clock, signal }: CommandContext,
  instance: StatusJson | undefined,
): Promise<StatusReport> {
  const { database } = config;
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
      ...{ version: VERSION, store, log, timeouts: TIMEOUTS },
      reports: await reportSourcesOf(store, config, { clock }),
      databaseAddress: describeDatabase(database),
      databaseFile: file,
      readLastBackup: backupTimes?.readLast,
      instance: new InstanceMemory(clock),
      hookHosts: hookHostsOf(config),
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
  alertFailure: instance.alertFailure,
});

const STATES = { error: 'failed', warning: 'warning', unknown: 'unknown', good: 'ok' } as const;

/** The problems of the installation, the sentence, and the red and amber rows. */
export function* toFindings({ problems, connections }: StatusReport, baseUrl: string): Generator<Finding> {
  for (const { kind, level, message, fix, docs } of problems)
    yield { check: kind, state: STATES[level], detail: message, fix: [fix, `See ${baseUrl}${docs}`] };
  if (!connections) return;
  const { level, message } = connections;
  const fix = level === 'good' ? [] : ['`leadtap connections` lists all of them.'];
  yield { check: 'connections', state: STATES[level], detail: message, fix };
  for (const { facts, judgement } of connections.rows) {
    const { level, message, fix } = judgement;
    if (level !== 'error' && level !== 'warning') continue;
    const check = `connection ${inSentence(shownName(facts.connection))}`;
    yield { check, state: STATES[level], detail: message, fix: fix === null ? [] : [fix] };
  }
}
