import { type FileHandle, open, unlink } from 'node:fs/promises';
import { resolve } from 'node:path';
import { shownField } from '../../leads/import/fields.ts';
import type { ImportCounts, ImportProgress } from '../../leads/import/import-leads.ts';
import type { InputLine, LineProblem } from '../../leads/import/line.ts';
import { isNotJson } from '../../leads/import/ndjson.ts';
import { systemCode } from '../../system-error.ts';
import type { CommandContext } from '../context.ts';
import { Failure } from '../failure.ts';
import { writeLine } from '../output.ts';
import { ProgressBar } from '../progress-bar.ts';
import type { LeadsInput } from './input.ts';

const PACED =
  'A company can get 1,000 new leads per second, so the import pauses from time to time. Old leads are imported faster with --historical.';

const FORMATS =
  'Export the leads as NDJSON, JSON or CSV. For CSV, add --format csv, or give the file a name that ends in .csv.';

export interface ReportOptions {
  readonly json?: true;
  readonly acknowledge?: true;
  readonly maxErrorsShown: number;
  readonly skipLines: number;
}

/** Reports an import: progress and errors on standard error, the result on standard output. */
export class ImportReport {
  readonly #context: CommandContext;
  readonly #options: ReportOptions;
  readonly #input: LeadsInput;
  readonly #rejects: RejectsFile | undefined;
  readonly #bar: ProgressBar;
  /** Every line up to this one is stored or was rejected. */
  #savedLine: number;
  #messages: string[] = [];
  #rejectedLines = 0;
  #linesWithoutJson = 0;
  #isPaced = false;
  /** A JSON array is counted in items. */
  #unit: 'line' | 'item' = 'line';

  constructor(context: CommandContext, options: ReportOptions, input: LeadsInput, rejects?: RejectsFile) {
    this.#context = context;
    this.#options = options;
    this.#input = input;
    this.#rejects = rejects;
    this.#savedLine = options.skipLines;
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
    this.#messages.push(...problems.map((problem) => describeProblem(line, problem)));
  };

  /** Explains only the first pause: an import of a million leads has many. */
  readonly onPaced = async (): Promise<void> => {
    if (this.#isPaced) return;
    this.#isPaced = true;
    await this.#print([PACED]);
  };

  readonly onCommitted = async ({ counts, savedLine }: ImportProgress): Promise<void> => {
    this.#savedLine = savedLine;
    await this.#rejects?.flush();
    if (!this.#isAllWithoutJson(counts)) await this.#printMessages();
    if (this.#options.acknowledge)
      await this.#printResult(`committed ${savedLine}`, { committed: savedLine });
    const share = this.#input.share();
    const count = counts.added + counts.updated + counts.rejected;
    this.#bar.update({ count, rejected: counts.rejected, ...(share !== undefined && { share }) });
  };

  async finish(counts: ImportCounts): Promise<void> {
    const { added, updated, rejected } = counts;
    if (rejected > 1 && this.#isAllWithoutJson(counts))
      await this.#print([`No ${this.#unit} of ${this.#input.name} is JSON. ${FORMATS}`]);
    else {
      await this.#printMessages();
      const hidden = rejected - this.#options.maxErrorsShown;
      const lines = hidden === 1 ? '1 more line was rejected' : `${hidden} more lines were rejected`;
      if (hidden > 0)
        await this.#print([`${lines}. --max-errors-shown shows more, --rejects FILE keeps all of them.`]);
    }
    this.clear();
    const result = `${added} added, ${updated} updated, ${rejected} rejected`;
    await this.#printResult(result, { added, updated, rejected });
  }

  /** What to do after an import that did not finish. */
  howToContinue(): string {
    const saved = this.#savedLine;
    return saved === 0
      ? 'Nothing is saved yet. Run the same command again.'
      : `Everything up to ${this.#unit} ${saved} is saved. To continue, run the same command with --skip-lines ${saved}.`;
  }

  /** Removes the progress bar from the terminal. */
  clear(): void {
    this.#bar.clear();
  }

  /** A file in another format gets one message at its end. A pipe may never end, so its lines are reported at once. */
  #isAllWithoutJson({ added, updated, rejected }: ImportCounts): boolean {
    const isFile = this.#input.share() !== undefined;
    return isFile && added + updated === 0 && rejected === this.#linesWithoutJson;
  }

  async #printMessages(): Promise<void> {
    if (this.#messages.length > 0) await this.#print(this.#messages);
    this.#messages = [];
  }

  async #print(messages: readonly string[]): Promise<void> {
    this.clear();
    await writeLine(this.#context.stderr, messages.join('\n'));
  }

  async #printResult(text: string, json: object): Promise<void> {
    await writeLine(this.#context.stdout, this.#options.json ? JSON.stringify(json) : text);
  }
}

function describeProblem({ number, startLine }: InputLine, { field, issue }: LineProblem): string {
  const place = startLine === undefined ? `line ${number}` : `item ${number} (line ${startLine})`;
  return [place, ...(field === undefined ? [] : [shownField(field)]), issue].join(': ');
}

const LINE_FEED = Buffer.from('\n');

/** The rejected lines, unchanged, so that they can be corrected and imported again. */
export class RejectsFile {
  /** The header row of a CSV file. The rejects need it too. */
  header: Buffer | undefined;
  readonly #path: string;
  readonly #handle: FileHandle;
  #pending: Buffer[] = [];
  #isEmpty = true;

  /** Never overwrites a file: it may contain the rejects of an earlier import. */
  static async create(file: string, cwd: string): Promise<RejectsFile> {
    const path = resolve(cwd, file);
    const handle = await open(path, 'wx').catch((error: unknown) => {
      if (systemCode(error) === 'EEXIST')
        throw new Failure(
          'conflict',
          `${file} already exists`,
          'Name another file for --rejects, or move this one.',
        );
      const fix = 'Check its path and your permission to write there.';
      throw new Failure('bad-input', `the rejects file ${file} cannot be created`, fix).causedBy(error);
    });
    return new RejectsFile(path, handle);
  }

  constructor(path: string, handle: FileHandle) {
    this.#path = path;
    this.#handle = handle;
  }

  add(line: Buffer): void {
    this.#pending.push(line, LINE_FEED);
  }

  async flush(): Promise<void> {
    if (this.#pending.length === 0) return;
    const header = this.#isEmpty && this.header !== undefined ? [this.header, LINE_FEED] : [];
    const lines = Buffer.concat([...header, ...this.#pending]);
    this.#pending = [];
    this.#isEmpty = false;
    await this.#handle.appendFile(lines).catch((error: unknown) => {
      const message = `the rejects file ${this.#path} cannot be written`;
      throw new Failure('unavailable', message, 'Check the free space on its disk.').causedBy(error);
    });
  }

  /** Removes the file if it is empty, so that the next import can create it. */
  async close(): Promise<void> {
    await this.#handle.close();
    if (this.#isEmpty) await unlink(this.#path);
  }
}
