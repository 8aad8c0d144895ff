import { shownField } from '../../leads/import/fields.ts';
import type { ImportCounts, ImportProgress } from '../../leads/import/import-leads.ts';
import type { InputLine, LineProblem } from '../../leads/import/line.ts';
import { isNotJson } from '../../leads/import/ndjson.ts';
import type { CommandContext } from '../context.ts';
import { writeLine } from '../output.ts';
import { ProgressBar } from '../progress-bar.ts';
import type { LeadsInput } from './input.ts';
import type { RejectsFile } from './rejects.ts';

const PACED =
  'A company takes 1,000 new leads a second, so the import waits now and then. Leads that are not news go in faster with --historical.';

const FORMATS =
  'Export the leads as NDJSON, JSON or CSV; for CSV add --format csv, or give it a name that ends in .csv.';

export interface ReportOptions {
  readonly json?: true;
  readonly acknowledge?: true;
  readonly maxErrorsShown: number;
  readonly skipLines: number;
}

const placeOf = ({ number, startLine }: InputLine): string =>
  startLine === undefined ? `line ${number}` : `item ${number} (line ${startLine})`;

const describe = (line: InputLine, { field, issue }: LineProblem): string =>
  [placeOf(line), ...(field === undefined ? [] : [shownField(field)]), issue].join(': ');

/** Tells a person, and a program that reads standard output, how an import goes. */
export class ImportReport {
  readonly #context: CommandContext;
  readonly #options: ReportOptions;
  readonly #input: LeadsInput;
  readonly #rejects: RejectsFile | undefined;
  readonly #bar: ProgressBar;
  /** Every line up to this one is in the store, or was rejected. */
  savedLine: number;
  #messages: string[] = [];
  #rejectedLines = 0;
  #linesWithoutJson = 0;
  #isPaced = false;
  /** What is counted: the items of a JSON array, or else lines. */
  #unit: 'line' | 'item' = 'line';

  constructor(context: CommandContext, options: ReportOptions, input: LeadsInput, rejects?: RejectsFile) {
    this.#context = context;
    this.#options = options;
    this.#input = input;
    this.#rejects = rejects;
    this.savedLine = options.skipLines;
    this.#bar = new ProgressBar(context.stderr, context.clock, 'lines');
  }

  readonly onHeader = (raw: Buffer): void => {
    if (this.#rejects !== undefined) this.#rejects.header = raw;
  };

  readonly onItems = (): void => {
    this.#unit = 'item';
  };

  readonly onRejected = (line: InputLine, problems: readonly LineProblem[]): void => {
    if (line.raw !== undefined) this.#rejects?.add(line.raw);
    this.#rejectedLines += 1;
    if (isNotJson(problems)) this.#linesWithoutJson += 1;
    if (this.#rejectedLines > this.#options.maxErrorsShown) return;
    this.#messages.push(...problems.map((problem) => describe(line, problem)));
  };

  /** The first time only: an import of a million leads waits often. */
  readonly onPaced = async (): Promise<void> => {
    if (this.#isPaced) return;
    this.#isPaced = true;
    await this.#say([PACED]);
  };

  readonly onCommitted = async ({ counts, savedLine }: ImportProgress): Promise<void> => {
    this.savedLine = savedLine;
    await this.#rejects?.flush();
    if (!this.#isAllWithoutJson(counts)) await this.#sayMessages();
    if (this.#options.acknowledge) await this.#acknowledge(savedLine);
    const share = this.#input.share();
    const count = counts.added + counts.updated + counts.rejected;
    this.#bar.update({ count, rejected: counts.rejected, ...(share !== undefined && { share }) });
  };

  async finish(counts: ImportCounts): Promise<void> {
    if (counts.rejected > 1 && this.#isAllWithoutJson(counts))
      await this.#say([`No ${this.#unit} of ${this.#input.name} is JSON. ${FORMATS}`]);
    else await this.#sayRest(counts);
    this.#bar.clear();
    const { added, updated, rejected } = counts;
    const words = `${added} added, ${updated} updated, ${rejected} rejected`;
    await writeLine(
      this.#context.stdout,
      this.#options.json ? JSON.stringify({ added, updated, rejected }) : words,
    );
  }

  /** A file in another format gets one sentence at its end. A pipe may never end, so its lines are reported as they come. */
  #isAllWithoutJson({ added, updated, rejected }: ImportCounts): boolean {
    const isFile = this.#input.share() !== undefined;
    return isFile && added + updated === 0 && rejected === this.#linesWithoutJson;
  }

  async #sayMessages(): Promise<void> {
    await this.#say(this.#messages);
    this.#messages = [];
  }

  async #sayRest({ rejected }: ImportCounts): Promise<void> {
    await this.#sayMessages();
    const hidden = rejected - this.#options.maxErrorsShown;
    const lines = hidden === 1 ? '1 more line was rejected' : `${hidden} more lines were rejected`;
    await this.#say(
      hidden > 0 ? [`${lines}. --max-errors-shown shows more, --rejects FILE keeps them all.`] : [],
    );
  }

  /** What to do about an import that did not come to its end. */
  howToGoOn(): string {
    const saved = this.savedLine;
    return saved === 0
      ? 'Nothing is saved yet. Run the same command again.'
      : `Everything up to ${this.#unit} ${saved} is saved. To go on, run the same command with --skip-lines ${saved}.`;
  }

  /** Takes the bar off the terminal when the import ends in another way. */
  clear(): void {
    this.#bar.clear();
  }

  async #acknowledge(line: number): Promise<void> {
    const words = this.#options.json ? JSON.stringify({ committed: line }) : `committed ${line}`;
    await writeLine(this.#context.stdout, words);
  }

  async #say(messages: readonly string[]): Promise<void> {
    if (messages.length === 0) return;
    this.#bar.clear();
    await writeLine(this.#context.stderr, messages.join('\n'));
  }
}
