/** Writes the leads of a file to the store in batches, and reports every line that was not stored. */

import { requireContent, type ValidationIssue } from '../leads/parse-lead.ts';
import { placementIssue } from '../leads/placement-issues.ts';
import type { LeadInput } from '../leads/record.ts';
import type { LeadResult, WriteOutcome } from '../leads/store.ts';
import { StoreUnavailableError } from '../sql/errors.ts';
import type { Store } from '../store/store.ts';
import { type Sleep, splitIntoBatches } from './batches.ts';
import type { InputLine, ParsedLine } from './input-line.ts';

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

type Stopped =
  | { readonly kind: 'interrupted' }
  | { readonly kind: 'unavailable'; readonly cause: StoreUnavailableError };

export type ImportOutcome = ImportProgress & (Stopped | { readonly kind: 'finished' });

export interface LeadImport {
  readonly lines: AsyncIterable<readonly ParsedLine[]>;
  readonly store: Pick<Store, 'writeLeads' | 'findPlacementProblems'>;
  readonly historical: boolean;
  /** Add leads that were erased before, as new leads. */
  readonly allowErased?: boolean;
  /** The lines that an earlier run has saved. */
  readonly skippedLines: number;
  /** A new id, for leads that bring none. Absent: they keep having none. */
  readonly newId?: (() => string) | undefined;
  /** The store writes nothing, so no pace is needed. */
  readonly dryRun?: boolean;
  /** A monotonic clock. */
  readonly elapsedMs: () => number;
  readonly sleep: Sleep;
  readonly signal: AbortSignal;
  readonly observer: ImportObserver;
}

/** Gets the events of an import. */
export interface ImportObserver {
  /** In the order of the file. */
  onRejected(line: InputLine, issues: readonly ValidationIssue[]): void;
  /** After each batch, which is durable then, and after its rejected lines. */
  onCommitted(progress: ImportProgress): Promise<void>;
  /** Before the first lead without an id is written. */
  onWithoutId(): Promise<void>;
  /** Before each wait for the pace of a company. */
  onPaced(): Promise<void>;
}

export async function importLeads(run: LeadImport): Promise<ImportOutcome> {
  const counts = { added: 0, updated: 0, rejected: 0 };
  let savedLine = run.skippedLines;
  const pace = new ImportPace(run.elapsedMs);
  let hasLeadWithoutId = false;
  for await (const lines of splitIntoBatches(run.lines, run.sleep, run.signal)) {
    const batch = lines.map(({ number, lastNumber, raw, parsed }) => ({
      ...{ number, lastNumber, raw },
      parsed: requireContent(parsed),
    }));
    if (!hasLeadWithoutId && batch.some(({ parsed: { lead } }) => lead && lead.id === undefined)) {
      hasLeadWithoutId = true;
      await run.observer.onWithoutId();
    }
    const outcome = await writeInPace(leadsOf(batch, run.newId), pace, run);
    if (outcome.kind !== 'written') return { ...outcome, counts, savedLine };
    const rejections = countResults(batch, outcome.results, counts);
    for (const { line, issues } of await addPlacementIssues(rejections, run))
      run.observer.onRejected(line, issues);
    savedLine = batch.at(-1)?.lastNumber ?? savedLine;
    await run.observer.onCommitted({ counts: { ...counts }, savedLine });
  }
  return { kind: run.signal.aborted ? 'interrupted' : 'finished', counts, savedLine };
}

/**
 * Every lead gets its id before the first attempt. If a commit succeeds and its answer is lost, the retry then updates the
 * same leads instead of adding them again.
 */
const leadsOf = (batch: readonly ParsedLine[], newId: LeadImport['newId']): LeadInput[] =>
  batch.flatMap(({ parsed: { lead } }) => {
    if (lead === undefined) return [];
    return [lead.id === undefined && newId ? { ...lead, id: newId() } : lead];
  });

/** A database that restarts or fails over is back within the sum of these. */
const RETRY_DELAYS_MS = [250, 500, 1000, 2000, 4000];

async function writeWithRetries(
  leads: readonly LeadInput[],
  { store, historical, allowErased = false, sleep, signal }: LeadImport,
): Promise<WriteOutcome | Stopped> {
  const delays = RETRY_DELAYS_MS.values();
  for (;;) {
    try {
      return await store.writeLeads(leads, { historical, allowErased });
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
      const delayMs = delays.next().value;
      if (delayMs === undefined) return { kind: 'unavailable', cause: error };
      if (!signal.aborted) await sleep(delayMs, signal);
    }
    if (signal.aborted) return { kind: 'interrupted' };
  }
}

/** Historical leads bring their own times, so they need no pace. */
async function writeInPace(
  leads: readonly LeadInput[],
  pace: ImportPace,
  run: LeadImport,
): Promise<WriteOutcome | Stopped> {
  if (leads.length === 0) return { kind: 'written', results: [] };
  if (run.historical || run.dryRun) return writeWithRetries(leads, run);
  const delayMs = pace.delayMs(leads);
  if (delayMs > 0) {
    await run.observer.onPaced();
    if (!run.signal.aborted) await run.sleep(delayMs, run.signal);
    if (run.signal.aborted) return { kind: 'interrupted' };
  }
  const outcome = await writeWithRetries(leads, run);
  if (outcome.kind === 'written') pace.record(leads, outcome.results);
  return outcome;
}

/** New leads of one company are stamped one millisecond apart, so the clock keeps up with 1,000 per second. */
const LEADS_PER_MS = 1;
/** An import moves the stamps of a company no further ahead of the clock than this. */
const MAX_AHEAD_MS = 5000;

/**
 * A token bucket for each company: 1,000 new leads per second, and 5,000 at once. It counts only what this import has
 * added: stamps that are ahead because the clock was set back, or because of other writers, do not delay it.
 */
class ImportPace {
  readonly #elapsedMs: () => number;
  /** By company: when the clock catches up with the stamps of this import. */
  readonly #catchesUpAt = new Map<string, number>();

  constructor(elapsedMs: () => number) {
    this.#elapsedMs = elapsedMs;
  }

  /** How long to wait before writing these leads, any of which may be new. Not positive: no wait. */
  delayMs(leads: readonly LeadInput[]): number {
    const now = this.#elapsedMs();
    let delayMs = 0;
    for (const [companyId, count] of countByCompany(leads)) {
      const aheadMs = (this.#catchesUpAt.get(companyId) ?? now) - now;
      delayMs = Math.max(delayMs, aheadMs + count / LEADS_PER_MS - MAX_AHEAD_MS);
    }
    return delayMs;
  }

  /** Counts the leads that were added: updates and rejected leads need no stamp. */
  record(leads: readonly LeadInput[], results: readonly LeadResult[]): void {
    const now = this.#elapsedMs();
    const added = leads.filter((_lead, index) => results[index]?.kind === 'added');
    for (const [companyId, count] of countByCompany(added)) {
      const from = Math.max(this.#catchesUpAt.get(companyId) ?? now, now);
      this.#catchesUpAt.set(companyId, from + count / LEADS_PER_MS);
    }
  }
}

function countByCompany(leads: readonly LeadInput[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { companyId } of leads) counts.set(companyId, (counts.get(companyId) ?? 0) + 1);
  return counts;
}

interface Rejection {
  readonly line: ParsedLine;
  readonly issues: readonly ValidationIssue[];
}

/** Counts the lines of a batch, of which only the valid ones have results, and returns the rejected ones. */
function countResults(
  batch: readonly ParsedLine[],
  results: readonly LeadResult[],
  counts: { added: number; updated: number; rejected: number },
): Rejection[] {
  const remaining = results.values();
  const rejections: Rejection[] = [];
  for (const line of batch) {
    const { lead, issues } = line.parsed;
    if (lead === undefined) {
      counts.rejected += 1;
      rejections.push({ line, issues });
      continue;
    }
    const result = remaining.next().value;
    if (result === undefined) throw new Error('the store returned fewer results than it was given leads');
    if (result.kind === 'rejected') rejections.push({ line, issues: [placementIssue(result.problem)] });
    // The id of a lead without one was new: it can only exist because an earlier attempt has added it.
    const wasAddedBefore = result.kind === 'updated' && lead.id === undefined;
    counts[wasAddedBefore ? 'added' : result.kind] += 1;
  }
  return rejections;
}

/**
 * Adds what only the store can find. A line is parsed without the catalogue of its company, and `writeLeads` returns the
 * first problem only; people want all of them at once.
 */
async function addPlacementIssues(
  rejections: readonly Rejection[],
  { store, allowErased = false }: LeadImport,
): Promise<readonly Rejection[]> {
  const leadOf = ({ line: { parsed } }: Rejection) => parsed.lead ?? parsed.partialLead;
  const leads = rejections.flatMap((rejection) => leadOf(rejection) ?? []);
  if (leads.length === 0) return rejections;
  const problems = await store.findPlacementProblems(leads, { allowErased }).catch(ignoreUnavailable);
  if (problems === undefined) return rejections;
  const remaining = problems.values();
  return rejections.map((rejection) => {
    const { line, issues } = rejection;
    const found = leadOf(rejection) === undefined ? [] : (remaining.next().value ?? []);
    const all = [...(line.parsed.issues ?? []), ...found.map(placementIssue)];
    // The problem that the store reported before may have been fixed since.
    return { line, issues: all.length > 0 ? all : issues };
  });
}

/** The batch is saved already: that must be reported even if the database has become unreachable since. */
function ignoreUnavailable(error: unknown): undefined {
  if (!(error instanceof StoreUnavailableError)) throw error;
}
