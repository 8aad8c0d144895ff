/** The use case: lines in, leads in the store, and an account of every line that was not taken. */
import type { LeadInput } from '../../store/records.ts';
import { type LeadResult, type Store, StoreUnavailableError } from '../../store/store.ts';
import { inBatches, oneAhead } from './batches.ts';
import { ImportPace } from './import-pace.ts';
import type { InputLine, LeadReading, LineProblem, ParsedLine } from './line.ts';
import { misplaced } from './placement.ts';
import type { Sleep } from './sleep.ts';

/** A database that restarts or fails over is back within these. */
const RETRY_PAUSES_MS = [250, 500, 1000, 2000, 4000];

export interface ImportCounts {
  readonly added: number;
  readonly updated: number;
  readonly rejected: number;
}

export interface ImportProgress {
  readonly counts: ImportCounts;
  /** Every line up to this one is in the store, or was rejected. */
  readonly savedLine: number;
}

type GivenUp =
  | { readonly kind: 'interrupted' }
  | { readonly kind: 'unavailable'; readonly cause: StoreUnavailableError };

export type ImportOutcome = ImportProgress & (GivenUp | { readonly kind: 'finished' });

export interface LeadImport {
  readonly lines: AsyncIterable<readonly ParsedLine[]>;
  readonly store: Pick<Store, 'writeLeads' | 'findPlacementProblems'>;
  readonly historical: boolean;
  /** The lines that an earlier run has saved. */
  readonly skippedLines: number;
  /** An id that no lead has, for leads that bring none. */
  readonly newId: () => string;
  /** Milliseconds since any moment, by a clock that is never set. */
  readonly elapsedMs: () => number;
  readonly sleep: Sleep;
  readonly signal: AbortSignal;
  /** In the order of the file. */
  readonly onRejected: (line: InputLine, problems: readonly LineProblem[]) => void;
  /** After each batch, which is durable by then, and after its rejections. */
  readonly onCommitted: (progress: ImportProgress) => Promise<void>;
  /** This import has given a company as many new leads as the clock allows: it waits. */
  readonly onPaced: () => Promise<void>;
}

/**
 * Every lead has an id before it is first sent. Over a network a commit may succeed while its answer is lost; the
 * second try is then an update of the same leads, where leads without ids would be there twice.
 */
const leadsOf = (batch: readonly ParsedLine[], newId: () => string): LeadInput[] =>
  batch.flatMap(({ reading }) => {
    if (reading.kind !== 'lead') return [];
    return [reading.lead.id === undefined ? { ...reading.lead, id: newId() } : reading.lead];
  });

interface Written {
  readonly kind: 'written';
  readonly results: readonly LeadResult[];
}

/** Writes a batch, however often it must be tried, or tells why it was given up. */
async function write(
  leads: readonly LeadInput[],
  { store, historical, sleep, signal }: LeadImport,
): Promise<Written | GivenUp> {
  const pauses = RETRY_PAUSES_MS.values();
  for (;;) {
    try {
      return await store.writeLeads(leads, { historical });
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
      const waitMs = pauses.next().value;
      if (waitMs === undefined) return { kind: 'unavailable', cause: error };
      if (!signal.aborted) await sleep(waitMs, signal);
    }
    if (signal.aborted) return { kind: 'interrupted' };
  }
}

/** History keeps its own times, so it is written as fast as it can be. */
async function writeInPace(
  leads: readonly LeadInput[],
  pace: ImportPace,
  run: LeadImport,
): Promise<Written | GivenUp> {
  if (run.historical) return write(leads, run);
  const waitMs = pace.waitMs(leads);
  if (waitMs > 0) {
    await run.onPaced();
    if (!run.signal.aborted) await run.sleep(waitMs, run.signal);
    if (run.signal.aborted) return { kind: 'interrupted' };
  }
  const outcome = await write(leads, run);
  if (outcome.kind === 'written') pace.record(leads, outcome.results);
  return outcome;
}

/** An id that was made here can only be there already because an earlier try of ours has added it. */
const wasAddedBefore = (reading: LeadReading, { kind }: { kind: LeadResult['kind'] }): boolean =>
  kind === 'updated' && reading.kind === 'lead' && reading.lead.id === undefined;

interface Rejection {
  readonly line: ParsedLine;
  readonly problems: readonly LineProblem[];
}

/** Walks through a batch in the order of the file, with the results of those of its lines that were written. */
function settle(
  batch: readonly ParsedLine[],
  results: readonly LeadResult[],
  counts: { added: number; updated: number; rejected: number },
): Rejection[] {
  const remaining = results.values();
  const rejections: Rejection[] = [];
  for (const line of batch) {
    const { reading } = line;
    const result = reading.kind === 'lead' ? remaining.next().value : reading;
    if (result === undefined) throw new Error('the store gave fewer results than it took leads');
    counts[wasAddedBefore(reading, result) ? 'added' : result.kind] += 1;
    if (result.kind === 'rejected')
      rejections.push({
        line,
        problems: 'problems' in result ? result.problems : [misplaced(result.problem)],
      });
  }
  return rejections;
}

/** The batch is saved by then: a database that has just become unreachable must not hide that. */
function unlessUnavailable(error: unknown): undefined {
  if (!(error instanceof StoreUnavailableError)) throw error;
}

/**
 * Adds what only the store can see. A line is read without its company's catalogue, and the store names the first
 * problem only; a person wants all of them at once.
 */
async function withPlacementProblems(
  rejections: readonly Rejection[],
  store: LeadImport['store'],
): Promise<readonly Rejection[]> {
  const leads = rejections.flatMap(({ line: { reading } }) => reading.lead ?? []);
  if (leads.length === 0 || store.findPlacementProblems === undefined) return rejections;
  const answer = await store.findPlacementProblems(leads).catch(unlessUnavailable);
  if (answer === undefined) return rejections;
  const found = answer.values();
  return rejections.map(({ line, problems }) => {
    const placement = line.reading.lead === undefined ? [] : (found.next().value ?? []);
    const ofReading = line.reading.kind === 'rejected' ? problems : [];
    const all = [...ofReading, ...placement.map(misplaced)];
    // What was wrong for the store may be right by now.
    return { line, problems: all.length > 0 ? all : problems };
  });
}

const NOTHING_TO_WRITE: Written = { kind: 'written', results: [] };

export async function importLeads(run: LeadImport): Promise<ImportOutcome> {
  const counts = { added: 0, updated: 0, rejected: 0 };
  let savedLine = run.skippedLines;
  const pace = new ImportPace(run.elapsedMs);
  for await (const batch of oneAhead(inBatches(run.lines, run.sleep, run.signal))) {
    const leads = leadsOf(batch, run.newId);
    const outcome = leads.length === 0 ? NOTHING_TO_WRITE : await writeInPace(leads, pace, run);
    if (outcome.kind !== 'written') return { ...outcome, counts, savedLine };
    const rejections = settle(batch, outcome.results, counts);
    for (const { line, problems } of await withPlacementProblems(rejections, run.store))
      run.onRejected(line, problems);
    savedLine = batch.at(-1)?.lastNumber ?? savedLine;
    await run.onCommitted({ counts: { ...counts }, savedLine });
  }
  return { kind: run.signal.aborted ? 'interrupted' : 'finished', counts, savedLine };
}
