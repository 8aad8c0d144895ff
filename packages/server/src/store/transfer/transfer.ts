/**
 * Moves one database into another: checks the source, copies all rows unchanged, and verifies the copy. The check comes
 * first, so that a database that cannot be moved leaves the target untouched.
 */
import type { Clock } from '../../lib/clock.ts';
import type { MigrationEndpoint, MoveSource, MoveTarget } from './port.ts';
import {
  ChecksumBuilder,
  COMPANIES,
  canonical,
  findUnsupportedValues,
  identify,
  LEADS,
  type Row,
  TABLES,
  type Table,
  type TableChecksum,
  type UnsupportedValue,
  USERS,
} from './tables.ts';

export type MoveStep = 'checking' | 'copying' | 'verifying';

export interface MoveOptions {
  readonly source: MoveSource;
  readonly target: MoveTarget;
  /** The move rejects with its reason when it is aborted. */
  readonly signal: AbortSignal;
  /** Reports leads only, because the other tables are small. */
  readonly onProgress: (step: MoveStep, leads: number, total: number) => void;
  /** The clock of the machine that served the source. */
  readonly clock: Clock;
}

/** The number of items, and the first of them. */
export interface Sample<T> {
  readonly total: number;
  readonly first: readonly T[];
}

export type MoveOutcome =
  /** With the number of rows of each table. */
  | { readonly kind: 'moved'; readonly rows: Readonly<Record<string, number>> }
  /** Nothing was written. */
  | { readonly kind: 'unsupported'; readonly found: Sample<UnsupportedValue> }
  /** The target has a row that the source does not have. Nothing was written. */
  | { readonly kind: 'foreign-target'; readonly table: string; readonly row: Row }
  | { readonly kind: 'different'; readonly difference: Difference };

/** A table of the target whose rows are not those of the source. */
export interface Difference {
  readonly table: string;
  readonly sourceRows: number;
  readonly targetRows: number;
}

type Checksums = ReadonlyMap<Table, TableChecksum>;

interface CopyContext extends MoveOptions {
  readonly leadCount: number;
}

/** May be interrupted at any time and run again. */
export async function move(options: MoveOptions): Promise<MoveOutcome> {
  const context: CopyContext = {
    ...options,
    leadCount: await options.source.count(LEADS),
  };
  const { unsupported, foreign, checksums, copiedLeads } = await check(context);
  if (unsupported.total > 0) return { kind: 'unsupported', found: unsupported };
  if (foreign) return { kind: 'foreign-target', ...foreign };
  for (const table of TABLES) {
    // Polls work as soon as there are users, so everything else is verified before.
    if (table === USERS) {
      await raiseStamps(context);
      const difference = await verify(context, TABLES.slice(0, -1), checksums);
      if (difference) return { kind: 'different', difference };
    }
    await copyTable(context, table, copiedLeads);
    // Leads that another program writes to the target from now on must come after the leads of the source.
    if (table === COMPANIES) await raiseStamps(context);
  }
  const difference = await verify(context, [USERS], checksums);
  if (difference) return { kind: 'different', difference };
  return {
    kind: 'moved',
    rows: Object.fromEntries([...checksums].map(([{ name }, { rows }]) => [name, rows])),
  };
}

/** The leads that an earlier run has copied. They are copied in the order of their key. */
interface CopiedLeads {
  count: number;
  last: Row | undefined;
}

/** Reads the whole source, and beside it the rows that an earlier run has copied to the target. */
async function check(context: CopyContext) {
  const checksums = new Map<Table, TableChecksum>();
  const unsupported = new Sampler<UnsupportedValue>();
  const copiedLeads: CopiedLeads = { count: 0, last: undefined };
  let foreign: { readonly table: string; readonly row: Row } | undefined;
  for (const table of TABLES) {
    const builder = new ChecksumBuilder(table);
    const copied = readRows(context, context.target, table);
    let next = await copied.next();
    for await (const row of readRows(context, context.source, table, 'checking')) {
      unsupported.add(findUnsupportedValues(table, row));
      builder.add(row);
      if (next.done || canonical(table, next.value) !== canonical(table, row)) continue;
      if (table === LEADS) Object.assign(copiedLeads, { count: copiedLeads.count + 1, last: next.value });
      next = await copied.next();
    }
    // Both sides have the same order, so the source does not have this row, or has it with other values.
    if (!next.done) foreign ??= { table: table.name, row: identify(table, next.value) };
    checksums.set(table, builder.finish());
  }
  return { checksums, unsupported, foreign, copiedLeads };
}

/** Adds the missing rows, one page in each transaction. */
async function copyTable(context: CopyContext, table: Table, copiedLeads: CopiedLeads): Promise<void> {
  const { source, target, signal, onProgress, leadCount } = context;
  let done = copiedLeads.count;
  for await (const page of readPages(source, table, signal, table === LEADS ? copiedLeads.last : undefined)) {
    await target.add(table, page);
    done += page.length;
    if (table === LEADS) onProgress('copying', done, leadCount);
  }
}

/** Reads all rows back from the target. Returns the first table whose checksum is not that of the source. */
async function verify(
  context: CopyContext,
  tables: readonly Table[],
  expected: Checksums,
): Promise<Difference | undefined> {
  for (const table of tables) {
    const builder = new ChecksumBuilder(table);
    for await (const row of readRows(context, context.target, table, 'verifying')) builder.add(row);
    const [source, target] = [expected.get(table), builder.finish()];
    if (source?.sha256 !== target.sha256)
      return { table: table.name, sourceRows: source?.rows ?? 0, targetRows: target.rows };
  }
  return undefined;
}

/**
 * New leads must come after every `since` that a client has stored: the stamp of a lead, or the `Date` of an answer, which
 * is not later than the clock. The clock of the target may be behind.
 */
async function raiseStamps({ source, target, clock }: CopyContext): Promise<void> {
  const now = clock();
  const stamps = await source.lastStamps();
  await target.raiseStamps(
    stamps.map(({ companyId, stamp }) => ({ companyId, stamp: Math.max(stamp, now) })),
  );
}

async function* readPages(
  endpoint: MigrationEndpoint,
  table: Table,
  signal: AbortSignal,
  after?: Row,
): AsyncGenerator<readonly Row[], undefined> {
  for (let last = after; ; ) {
    const page = await endpoint.page(table, last);
    signal.throwIfAborted();
    if (page.length === 0) return;
    yield page;
    signal.throwIfAborted();
    last = page.at(-1);
  }
}

/** Without a step, no progress is reported. */
async function* readRows(
  { signal, onProgress, leadCount }: CopyContext,
  endpoint: MigrationEndpoint,
  table: Table,
  step?: MoveStep,
): AsyncGenerator<Row, undefined> {
  let done = 0;
  for await (const page of readPages(endpoint, table, signal)) {
    yield* page;
    done += page.length;
    if (step && table === LEADS) onProgress(step, done, leadCount);
  }
}

const MAX_SAMPLE = 20;

/** Keeps the first items and counts the others. */
class Sampler<T> implements Sample<T> {
  readonly first: T[] = [];
  total = 0;

  add(items: readonly T[]): void {
    this.total += items.length;
    this.first.push(...items.slice(0, MAX_SAMPLE - this.first.length));
  }
}
