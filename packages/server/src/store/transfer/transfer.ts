/**
 * Moves one database into another: checks the source, copies all rows unchanged, and verifies the copy. The check comes
 * first, so that a database that cannot be moved leaves the target untouched. Tables and columns are those that both have.
 */
import { toUSVString } from 'node:util';
import type { Clock } from '../../lib/clock.ts';
import { isJsonObject } from '../../lib/json.ts';
import { AFTER_ALL_MS, BEFORE_ALL_MS } from '../../sql/sql.ts';

/** Times are milliseconds since 1970 and JSON is parsed; other values are as stored. */
export type Row = Readonly<Record<string, unknown>>;

export interface Column {
  readonly name: string;
  /** As PostgreSQL names it; `moment` is a time. */
  readonly type: string;
}

export interface Table {
  readonly name: string;
  /** Rows are sorted by these columns, compared by their bytes. */
  readonly key: readonly Column[];
  readonly columns: readonly Column[];
}

interface MoveEndpoint {
  /** The next rows in the order of the table's key: the first ones, or those after a row. Empty at the end. */
  page(table: Table, after: Row | undefined): Promise<readonly Row[]>;
  close(): Promise<void>;
}

/** No other program can open the database until it is closed. All its errors are `SourceError`s. */
export interface MoveSource extends MoveEndpoint {
  /** The names of all columns, each with its table: `leads.id`. */
  readColumns(): Promise<ReadonlySet<string>>;
  countLeads(): Promise<number>;
  /** The last stamp of every company, also of deleted ones, which may be inserted again in the target. */
  lastStamps(): Promise<readonly LastStamp[]>;
}

export interface LastStamp {
  readonly companyId: string;
  readonly stamp: number;
}

export interface MoveTarget extends MoveEndpoint {
  readTables(): Promise<readonly Table[]>;
  /** Adds the rows unchanged, in one transaction. Existing rows are kept, except leads, which must be new. */
  add(table: Table, rows: readonly Row[]): Promise<void>;
  /** New leads of these companies are stamped after these times, whatever the clock says. A company may not exist yet. */
  raiseStamps(stamps: readonly LastStamp[]): Promise<void>;
}

/** Shows that the source failed; the cause could have come from the target as well. */
export class SourceError extends Error {
  override readonly name = 'SourceError';

  constructor(cause: unknown) {
    super('the source of the move failed', { cause });
  }
}

/** Another program has the source open. */
export class SourceInUseError extends Error {
  override readonly name = 'SourceInUseError';
}

/** The target rejects rows. */
export class RowsRefusedError extends Error {
  override readonly name = 'RowsRefusedError';
}

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

/** A value that PostgreSQL cannot store. */
export interface UnsupportedValue {
  readonly table: string;
  /** The columns that identify the row. */
  readonly row: Row;
  readonly column: string;
  readonly reason: 'characters' | 'time';
}

/** A table of the target whose rows are not those of the source. */
export interface Difference {
  readonly table: string;
  readonly sourceRows: number;
  readonly targetRows: number;
}

export type MoveOutcome =
  /** With the number of rows of each table. */
  | { readonly kind: 'moved'; readonly rows: Readonly<Record<string, number>> }
  /** Nothing was written. The first values are listed. */
  | { readonly kind: 'unsupported'; readonly total: number; readonly first: readonly UnsupportedValue[] }
  /** The target has a row that the source does not have. Nothing was written. */
  | { readonly kind: 'foreign-target'; readonly table: string; readonly row: Row }
  | { readonly kind: 'different'; readonly difference: Difference };

/** Each table after those that it refers to. The others follow: their rows change with leads and requests, unlike those of an interrupted move. */
const FIRST = ['companies', 'statuses', 'branches', 'departments', 'leads'];
/** Copied when the other tables are verified: polls fail until then, so no client misses a lead. */
const LAST = 'users';
/** What is true of one database. The stamps of companies are moved by `raiseStamps`. */
const NOT_MOVED: readonly string[] = ['migrations', 'instances', 'changes'];
const MAX_LISTED = 20;

/** May be interrupted at any time and run again. */
export async function move(options: MoveOptions): Promise<MoveOutcome> {
  const { source, target, signal, onProgress, clock } = options;
  const leadCount = await source.countLeads();
  const tables = await findTables(source, target);
  const report = (step: MoveStep, table: Table, rows: number) => {
    if (table.name === 'leads') onProgress(step, rows, leadCount);
  };

  async function* readPages(
    endpoint: MoveEndpoint,
    table: Table,
    last?: Row,
  ): AsyncGenerator<readonly Row[]> {
    for (let after = last; ; ) {
      const page = await endpoint.page(table, after);
      signal.throwIfAborted();
      if (page.length === 0) return;
      yield page;
      signal.throwIfAborted();
      after = page.at(-1);
    }
  }

  async function* readTarget(table: Table): AsyncGenerator<Row> {
    for await (const page of readPages(target, table)) yield* page;
  }

  /** Reads the rows of both sides, which have the same order. */
  async function compare(table: Table, step: MoveStep, onRow?: (row: Row) => void) {
    const copies = readTarget(table);
    let next = await copies.next();
    let [rows, copied] = [0, 0];
    let last: Row | undefined;
    for await (const page of readPages(source, table)) {
      for (const row of page) {
        onRow?.(row);
        if (next.done || canonical(table, next.value) !== canonical(table, row)) continue;
        copied += 1;
        last = next.value;
        next = await copies.next();
      }
      rows += page.length;
      report(step, table, rows);
    }
    // The source does not have this row, or has it with other values.
    const foreign = next.done ? undefined : next.value;
    let targetRows = copied;
    for (; !next.done; next = await copies.next()) targetRows += 1;
    return { rows, copied, targetRows, last, foreign };
  }

  async function verify(verified: readonly Table[]): Promise<Difference | undefined> {
    for (const table of verified) {
      const { rows, copied, targetRows } = await compare(table, 'verifying');
      if (copied < rows || targetRows > rows) return { table: table.name, sourceRows: rows, targetRows };
    }
    return undefined;
  }

  /**
   * New leads must come after every `since` that a client has stored: the stamp of a lead, or the `Date` of an answer, which
   * is not later than the clock. The clock of the target may be behind.
   */
  async function raiseStamps(): Promise<void> {
    const now = clock();
    const stamps = await source.lastStamps();
    await target.raiseStamps(stamps.map((last) => ({ ...last, stamp: Math.max(last.stamp, now) })));
  }

  const rows: Record<string, number> = {};
  const unsupported: UnsupportedValue[] = [];
  let unsupportedCount = 0;
  let foreign: { readonly table: string; readonly row: Row } | undefined;
  /** Leads are copied in the order of their key, so a move that is continued starts after the last one. */
  let copiedLeads: { readonly copied: number; readonly last: Row | undefined } | undefined;
  for (const table of tables) {
    const compared = await compare(table, 'checking', (row) => {
      const found = findUnsupportedValues(table, row);
      unsupportedCount += found.length;
      unsupported.push(...found.slice(0, MAX_LISTED - unsupported.length));
    });
    rows[table.name] = compared.rows;
    if (compared.foreign) foreign ??= { table: table.name, row: identify(table, compared.foreign) };
    if (table.name === 'leads') copiedLeads = compared;
  }
  if (unsupportedCount > 0) return { kind: 'unsupported', total: unsupportedCount, first: unsupported };
  if (foreign) return { kind: 'foreign-target', ...foreign };

  for (const table of tables) {
    if (table.name === LAST) {
      await raiseStamps();
      const difference = await verify(tables.slice(0, -1));
      if (difference) return { kind: 'different', difference };
    }
    const start = table.name === 'leads' ? copiedLeads : undefined;
    let done = start?.copied ?? 0;
    for await (const page of readPages(source, table, start?.last)) {
      await target.add(table, page);
      done += page.length;
      report('copying', table, done);
    }
    // Leads that another program writes to the target from now on must come after the leads of the source.
    if (table.name === 'companies') await raiseStamps();
  }
  const difference = await verify(tables.slice(-1));
  return difference ? { kind: 'different', difference } : { kind: 'moved', rows };
}

/** In the order of copying. */
async function findTables(source: MoveSource, target: MoveTarget): Promise<readonly Table[]> {
  const inSource = await source.readColumns();
  const tables = (await target.readTables())
    .map((table) => ({
      ...table,
      columns: table.columns.filter(({ name }) => inSource.has(`${table.name}.${name}`)),
    }))
    .filter(({ name, columns }) => columns.length > 0 && !NOT_MOVED.includes(name));
  const others = tables.map(({ name }) => name).filter((name) => !FIRST.includes(name) && name !== LAST);
  const order = [...FIRST, ...others, LAST];
  return tables.toSorted((a, b) => order.indexOf(a.name) - order.indexOf(b.name));
}

/** The columns that identify a row to the operator: its key and its id. */
function identify({ key, columns }: Table, row: Row): Row {
  const isKey = (name: string) => name === 'id' || key.some((column) => column.name === name);
  const shown = columns.filter(({ name }) => isKey(name));
  return Object.fromEntries(shown.map(({ name }) => [name, row[name]]));
}

/** The same text for the same values from either database. JSON keys are sorted, because PostgreSQL does not keep their order. */
const canonical = ({ columns }: Table, row: Row): string =>
  JSON.stringify(columns.map(({ name, type }) => (type === 'jsonb' ? sorted(row[name]) : row[name])));

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isJsonObject(value)) return value;
  const keys = Object.keys(value).sort();
  return Object.fromEntries(keys.map((key) => [key, sorted(value[key])]));
}

/** PostgreSQL stores no NUL in text. Half of a surrogate pair is not valid Unicode, but JSON can contain one. */
const isUnsupportedText = (text: string): boolean => text.includes('\0') || toUSVString(text) !== text;

function hasUnsupportedText(value: unknown): boolean {
  if (typeof value === 'string') return isUnsupportedText(value);
  if (Array.isArray(value)) return value.some(hasUnsupportedText);
  if (!isJsonObject(value)) return false;
  return Object.entries(value).some(([key, inner]) => isUnsupportedText(key) || hasUnsupportedText(inner));
}

const isUnsupportedTime = (value: unknown): boolean =>
  typeof value === 'number' && (value <= BEFORE_ALL_MS || value >= AFTER_ALL_MS);

function findUnsupportedValues(table: Table, row: Row): UnsupportedValue[] {
  const problems = table.columns.filter(({ name, type }) =>
    type === 'moment' ? isUnsupportedTime(row[name]) : hasUnsupportedText(row[name]),
  );
  return problems.map(({ name, type }) => ({
    ...{ table: table.name, row: identify(table, row), column: name },
    reason: type === 'moment' ? 'time' : 'characters',
  }));
}
