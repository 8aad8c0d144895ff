/** `leadtap leads import`. */
import { IMPORT_FIELDS } from '@leadtap/contract';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { v7 } from 'uuid';
import { findCompanyOrOnlyOne } from '../accounts/commands/organisation.ts';
import { type CommandContext, withStore } from '../cli/context.ts';
import { EXIT_CODES, ExitCode, exitCodeOf } from '../cli/exit.ts';
import { databaseFailure, Failure } from '../cli/failure.ts';
import { writeLine } from '../cli/output.ts';
import type { Config } from '../config.ts';
import { createLeadTimes, type DateFormat } from '../leads/lead-times.ts';
import { findStatus } from '../leads/placement.ts';
import { systemSleep } from './batches.ts';
import {
  type CsvFlags,
  collectDateFormat,
  collectMap,
  formatOfFlags,
  loadColumnMap,
  parseEncoding,
  parseSeparator,
  parseTimeZone,
} from './command/csv-options.ts';
import { printDryRun } from './command/dry-run-report.ts';
import { BrokenInputError, openInput, RejectsFile } from './command/files.ts';
import { confirmLargeImport } from './command/large-imports.ts';
import { ImportReport, type ReportOptions } from './command/report.ts';
import { DryRun } from './dry-run.ts';
import { type ImportOutcome, importLeads } from './import-leads.ts';
import { type Encoding, type ReadOptions, UnusableFileError } from './input-line.ts';
import { readLeads } from './read-leads.ts';

const FIELD_NAMES = IMPORT_FIELDS.filter((field) => field.import.historicalOnly !== true)
  .map(({ name, import: rule }) => (rule.required ? `${name} (required)` : name))
  .join(', ');

const HELP = `
${`Fields: ${FIELD_NAMES}.`.replace(/(?<![^ ])(.{1,115})(?: |$)/g, '$1\n').trim()}
A lead whose company already has its id is updated: fields that are left out keep their value, null clears a field.

NDJSON, one object per line, or a JSON array of such objects:
  {"companyId":"soleil","id":"4711","firstName":"Ada","email":"ada@example.com","customFields":{"source":"web"}}
CSV, with a header row. Separators ("," ";" tab) and encodings (UTF-8, UTF-16, Windows-1252) are recognised:
  companyId,id,firstName,email,images,customFields.source
  soleil,4711,Ada,ada@example.com,https://example.com/1.jpg|https://example.com/2.jpg,web

Examples:
  leadtap leads import leads.ndjson
  leadtap leads import leads.ndjson --dry-run              check the file, and see who would get the leads
  leadtap leads import leads.csv --rejects rejected.csv
  export-leads | leadtap leads import - --format csv
  leadtap leads import contacts.csv --company soleil --map "Vorname=firstName" --map "Notiz=customFields.note" \\
    --map "Alt=" --map-file contacts.json                  other columns; the next time, --map-file alone is enough
  leadtap leads import contacts.csv --company soleil --map auto --dry-run
                                                           find the fields by the names of the columns
  leadtap leads import termine.csv --date-format "DD.MM.YYYY HH:mm" --time-zone Europe/Berlin
  leadtap leads import archive.ndjson.gz --historical      old leads: keep createdAt, do not deliver them

Lines with errors are reported and skipped, and the exit code is then 1. docs/getting-leads-in.md has more.`;

export interface ImportFlags extends ReportOptions, CsvFlags {
  readonly company?: string;
  readonly encoding?: Encoding;
  readonly dateFormat?: readonly DateFormat[];
  readonly yes?: true;
  readonly allowErased?: true;
  readonly rejects?: string;
}

function parseWholeNumber(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('Give a whole number of at least 0.');
  return Number(text);
}

export function registerLeadsImport(leads: Command, context: CommandContext): void {
  leads
    .command('import')
    .description('add leads from a file, or update them')
    .argument('<file>', 'NDJSON, JSON or CSV, also compressed (.gz), or - for standard input')
    .addOption(
      new Option('--format <format>', 'default: by the name of the file').choices(['ndjson', 'json', 'csv']),
    )
    .option('--company <id>', 'the company of leads that have no companyId')
    .option('--separator <character>', 'of CSV: "," or ";" or tab; default: recognised', parseSeparator)
    .option(
      '--encoding <name>',
      'utf-8, utf-16le, utf-16be or windows-1252; default: recognised',
      parseEncoding,
    )
    .option(
      '--map <column=field>',
      'the field of a column of CSV; nothing after = ignores it; auto: by the names of the columns',
      collectMap,
    )
    .option('--map-file <file>', 'read the map of the columns from a JSON file; with --map, save it there')
    .option('--date-format <format>', 'of times that are not ISO 8601: DD.MM.YYYY HH:mm', collectDateFormat)
    .option(
      '--time-zone <name>',
      'of times without an offset: Europe/Berlin; default: LEADTAP_TIME_ZONE, or UTC',
      parseTimeZone,
    )
    .option('--historical', 'old leads: keep their createdAt, and do not deliver them as new')
    .option('--allow-erased', 'also add leads that were erased, as new leads')
    .option('--rejects <file>', 'write the lines that were rejected to a new file')
    .option('--skip-lines <n>', 'continue an import: skip the first n lines', parseWholeNumber, 0)
    .addOption(new Option('--dry-run', 'write nothing: count, check, and show who would get the leads'))
    .option('--yes', 'do not ask before more than 1,000 new leads are imported')
    .addOption(
      new Option('--acknowledge', 'print "committed N" each time the lines up to N are saved').conflicts(
        'dryRun',
      ),
    )
    .option(
      '--max-errors-shown <n>',
      'report at most n rejected lines (default: 20; with --dry-run: all)',
      parseWholeNumber,
    )
    .option('--json', 'print the result as JSON')
    .addHelpText('after', HELP)
    .action((file: string, flags: ImportFlags) => importFile(file, flags, context));
}

export async function importFile(
  file: string,
  flags: ImportFlags,
  context: CommandContext,
  sleep = systemSleep,
): Promise<void> {
  const { clock, signal } = context;
  const format = formatOfFlags(flags);
  const columnMap = await loadColumnMap(flags, context);
  const input = await openInput(file, format, context);
  try {
    const rejects =
      flags.rejects === undefined ? undefined : await RejectsFile.create(flags.rejects, context.cwd);
    try {
      const localTimeZone = context.timeZone ?? Intl.DateTimeFormat().resolvedOptions().timeZone;
      const report = new ImportReport(context, { ...flags, localTimeZone }, input, rejects);
      const { skipLines, historical = false, allowErased = false, dateFormat: dateFormats } = flags;
      const { onHeader, onItems, onEmptyRow, onRecognised, onRejected, onCommitted, onPaced } = report;
      await withStore(context, async (store, config) => {
        const { company: companyId, encoding, separator } = flags;
        // UTC is the default: a file with other times gets the hint to name its zone.
        const timeZone = flags.timeZone ?? (config.timeZone === 'UTC' ? undefined : config.timeZone);
        const company = await findCompanyOrOnlyOne(store, companyId);
        const options: ReadOptions = {
          ...{ historical, clock, skipLines, companyId, encoding, separator, localTimeZone },
          timeZone,
          ...{ onHeader, onItems, onEmptyRow, onRecognised, onInvalidTime: report.onInvalidTime },
          times: createLeadTimes({ timeZone, dateFormats }),
          columnMap: columnMap.columns,
          isMapAuto: columnMap.isAuto,
          onMapped: (use, columns) => {
            report.onMapped(use);
            columnMap.add(columns);
          },
          onlyCompanyId: company?.id,
          isStatus: company && ((text) => findStatus(company.statuses, text) !== undefined),
        };
        if (input.share() !== undefined) await confirmLargeImport(file, flags, options, context);
        const dryRun = flags.dryRun && new DryRun(store);
        const outcome = await importLeads({
          lines: readLeads(input, options),
          store: dryRun ?? store,
          historical,
          dryRun: dryRun !== undefined,
          allowErased,
          skippedLines: skipLines,
          newId: dryRun ? undefined : () => v7({ msecs: clock() }),
          elapsedMs: () => performance.now(),
          sleep,
          signal,
          onRejected,
          onCommitted,
          onPaced,
          onWithoutId: report.onWithoutId,
        }).catch(async (error: unknown) => {
          await report.abort();
          throw explainError(error, input.name, report);
        });
        await report.finish(outcome.counts);
        if (report.hasHeader) await columnMap.save();
        const finishedDryRun = outcome.kind === 'finished' ? dryRun : undefined;
        const counts = { ...outcome.counts, skipped: report.emptyRows };
        if (finishedDryRun) await printDryRun({ store, dryRun: finishedDryRun, counts, flags }, context);
        if (!finishedDryRun || !flags.json) await report.printCounts(counts);
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
