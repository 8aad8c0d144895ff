import { IMPORT_FIELDS } from '@leadtap/contract';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { v7 } from 'uuid';
import type { Config } from '../config.ts';
import { systemSleep } from '../leads/import/batches.ts';
import { type ImportOutcome, importLeads } from '../leads/import/import-leads.ts';
import { UnusableFileError } from '../leads/import/input-line.ts';
import { type LeadsFormat, readLeads } from '../leads/import/read-leads.ts';
import { type CommandContext, withStore } from './context.ts';
import { EXIT_CODES, ExitCode, exitCodeOf } from './exit.ts';
import { databaseFailure, Failure } from './failure.ts';
import { BrokenInputError, openInput, RejectsFile } from './import/files.ts';
import { ImportReport, type ReportOptions } from './import/report.ts';
import { registerErase } from './leads/erase.ts';
import { registerPrune } from './leads/prune.ts';
import { writeLine } from './output.ts';

const FIELD_NAMES = IMPORT_FIELDS.filter((field) => field.import.historicalOnly !== true)
  .map(({ name, import: rule }) => (rule.required ? `${name} (required)` : name))
  .join(', ');

const HELP = `
${`Fields: ${FIELD_NAMES}.`.replace(/(.{1,115})(?: |$)/g, '$1\n').trim()}
A lead whose company already has its id is updated: fields that are left out keep their value, null clears a field.

NDJSON, one object per line, or a JSON array of such objects:
  {"companyId":"soleil","id":"4711","firstName":"Ada","email":"ada@example.com","customFields":{"source":"web"}}
CSV, with a header row:
  companyId,id,firstName,email,images,customFields.source
  soleil,4711,Ada,ada@example.com,https://example.com/1.jpg|https://example.com/2.jpg,web

Examples:
  leadtap leads import leads.ndjson
  leadtap leads import leads.csv --rejects rejected.csv
  export-leads | leadtap leads import - --format csv
  leadtap leads import archive.ndjson.gz --historical      old leads: keep createdAt, do not deliver them

Lines with errors are reported and skipped, and the exit code is then 1. docs/importing-leads.md has more.`;

export interface ImportFlags extends ReportOptions {
  readonly format?: LeadsFormat;
  readonly historical?: true;
  readonly allowErased?: true;
  readonly rejects?: string;
}

function parseWholeNumber(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('Give a whole number of at least 0.');
  return Number(text);
}

export function registerLeads(program: Command, context: CommandContext): void {
  const leads = program.command('leads').description('manage leads');
  leads
    .command('import')
    .description('add leads from a file, or update them')
    .argument('<file>', 'NDJSON, JSON or CSV, also compressed (.gz), or - for standard input')
    .addOption(new Option('--format <format>', 'default: by the name of the file').choices(['ndjson', 'csv']))
    .option('--historical', 'old leads: keep their createdAt, and do not deliver them as new')
    .option('--allow-erased', 'also add leads that were erased, as new leads')
    .option('--rejects <file>', 'write the lines that were rejected to a new file')
    .option('--skip-lines <n>', 'continue an import: skip the first n lines', parseWholeNumber, 0)
    .option('--acknowledge', 'print "committed N" each time the lines up to N are saved')
    .option('--max-errors-shown <n>', 'report at most n rejected lines', parseWholeNumber, 20)
    .option('--json', 'print the result as JSON')
    .addHelpText('after', HELP)
    .action((file: string, flags: ImportFlags) => importFile(file, flags, context));
  registerErase(leads, context);
  registerPrune(leads, context);
}

export async function importFile(
  file: string,
  flags: ImportFlags,
  context: CommandContext,
  sleep = systemSleep,
): Promise<void> {
  const input = await openInput(file, flags.format, context);
  try {
    const rejects =
      flags.rejects === undefined ? undefined : await RejectsFile.create(flags.rejects, context.cwd);
    try {
      const report = new ImportReport(context, flags, input, rejects);
      const { clock, signal } = context;
      const { skipLines, historical = false, allowErased = false } = flags;
      const { onHeader, onItems, onRejected, onCommitted, onPaced } = report;
      await withStore(context, async (store, config) => {
        const outcome = await importLeads({
          lines: readLeads(input, { historical, clock, skipLines, onHeader, onItems }),
          store,
          historical,
          allowErased,
          skippedLines: skipLines,
          newId: () => v7({ msecs: clock() }),
          elapsedMs: () => performance.now(),
          sleep,
          signal,
          onRejected,
          onCommitted,
          onPaced,
        }).catch((error: unknown) => {
          report.clear();
          throw explainError(error, input.name, report);
        });
        await report.finish(outcome.counts);
        await exitUnlessComplete(outcome, config, report, context);
      });
    } finally {
      await rejects?.close();
    }
  } finally {
    input.close();
  }
}

function explainError(error: unknown, name: string, report: ImportReport): unknown {
  if (error instanceof UnusableFileError)
    return new Failure('bad-input', `${name} ${error.message}; nothing was imported`, ...error.fix);
  if (error instanceof BrokenInputError) return new Failure('bad-input', error.message, report.resumeHint());
  return error;
}

async function exitUnlessComplete(
  outcome: ImportOutcome,
  { database }: Config,
  report: ImportReport,
  { stderr, signal }: CommandContext,
): Promise<void> {
  if (outcome.kind === 'unavailable') {
    const { message = '', fix = [] } = databaseFailure(outcome.cause, database) ?? {};
    throw new Failure('unavailable', message, ...fix, report.resumeHint());
  }
  if (outcome.kind === 'interrupted') {
    await writeLine(stderr, `Interrupted. ${report.resumeHint()}`);
    throw exitCodeOf(signal);
  }
  if (outcome.counts.rejected > 0) throw new ExitCode(EXIT_CODES.failed);
}
