/** `leadtap leads import`. */
import { IMPORT_FIELDS } from '@leadtap/contract';
import type { Command } from 'commander';
import type { Config } from '../../config.ts';
import { type Sleep, systemSleep } from '../../import/batches.ts';
import { DryRun } from '../../import/dry-run.ts';
import { type ImportOutcome, importLeads } from '../../import/import-leads.ts';
import { type Encoding, FileFacts, type ReadOptions, UnusableFileError } from '../../import/input-line.ts';
import { readLeads } from '../../import/read-leads.ts';
import { createLeadTimes, type DateFormat } from '../../leads/lead-times.ts';
import { findStatus } from '../../leads/placement.ts';
import type { Store } from '../../store/store.ts';
import { createUuid } from '../../store/uuids.ts';
import { findCompanyOrOnlyOne } from '../accounts/organisation.ts';
import { addCommand, parseNumber, parseTimeZone } from '../command.ts';
import { isInteractive } from '../confirm.ts';
import { type CommandContext, withStore } from '../context.ts';
import { EXIT_CODES, ExitCode, exitCodeOf, Failure } from '../exit.ts';
import { databaseFailure } from '../failure.ts';
import { writeLine } from '../output.ts';
import {
  type CsvFlags,
  collectDateFormat,
  collectMap,
  formatOfFlags,
  type GivenColumnMap,
  parseEncoding,
  parseSeparator,
  readColumnMap,
} from './csv-options.ts';
import { findDeliveries } from './deliveries.ts';
import { BrokenInputError, type ImportInput, openInput, RejectsFile } from './files.ts';
import { confirmLargeImport } from './large-imports.ts';
import { ImportReport, type ReportOptions } from './report.ts';

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
    --map "Alt="                                           other columns, and one that is ignored
  leadtap leads import contacts.csv --company soleil --map auto --dry-run
                                                           find the fields by the names of the columns
  leadtap leads import termine.csv --date-format "DD.MM.YYYY HH:mm" --time-zone Europe/Berlin
  leadtap leads import archive.ndjson.gz --historical      old leads: keep createdAt, do not deliver them

Lines with errors are reported and skipped, and the exit code is then 1.`;

export interface ImportFlags extends Omit<ReportOptions, 'localTimeZone'>, CsvFlags {
  readonly company?: string;
  readonly encoding?: Encoding;
  readonly dateFormat?: readonly DateFormat[];
  readonly yes?: true;
  readonly allowErased?: true;
  readonly rejects?: string;
}

export function registerLeadsImport(leads: Command, context: CommandContext): void {
  addCommand(leads, context, {
    name: 'import',
    description: 'add leads from a file, or update them',
    arguments: { '<file>': 'NDJSON, JSON or CSV, also compressed (.gz), or - for standard input' },
    options: {
      '--format <format>': { text: 'default: by the name of the file', choices: ['ndjson', 'json', 'csv'] },
      '--company <id>': 'the company of leads that have no companyId',
      '--separator <character>': {
        text: 'of CSV: "," or ";" or tab; default: recognised',
        parse: parseSeparator,
      },
      '--encoding <name>': {
        text: 'utf-8, utf-16le, utf-16be or windows-1252; default: recognised',
        parse: parseEncoding,
      },
      '--map <column=field>': {
        text: 'the field of a column of CSV; nothing after = ignores it; auto: by the names of the columns',
        parse: collectMap,
      },
      '--date-format <format>': {
        text: 'of times that are not ISO 8601: DD.MM.YYYY HH:mm',
        parse: collectDateFormat,
      },
      '--time-zone <name>': {
        text: 'of times without an offset: Europe/Berlin; default: LEADTAP_TIME_ZONE, or UTC',
        parse: parseTimeZone,
      },
      '--historical': 'old leads: keep their createdAt, and do not deliver them as new',
      '--allow-erased': 'also add leads that were erased, as new leads',
      '--rejects <file>': 'write the lines that were rejected to a new file',
      '--skip-lines <n>': {
        text: 'continue an import: skip the first n lines',
        parse: parseNumber(0),
        default: [0, '0'],
      },
      '--dry-run': 'write nothing: count, check, and show who would get the leads',
      '--yes': 'do not ask before more than 1,000 new leads are imported',
      '--acknowledge': {
        text: 'print "committed N" each time the lines up to N are saved',
        conflicts: 'dryRun',
      },
      '--json': 'print the result as JSON',
    },
    help: HELP,
    run: (_context, flags: ImportFlags, file: string) => importFile(file, flags, context),
  });
}

export async function importFile(
  file: string,
  flags: ImportFlags,
  context: CommandContext,
  sleep = systemSleep,
): Promise<void> {
  const columnMap = readColumnMap(flags, context);
  const input = await openInput(file, formatOfFlags(flags), context);
  try {
    const rejects =
      flags.rejects === undefined ? undefined : await RejectsFile.create(flags.rejects, context.cwd);
    try {
      await withStore(context, (store, config) =>
        importInto(store, config, { file, flags, columnMap, input, rejects, context, sleep }),
      );
    } finally {
      await rejects?.close();
    }
  } finally {
    input.close();
  }
}

interface OpenImport {
  readonly file: string;
  readonly flags: ImportFlags;
  readonly columnMap: GivenColumnMap;
  readonly input: ImportInput;
  readonly rejects: RejectsFile | undefined;
  readonly context: CommandContext;
  readonly sleep: Sleep;
}

async function importInto(store: Store, config: Config, open: OpenImport): Promise<void> {
  const { file, flags, columnMap, input, rejects, context, sleep } = open;
  const { clock, signal } = context;
  const {
    skipLines,
    historical = false,
    allowErased = false,
    company: companyId,
    encoding,
    separator,
  } = flags;
  const facts = new FileFacts(input.name);
  const localTimeZone = context.timeZone ?? Intl.DateTimeFormat().resolvedOptions().timeZone;
  // UTC is the default: a file with other times gets the hint to name its zone.
  const timeZone = flags.timeZone ?? (config.timeZone === 'UTC' ? undefined : config.timeZone);
  const report = new ImportReport(context, { ...flags, timeZone, localTimeZone }, input, facts, rejects);
  const company = await findCompanyOrOnlyOne(store, companyId);
  const options: ReadOptions = {
    ...{ facts, historical, clock, skipLines, companyId, encoding, separator, timeZone, localTimeZone },
    times: createLeadTimes({ timeZone, dateFormats: flags.dateFormat }),
    columnMap: columnMap.columns,
    isMapAuto: columnMap.isAuto,
    onlyCompanyId: company?.id,
    isStatus: company && ((text) => findStatus(company.statuses, text) !== undefined),
  };
  const lines = readLeads(input, options);
  // Programs and pipes are not asked.
  const isAsked = input.share() !== undefined && isInteractive(context);
  const isSilent = historical || flags.dryRun || flags.yes;
  const dryRun = flags.dryRun && new DryRun(store);
  const outcome = await importLeads({
    lines: isAsked && !isSilent ? confirmLargeImport(lines, file, context) : lines,
    store: dryRun ?? store,
    historical,
    dryRun: dryRun !== undefined,
    allowErased,
    skippedLines: skipLines,
    newId: dryRun ? undefined : () => createUuid(clock()),
    elapsedMs: () => performance.now(),
    sleep,
    signal,
    observer: report,
  }).catch(async (error: unknown) => {
    await report.abort();
    throw explainError(error, input.name, report);
  });
  await report.finish();
  const isDryRunComplete = dryRun && outcome.kind === 'finished';
  const newLeads = historical ? [] : (dryRun?.newLeads ?? []);
  const deliveries = isDryRunComplete ? await findDeliveries(store, newLeads, signal) : undefined;
  await report.printResult(outcome.counts, deliveries);
  await exitUnlessComplete(outcome, config, report, context);
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
