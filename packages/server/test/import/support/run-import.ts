import { type ImportOutcome, type ImportProgress, importLeads } from '../../../src/import/import-leads.ts';
import type { InputLine, ParsedLine } from '../../../src/import/input-line.ts';
import type { ValidationIssue } from '../../../src/leads/parse-lead.ts';
import type { LeadInput } from '../../../src/leads/record.ts';
import type { LeadResult, WriteOptions, WriteOutcome } from '../../../src/leads/store.ts';
import { StoreUnavailableError } from '../../../src/sql/errors.ts';

/** A store in memory. The company "nowhere" does not exist, and an id that comes again is an update. */
export class MemoryStore {
  readonly batches: (readonly LeadInput[])[] = [];
  readonly options: (WriteOptions | undefined)[] = [];
  /** How the next calls fail: before they write, or after it, if the answer is lost. */
  readonly failures: ('unavailable' | 'answer-lost' | Error)[] = [];
  readonly #ids = new Set<string>();

  get size(): number {
    return this.#ids.size;
  }

  async writeLeads(leads: readonly LeadInput[], options?: WriteOptions): Promise<WriteOutcome> {
    const failure = this.failures.shift();
    if (failure === 'unavailable') throw new StoreUnavailableError('unreachable');
    if (failure instanceof Error) throw failure;
    this.batches.push(leads);
    this.options.push(options);
    const results = leads.map((lead) => this.#write(lead));
    if (failure === 'answer-lost') throw new StoreUnavailableError('cut');
    return { kind: 'written', results };
  }

  findPlacementProblems = async (leads: readonly LeadInput[]) => leads.map(() => []);

  #write({ companyId, id = `made-by-the-store-${this.size}` }: LeadInput): LeadResult {
    if (companyId === 'nowhere')
      return { kind: 'rejected', problem: { field: 'companyId', reason: 'unknown', value: companyId } };
    const kind = this.#ids.has(id) ? 'updated' : 'added';
    this.#ids.add(id);
    return { kind, id, createdAt: 0 };
  }
}

const lineOf = (number: number, parsed: ParsedLine['parsed']): ParsedLine => ({
  number,
  lastNumber: number,
  raw: Buffer.from(`line ${number}`),
  parsed,
});

export const good = (number: number, id = `${number}`, companyId = 'acme'): ParsedLine =>
  lineOf(number, { lead: { companyId, id, fields: { firstName: 'Ada' } } });

/** A lead without an id of its own. */
export const withoutId = (number: number, companyId = 'acme'): ParsedLine =>
  lineOf(number, { lead: { companyId, fields: { firstName: 'Ada' } } });

export const bad = (number: number): ParsedLine =>
  lineOf(number, { issues: [{ field: 'email', detail: 'is wrong' }] });

export const goodLines = (count: number): ParsedLine[] =>
  Array.from({ length: count }, (_, index) => good(index + 1));

export interface ImportRun {
  readonly outcome: ImportOutcome;
  /** What happened, in its order. */
  readonly events: string[];
}

export interface RunOptions {
  readonly store?: MemoryStore;
  readonly controller?: AbortController;
  readonly historical?: boolean;
  readonly skippedLines?: number;
  /** Every wait of the input is a pause. */
  readonly pauses?: boolean;
  /** Called while results are counted, or the import waits. */
  readonly onEvent?: (event: string) => void;
}

/** Runs the use case. Waits pass at once, and no time passes beside them. */
export async function runImport(
  lines: AsyncIterable<readonly ParsedLine[]>,
  options: RunOptions = {},
): Promise<ImportRun> {
  const { store = new MemoryStore(), controller = new AbortController(), onEvent = () => {} } = options;
  const events: string[] = [];
  let ids = 0;
  let elapsedMs = 0;
  const note = (event: string) => {
    events.push(event);
    onEvent(event);
  };
  const outcome = await importLeads({
    lines,
    store,
    historical: options.historical ?? false,
    skippedLines: options.skippedLines ?? 0,
    signal: controller.signal,
    newId: () => `made-${++ids}`,
    elapsedMs: () => elapsedMs,
    sleep: async (ms, signal) => {
      if (signal === controller.signal) {
        elapsedMs += ms;
        note(`waited ${ms}`);
      } else if (!options.pauses) await new Promise((resolve) => signal.addEventListener('abort', resolve));
    },
    observer: {
      onRejected: ({ number }: InputLine, issues: readonly ValidationIssue[]) =>
        note(`rejected ${number} ${issues.map(({ field, detail }) => `${field} ${detail}`).join()}`),
      onCommitted: async ({ savedLine }: ImportProgress) => note(`committed ${savedLine}`),
      onWithoutId: async () => undefined,
      onPaced: async () => note('paced'),
    },
  });
  return { outcome, events };
}

export async function* inChunks(
  lines: readonly ParsedLine[],
  size: number,
): AsyncGenerator<readonly ParsedLine[]> {
  for (let start = 0; start < lines.length; start += size) yield lines.slice(start, start + size);
}
