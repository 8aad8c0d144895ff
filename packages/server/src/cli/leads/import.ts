import { v7 } from 'uuid';
import type { Config } from '../../config.ts';
import { HeaderError } from '../../leads/import/csv-columns.ts';
import { FileFormatError } from '../../leads/import/file-start.ts';
import { type ImportOutcome, importLeads } from '../../leads/import/import-leads.ts';
import { type LeadsFormat, readLeads } from '../../leads/import/read-leads.ts';
import { systemSleep } from '../../leads/import/sleep.ts';
import type { CommandContext } from '../context.ts';
import { unavailableFailure } from '../database-failure.ts';
import { EXIT_CODES, ExitCode } from '../exit-code.ts';
import { Failure } from '../failure.ts';
import { writeLine } from '../output.ts';
import type { WithStore } from '../with-store.ts';
import { InputBrokenError, type LeadsInput, openLeadsInput } from './input.ts';
import { RejectsFile } from './rejects.ts';
import { ImportReport, type ReportOptions } from './report.ts';

export interface ImportFlags extends ReportOptions {
  readonly format?: LeadsFormat;
  readonly historical?: true;
  readonly rejects?: string;
}

export async function importFile(
  file: string,
  flags: ImportFlags,
  context: CommandContext,
  withStore: WithStore,
): Promise<void> {
  const input = await openLeadsInput(file, flags.format, context);
  try {
    const rejects =
      flags.rejects === undefined ? undefined : await RejectsFile.create(flags.rejects, context.cwd);
    try {
      const report = new ImportReport(context, flags, input, rejects);
      const { outcome, config } = await run(input, report, flags, context, withStore);
      await conclude(outcome, config, report, context);
    } finally {
      await rejects?.close();
    }
  } finally {
    input.close();
  }
}

async function run(
  input: LeadsInput,
  report: ImportReport,
  flags: ImportFlags,
  context: CommandContext,
  withStore: WithStore,
): Promise<{ readonly outcome: ImportOutcome; readonly config: Config }> {
  const { skipLines, historical = false } = flags;
  const { clock, signal } = context;
  const rules = { historical, clock };
  const { onHeader, onItems, onRejected, onCommitted, onPaced } = report;
  const lines = readLeads(input, rules, { skipLines, onHeader, onItems });
  const newId = () => v7({ msecs: clock() });
  const elapsedMs = () => performance.now();
  const hooks = { newId, elapsedMs, sleep: systemSleep, onRejected, onCommitted, onPaced };
  try {
    const done = await withStore(async (store, config) => ({
      outcome: await importLeads({ lines, store, historical, skippedLines: skipLines, signal, ...hooks }),
      config,
    }));
    await report.finish(done.outcome.counts);
    return done;
  } catch (error) {
    report.clear();
    throw explained(error, input.name, report);
  }
}

function explained(error: unknown, name: string, report: ImportReport): unknown {
  if (error instanceof FileFormatError)
    return new Failure('bad-input', `${name} ${error.message}; nothing was imported`, error.hint);
  if (error instanceof HeaderError)
    return new Failure(
      'bad-input',
      `the header row of ${name} cannot be used; nothing was imported`,
      ...error.problems,
    );
  if (error instanceof InputBrokenError) return new Failure('bad-input', error.message, report.howToGoOn());
  return error;
}

async function conclude(
  outcome: ImportOutcome,
  { database }: Config,
  report: ImportReport,
  { stderr, signal }: CommandContext,
): Promise<void> {
  const { counts } = outcome;
  if (outcome.kind === 'unavailable') throw unavailableFailure(outcome.cause, database, report.howToGoOn());
  if (outcome.kind === 'interrupted') {
    await writeLine(stderr, `Interrupted. ${report.howToGoOn()}`);
    throw signal.reason instanceof ExitCode ? signal.reason : new ExitCode(EXIT_CODES.interrupted);
  }
  if (counts.rejected > 0) throw new ExitCode(EXIT_CODES.failed);
}
