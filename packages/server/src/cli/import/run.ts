import type { Config } from '../../config.ts';
import { HeaderError } from '../../leads/import/csv-columns.ts';
import { FileFormatError } from '../../leads/import/file-start.ts';
import { type ImportOutcome, importLeads } from '../../leads/import/import-leads.ts';
import { type LeadsFormat, readLeads } from '../../leads/import/read-leads.ts';
import { systemSleep } from '../../leads/import/sleep.ts';
import { uuidV7 } from '../../uuid.ts';
import { type CommandContext, withStore } from '../context.ts';
import { explainDatabaseError } from '../database-hints.ts';
import { EXIT_CODES, ExitCode, exitCodeOf } from '../exit.ts';
import { Failure } from '../failure.ts';
import { writeLine } from '../output.ts';
import { InputBrokenError, type LeadsInput, openLeadsInput } from './input.ts';
import { ImportReport, RejectsFile, type ReportOptions } from './report.ts';

export interface ImportFlags extends ReportOptions {
  readonly format?: LeadsFormat;
  readonly historical?: true;
  readonly rejects?: string;
}

export async function importFile(file: string, flags: ImportFlags, context: CommandContext): Promise<void> {
  const input = await openLeadsInput(file, flags.format, context);
  try {
    const rejects =
      flags.rejects === undefined ? undefined : await RejectsFile.create(flags.rejects, context.cwd);
    try {
      const report = new ImportReport(context, flags, input, rejects);
      const { outcome, config } = await run(input, report, flags, context);
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
  { skipLines, historical: isHistorical }: ImportFlags,
  context: CommandContext,
): Promise<{ readonly outcome: ImportOutcome; readonly config: Config }> {
  const { clock, signal } = context;
  const historical = isHistorical === true;
  const { onHeader, onItems, onRejected, onCommitted, onPaced } = report;
  const lines = readLeads(input, { historical, clock }, { skipLines, onHeader, onItems });
  const newId = () => uuidV7(clock());
  const elapsedMs = () => performance.now();
  const hooks = { newId, elapsedMs, sleep: systemSleep, onRejected, onCommitted, onPaced };
  try {
    const done = await withStore(context, async (store, config) => ({
      outcome: await importLeads({ lines, store, historical, skippedLines: skipLines, signal, ...hooks }),
      config,
    }));
    await report.finish(done.outcome.counts);
    return done;
  } catch (error) {
    report.clear();
    throw explainInputError(error, input.name, report);
  }
}

function explainInputError(error: unknown, name: string, report: ImportReport): unknown {
  if (error instanceof FileFormatError)
    return new Failure('bad-input', `${name} ${error.message}; nothing was imported`, error.hint);
  if (error instanceof HeaderError) {
    const message = `the header row of ${name} cannot be used; nothing was imported`;
    return new Failure('bad-input', message, ...error.problems);
  }
  if (error instanceof InputBrokenError)
    return new Failure('bad-input', error.message, report.howToContinue());
  return error;
}

async function conclude(
  outcome: ImportOutcome,
  { database }: Config,
  report: ImportReport,
  { stderr, signal }: CommandContext,
): Promise<void> {
  if (outcome.kind === 'unavailable') {
    const { message = '', fix = [] } = explainDatabaseError(outcome.cause, database) ?? {};
    throw new Failure('unavailable', message, ...fix, report.howToContinue());
  }
  if (outcome.kind === 'interrupted') {
    await writeLine(stderr, `Interrupted. ${report.howToContinue()}`);
    throw exitCodeOf(signal);
  }
  if (outcome.counts.rejected > 0) throw new ExitCode(EXIT_CODES.failed);
}
