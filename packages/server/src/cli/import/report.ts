/** What an import and a dry run print: messages on standard error, data on standard output. */
import { PROFESSIONAL } from '../../accounts/records.ts';
import type { ImportCounts, ImportObserver, ImportProgress } from '../../import/import-leads.ts';
import type { FileFacts, InputLine } from '../../import/input-line.ts';
import { describeTimes } from '../../import/time-hints.ts';
import { formatIssue, type ValidationIssue } from '../../leads/parse-lead.ts';
import { plural } from '../../lib/formats.ts';
import type { CommandContext } from '../context.ts';
import { writeHint, writeLine } from '../output.ts';
import { ProgressBar } from '../progress-bar.ts';
import { type Delivery, printDeliveries } from './deliveries.ts';
import type { ImportInput, RejectsFile } from './files.ts';

const PACED =
  'A company accepts 1,000 new leads per second, so the import waits from time to time. Past leads are imported faster with --historical.';

export interface ReportOptions {
  readonly json?: true;
  readonly acknowledge?: true;
  readonly dryRun?: true;
  readonly historical?: true;
  readonly skipLines: number;
  readonly timeZone?: string | undefined;
  /** Of this machine. */
  readonly localTimeZone?: string | undefined;
}

const MAX_ERRORS_SHOWN = 20;

export class ImportReport implements ImportObserver {
  readonly #context: CommandContext;
  readonly #options: ReportOptions;
  readonly #input: ImportInput;
  readonly #facts: FileFacts;
  readonly #rejects: RejectsFile | undefined;
  readonly #bar: ProgressBar;
  readonly #maxErrorsShown: number;
  #savedLine: number;
  #messages: string[] = [];
  #rejectedLines = 0;
  #isPaced = false;

  constructor(
    context: CommandContext,
    options: ReportOptions,
    input: ImportInput,
    facts: FileFacts,
    rejects?: RejectsFile,
  ) {
    this.#context = context;
    this.#options = options;
    this.#input = input;
    this.#facts = facts;
    this.#rejects = rejects;
    this.#maxErrorsShown = options.dryRun ? Number.POSITIVE_INFINITY : MAX_ERRORS_SHOWN;
    this.#savedLine = options.skipLines;
    this.#bar = new ProgressBar(context.stderr, context.clock, 'lines');
  }

  /** A pipe may be one of many, and cannot be imported twice by mistake. */
  async onWithoutId(): Promise<void> {
    if (this.#input.share() === undefined) return;
    await this.#printMessages();
    await this.#print(
      `${this.#facts.name} has leads without an id. If you import it again, they are added again.`,
    );
  }

  onRejected({ number, raw }: InputLine, issues: readonly ValidationIssue[]): void {
    if (raw !== undefined) this.#rejects?.add(raw);
    this.#rejectedLines += 1;
    if (this.#rejectedLines > this.#maxErrorsShown) return;
    this.#messages.push(...issues.map((issue) => `${this.#facts.unit} ${number}: ${formatIssue(issue)}`));
  }

  /** Explains the first wait only: an import of a million leads waits often. */
  async onPaced(): Promise<void> {
    if (!this.#isPaced) await this.#print(PACED);
    this.#isPaced = true;
  }

  async onCommitted({ counts, savedLine }: ImportProgress): Promise<void> {
    this.#savedLine = savedLine;
    await this.#rejects?.flush(this.#facts.header);
    await this.#printMessages();
    if (this.#options.acknowledge) {
      const { json } = this.#options;
      const text = json ? JSON.stringify({ committed: savedLine }) : `committed ${savedLine}`;
      await writeLine(this.#context.stdout, text);
    }
    const share = this.#input.share();
    const count = counts.added + counts.updated + counts.rejected;
    this.#bar.update({ count, rejected: counts.rejected, ...(share !== undefined && { share }) });
  }

  /** Prints what is left to say about the lines. */
  async finish(): Promise<void> {
    await this.#printMessages();
    const hidden = this.#rejectedLines - this.#maxErrorsShown;
    const lines = plural(hidden, 'more line was', 'more lines were');
    if (hidden > 0)
      await this.#print(`${lines} rejected. --dry-run shows all errors, --rejects FILE keeps the lines.`);
    await this.#printTimeHint();
    const { emptyRows } = this.#facts;
    if (emptyRows > 0) await this.#print(`${plural(emptyRows, 'empty row was', 'empty rows were')} skipped.`);
    this.#bar.clear();
  }

  /** The result. A dry run that came to its end has `deliveries`. Its last line is that of the import. */
  async printResult(counts: ImportCounts, deliveries?: readonly Delivery[]): Promise<void> {
    const { stdout, stderr } = this.#context;
    const { added, updated, rejected } = counts;
    if (this.#options.json) {
      const dryRun = deliveries && { dryRun: true };
      const result = { ...dryRun, added, updated, rejected, skipped: this.#facts.emptyRows, deliveries };
      return writeLine(stdout, JSON.stringify(result));
    }
    if (deliveries) {
      await printDeliveries(deliveries, stdout);
      await writeLine(stderr, `Dry run: nothing was written.${this.#explain(deliveries)}`);
    }
    await writeLine(stdout, `${added} added, ${updated} updated, ${rejected} rejected`);
  }

  #explain(deliveries: readonly Delivery[]): string {
    if (this.#options.historical) return ' Historical leads are not delivered as new.';
    if (deliveries.length === 0) return ' No lead is new, so none is delivered.';
    const silent = deliveries.filter(({ audiences }) => audiences.length === 0);
    if (silent.length === 0) return '';
    const ids = silent.map(({ companyId }) => companyId).join(', ');
    return ` No user with the plan ${PROFESSIONAL} would get the leads of ${ids}.`;
  }

  /** How to continue an import that has stopped early. */
  resumeHint(): string {
    if (this.#options.dryRun) return 'Nothing was written. Run the same command again.';
    const saved = this.#savedLine;
    return saved === 0
      ? 'Nothing is saved yet. Run the same command again.'
      : `Everything up to ${this.#facts.unit} ${saved} is saved. To continue, run the same command with --skip-lines ${saved}.`;
  }

  /** Removes the progress bar when the import fails, and prints the messages so far. */
  async abort(): Promise<void> {
    this.#bar.clear();
    await this.#printMessages();
  }

  /** Times that were rejected, but are all in one format. */
  async #printTimeHint(): Promise<void> {
    const columns = [...this.#facts.timeGuesses]
      .map(([name, formats]) => ({ name, formats }))
      .filter(({ formats }) => formats.isPossible);
    const { flags, hints } = describeTimes(columns, { ...this.#options, facts: this.#facts });
    const fields = columns.map(({ name }) => name).join(' and ');
    if (flags.length > 0)
      await this.#print([`To read ${fields}, add ${flags.join(' ')}`, ...hints].join('\n'));
  }

  async #printMessages(): Promise<void> {
    const messages = [...this.#facts.notes, ...this.#messages];
    this.#facts.notes = [];
    this.#messages = [];
    if (messages.length > 0) await this.#print(messages.join('\n'));
  }

  async #print(text: string): Promise<void> {
    this.#bar.clear();
    await writeHint(this.#context, text);
  }
}
