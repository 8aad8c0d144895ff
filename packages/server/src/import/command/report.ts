import type { CommandContext } from '../../cli/context.ts';
import { withInvocation } from '../../cli/invocation.ts';
import { writeLine } from '../../cli/output.ts';
import { ProgressBar } from '../../cli/progress-bar.ts';
import { DateFormatGuess } from '../../leads/lead-times.ts';
import { formatIssue, type ValidationIssue } from '../../leads/parse-lead.ts';
import { describeAmbiguity, isDayFirstBy, timeFlagsOf } from '../csv-header.ts';
import { SEPARATOR_NAMES } from '../csv-rows.ts';
import type { ImportCounts, ImportProgress } from '../import-leads.ts';
import type { Encoding, InputLine, Recognised, Separator } from '../input-line.ts';
import { isNotJson } from '../json.ts';
import type { ImportInput, RejectsFile } from './files.ts';

const PACED =
  'A company accepts 1,000 new leads per second, so the import waits from time to time. Past leads are imported faster with --historical.';

const FORMATS =
  'Export the leads as NDJSON, JSON or CSV; for CSV add --format csv, or give it a name that ends in .csv.';

export interface ReportOptions {
  readonly json?: true;
  readonly acknowledge?: true;
  readonly dryRun?: true;
  /** Default: 20; in a dry run, all. */
  readonly maxErrorsShown?: number;
  readonly skipLines: number;
  readonly timeZone?: string | undefined;
  /** Of this machine. */
  readonly localTimeZone?: string | undefined;
  readonly separator?: Separator;
}

const withoutId = (name: string): string =>
  `${name} has leads without an id. If you import it again, they are added again.`;

const MAX_ERRORS_SHOWN = 20;

const ENCODING_NAMES: Readonly<Record<Encoding, string>> = {
  'utf-8': 'UTF-8',
  'utf-16le': 'UTF-16 (little-endian)',
  'utf-16be': 'UTF-16 (big-endian)',
  'windows-1252': 'Windows-1252 (Latin-1)',
};

function describeRecognised(name: string, { encoding, separator, line }: Recognised): string {
  const where = line === undefined ? '' : ` because of line ${line.number}`;
  const read = [
    ...(encoding === undefined ? [] : [`as ${ENCODING_NAMES[encoding]}${where}`]),
    ...(separator === undefined ? [] : [`with ${SEPARATOR_NAMES[separator]}s between the cells`]),
  ];
  const flags = [...(encoding ? ['--encoding'] : []), ...(separator ? ['--separator'] : [])];
  return `${name} is read ${read.join(', ')}. If that is wrong, use ${flags.join(' and ')}.`;
}

function formatLine({ number, startLine }: InputLine): string {
  return startLine === undefined ? `line ${number}` : `item ${number} (line ${startLine})`;
}

/** Progress, rejected lines and the result of an import: messages on standard error, data on standard output. */
export class ImportReport {
  readonly #context: CommandContext;
  readonly #options: ReportOptions;
  readonly #input: ImportInput;
  readonly #rejects: RejectsFile | undefined;
  readonly #bar: ProgressBar;
  #savedLine: number;
  #messages: string[] = [];
  #rejectedLines = 0;
  #linesNotJson = 0;
  #emptyRows = 0;
  #isPaced = false;
  #separator: Separator | undefined;
  readonly #timeGuesses = new Map<string, DateFormatGuess>();
  #hasHeader = false;
  #unit: 'line' | 'item' = 'line';

  constructor(context: CommandContext, options: ReportOptions, input: ImportInput, rejects?: RejectsFile) {
    this.#context = context;
    this.#options = options;
    this.#input = input;
    this.#rejects = rejects;
    this.#savedLine = options.skipLines;
    this.#separator = options.separator;
    this.#bar = new ProgressBar(context.stderr, context.clock, 'lines');
  }

  /** The header row of CSV was accepted. */
  get hasHeader(): boolean {
    return this.#hasHeader;
  }

  readonly onRecognised = (recognised: Recognised): void => {
    this.#separator ??= recognised.separator;
    this.#messages.push(describeRecognised(this.#input.name, recognised));
  };

  readonly onHeader = (raw: Buffer): void => {
    this.#hasHeader = true;
    if (this.#rejects !== undefined) this.#rejects.header = raw;
  };

  /** Rows of CSV that were skipped because they had no value. */
  get emptyRows(): number {
    return this.#emptyRows;
  }

  readonly onEmptyRow = (): void => {
    this.#emptyRows += 1;
  };

  readonly onItems = (): void => {
    this.#unit = 'item';
  };

  /** Fields were found for columns, by `--map auto`. */
  readonly onMapped = (use: string): void => {
    if (use !== '') this.#messages.push(`The columns of ${this.#input.name} are used ${use}`);
  };

  readonly onInvalidTime = (field: string, text: string): void => {
    const guess = this.#timeGuesses.get(field) ?? new DateFormatGuess();
    this.#timeGuesses.set(field, guess);
    guess.add(text);
  };

  /** A pipe may be one of many, and cannot be imported twice by mistake. */
  readonly onWithoutId = async (): Promise<void> => {
    if (this.#input.share() !== undefined) await this.#printMessages(withoutId(this.#input.name));
  };

  readonly onRejected = (line: InputLine, issues: readonly ValidationIssue[]): void => {
    if (line.raw !== undefined) this.#rejects?.add(line.raw);
    this.#rejectedLines += 1;
    if (isNotJson(issues)) this.#linesNotJson += 1;
    if (this.#rejectedLines > this.#maxErrorsShown) return;
    this.#messages.push(...issues.map((issue) => `${formatLine(line)}: ${formatIssue(issue)}`));
  };

  /** Explains the first wait only: an import of a million leads waits often. */
  readonly onPaced = async (): Promise<void> => {
    if (!this.#isPaced) await this.#print(PACED);
    this.#isPaced = true;
  };

  readonly onCommitted = async ({ counts, savedLine }: ImportProgress): Promise<void> => {
    this.#savedLine = savedLine;
    await this.#rejects?.flush();
    if (!this.#isNoLineJson(counts)) await this.#printMessages();
    if (this.#options.acknowledge) {
      const { json } = this.#options;
      const text = json ? JSON.stringify({ committed: savedLine }) : `committed ${savedLine}`;
      await writeLine(this.#context.stdout, text);
    }
    const share = this.#input.share();
    const count = counts.added + counts.updated + counts.rejected;
    this.#bar.update({ count, rejected: counts.rejected, ...(share !== undefined && { share }) });
  };

  /** Prints what is left to report. */
  async finish(counts: ImportCounts): Promise<void> {
    const { rejected } = counts;
    if (rejected > 1 && this.#isNoLineJson(counts))
      await this.#print(`No ${this.#unit} of ${this.#input.name} is JSON. ${FORMATS}`);
    else {
      await this.#printMessages();
      const hidden = rejected - this.#maxErrorsShown;
      const lines = hidden === 1 ? '1 more line was rejected' : `${hidden} more lines were rejected`;
      if (hidden > 0)
        await this.#print(`${lines}. --max-errors-shown shows more, --rejects FILE keeps them all.`);
      await this.#printTimeHint();
    }
    const empty = this.#emptyRows;
    if (empty > 0)
      await this.#print(empty === 1 ? '1 empty row was skipped.' : `${empty} empty rows were skipped.`);
    this.#bar.clear();
  }

  /** The last line. */
  async printCounts({ added, updated, rejected }: ImportCounts): Promise<void> {
    const text = `${added} added, ${updated} updated, ${rejected} rejected`;
    const json = JSON.stringify({ added, updated, rejected, skipped: this.#emptyRows });
    await writeLine(this.#context.stdout, this.#options.json ? json : text);
  }

  /** How to continue an import that has stopped early. */
  resumeHint(): string {
    if (this.#options.dryRun) return 'Nothing was written. Run the same command again.';
    const saved = this.#savedLine;
    return saved === 0
      ? 'Nothing is saved yet. Run the same command again.'
      : `Everything up to ${this.#unit} ${saved} is saved. To continue, run the same command with --skip-lines ${saved}.`;
  }

  /** Removes the progress bar when the import fails, and prints the messages so far. */
  async abort(): Promise<void> {
    this.#bar.clear();
    await this.#printMessages();
  }

  get #maxErrorsShown(): number {
    return (
      this.#options.maxErrorsShown ?? (this.#options.dryRun ? Number.POSITIVE_INFINITY : MAX_ERRORS_SHOWN)
    );
  }

  /** A file in another format gets one message at its end. A pipe may never end, so its lines are reported at once. */
  #isNoLineJson({ added, updated, rejected }: ImportCounts): boolean {
    const isFile = this.#input.share() !== undefined;
    return isFile && added + updated === 0 && rejected === this.#linesNotJson;
  }

  /** Times that were rejected, but are all in one format. */
  async #printTimeHint(): Promise<void> {
    const { timeZone, localTimeZone } = this.#options;
    const isDayFirst = isDayFirstBy(this.#separator);
    const likely = [...this.#timeGuesses]
      .map(([field, guess]) => ({ field, formats: guess.likely(isDayFirst) }))
      .filter(({ formats }) => formats.length > 0);
    if (likely.length === 0) return;
    const formats = [...new Set(likely.flatMap(({ formats: [first] }) => first ?? []))];
    const [, other] = likely.find(({ formats: found }) => found.length > 1)?.formats ?? [];
    const fields = likely.map(({ field }) => field).join(' and ');
    const flags = timeFlagsOf(formats, { timeZone, localTimeZone }).join(' ');
    await this.#print(
      [`To read ${fields}, add ${flags}`, ...describeAmbiguity(other, { timeZone })].join('\n'),
    );
  }

  async #printMessages(...more: string[]): Promise<void> {
    this.#messages.push(...more);
    if (this.#messages.length > 0) await this.#print(this.#messages.join('\n'));
    this.#messages = [];
  }

  async #print(text: string): Promise<void> {
    this.#bar.clear();
    await writeLine(this.#context.stderr, withInvocation(text, this.#context));
  }
}
