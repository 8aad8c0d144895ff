import { type ImportOutcome, type ImportProgress, importLeads } from '../../src/leads/import/import-leads.ts';
import type { InputLine, LineProblem, ParsedLine } from '../../src/leads/import/line.ts';
import type { LeadInput } from '../../src/store/records.ts';
import {
  type LeadResult,
  StoreUnavailableError,
  type WriteOptions,
  type WriteOutcome,
} from '../../src/store/store.ts';

/** A store in memory. The company "nowhere" does not exist, and an id that comes again is an update. */
export class MemoryStore {
  readonly batches: (readonly LeadInput[])[] = [];
  readonly options: (WriteOptions | undefined)[] = [];
  /** What the next calls do instead of writing, or, when the answer is lost, after it. */
  readonly troubles: ('unavailable' | 'answer-lost' | Error)[] = [];
  readonly #ids = new Set<string>();

  get size(): number {
    return this.#ids.size;
  }

  async writeLeads(leads: readonly LeadInput[], options?: WriteOptions): Promise<WriteOutcome> {
    const trouble = this.troubles.shift();
    if (trouble === 'unavailable') throw new StoreUnavailableError('away');
    if (trouble instanceof Error) throw trouble;
    this.batches.push(leads);
    this.options.push(options);
    const results = leads.map((lead) => this.#take(lead));
    if (trouble === 'answer-lost') throw new StoreUnavailableError('cut');
    return { kind: 'written', results };
  }

  #take({ companyId, id = `made-by-the-store-${this.size}` }: LeadInput): LeadResult {
    if (companyId === 'nowhere')
      return { kind: 'rejected', problem: { field: 'companyId', reason: 'unknown', value: companyId } };
    const kind = this.#ids.has(id) ? 'updated' : 'added';
    this.#ids.add(id);
    return { kind, id, createdAt: 0 };
  }
}

const lineOf = (number: number, reading: ParsedLine['reading']): ParsedLine => ({
  number,
  lastNumber: number,
  raw: Buffer.from(`line ${number}`),
  reading,
});

export const good = (number: number, id = `${number}`, companyId = 'acme'): ParsedLine =>
  lineOf(number, { kind: 'lead', lead: { companyId, id, fields: {} } });

/** A lead that brings no id of its own. */
export const nameless = (number: number, companyId = 'acme'): ParsedLine =>
  lineOf(number, { kind: 'lead', lead: { companyId, fields: {} } });

export const bad = (number: number): ParsedLine =>
  lineOf(number, { kind: 'rejected', problems: [{ field: 'email', issue: 'is wrong' }] });

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
  /** Every pause of the input counts as silence. */
  readonly silent?: boolean;
  /** Called while a batch is being settled, or the import waits. */
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
      } else if (!options.silent) await new Promise((resolve) => signal.addEventListener('abort', resolve));
    },
    onRejected: ({ number }: InputLine, problems: readonly LineProblem[]) =>
      note(`rejected ${number} ${problems.map(({ field, issue }) => `${field} ${issue}`).join()}`),
    onCommitted: async ({ savedLine }: ImportProgress) => note(`committed ${savedLine}`),
    onPaced: async () => note('paced'),
  });
  return { outcome, events };
}

export async function* inChunks(
  lines: readonly ParsedLine[],
  size: number,
): AsyncGenerator<readonly ParsedLine[]> {
  for (let start = 0; start < lines.length; start += size) yield lines.slice(start, start + size);
}
