import { existsSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type LastStamp, type MoveSource, SourceInUseError } from '../move/port.ts';
import type { Column, ColumnKind, Row, Table } from '../move/tables.ts';
import { UnusableDatabaseError } from '../store.ts';
import { Connection } from './connection.ts';
import type { SqlValue } from './driver.ts';
import { asStoreError } from './errors.ts';
import { migrate, refuseForeignDatabase } from './migrate.ts';

/** For a command that is about to end anyway. */
const WAIT_MS = 2000;
/** Some hundred kilobytes, as a rule. */
const ROWS_PER_PAGE = 1000;

/** Brings the schema up to date, and keeps everybody else from the file until it is closed. */
export async function openSqliteMoveSource(file: string): Promise<MoveSource> {
  if (!existsSync(file)) throw new UnusableDatabaseError('there is no such file');
  const connection = open(file);
  try {
    const taken = await connection.whenFree(WAIT_MS, () => takeAlone(connection));
    if (!taken) throw new SourceInUseError('another program has the database open');
    return new SqliteMoveSource(connection);
  } catch (error) {
    connection.close();
    throw error;
  }
}

function open(file: string): Connection {
  try {
    return new Connection(file);
  } catch (error) {
    throw asStoreError(error);
  }
}

/**
 * A service that still runs would go on answering polls, and take in leads when this is over that nobody copies. The
 * write-ahead log can be left only while nobody else has the file open, and nobody can open it while this lock is held.
 */
function takeAlone(connection: Connection): void {
  refuseForeignDatabase(connection);
  migrate(connection);
  connection.exec('PRAGMA journal_mode = DELETE');
  connection.exec('BEGIN EXCLUSIVE');
}

/** The other kinds are stored as they are. */
const FROM_SQL: Partial<Record<ColumnKind, (value: unknown) => unknown>> = {
  boolean: (value) => value === 1,
  json: (value) => JSON.parse(String(value)),
  texts: (value) => JSON.parse(String(value)),
};

/** Changes the row in place, which is ours alone: there may be millions. */
function toRow({ columns }: Table, row: SqlRow): Row {
  for (const { name, kind } of columns) {
    const convert = FROM_SQL[kind];
    if (convert) row[name] = convert(row[name]);
  }
  return row;
}

const keyOf = ({ key }: Table, row: Row): SqlValue[] => key.map(({ name }) => row[name] as SqlValue);

const namesOf = (columns: readonly Column[]): string => columns.map(({ name }) => name).join(', ');

const selectSql = ({ name, columns }: Table): string => `SELECT ${namesOf(columns)} FROM ${name}`;

type SqlRow = Record<string, unknown>;

/** Nothing but a fault of the file or its disk can be in the way by now. */
function reading<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw asStoreError(error);
  }
}

class SqliteMoveSource implements MoveSource {
  readonly #connection: Connection;
  readonly #finds = new Map<Table, (row: Row) => Row | undefined>();

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  async count({ name }: Table): Promise<number> {
    const statement = this.#connection.prepare<{ n: number }>(`SELECT count(*) AS n FROM ${name}`);
    return reading(() => statement.get()?.n ?? 0);
  }

  async *pages(table: Table, after?: Row): AsyncGenerator<readonly Row[]> {
    const key = namesOf(table.key);
    const marks = table.key.map(() => '?').join(', ');
    const end = `ORDER BY ${key} LIMIT ${ROWS_PER_PAGE}`;
    const first = this.#connection.prepare<SqlRow>(`${selectSql(table)} ${end}`);
    const next = this.#connection.prepare<SqlRow>(`${selectSql(table)} WHERE (${key}) > (${marks}) ${end}`);
    for (let last = after; ; ) {
      const rows = reading(() => (last === undefined ? first.all() : next.all(...keyOf(table, last))));
      if (rows.length === 0) return;
      const page = rows.map((row) => toRow(table, row));
      yield page;
      last = page.at(-1);
      // Between the pages others have their turn, whoever wants to interrupt this for one.
      await nextTurn();
    }
  }

  async find(table: Table, row: Row): Promise<Row | undefined> {
    const find = this.#finds.get(table) ?? this.#prepareFind(table);
    this.#finds.set(table, find);
    return find(row);
  }

  #prepareFind(table: Table): (row: Row) => Row | undefined {
    const where = table.key.map(({ name }) => `${name} = ?`).join(' AND ');
    const statement = this.#connection.prepare<SqlRow>(`${selectSql(table)} WHERE ${where}`);
    return (row) => {
      const found = reading(() => statement.get(...keyOf(table, row)));
      return found && toRow(table, found);
    };
  }

  async lastStamps(): Promise<LastStamp[]> {
    const sql = 'SELECT id AS companyId, last_stamp AS stamp FROM companies';
    const statement = this.#connection.prepare<{ companyId: string; stamp: number }>(sql);
    return reading(() => statement.all());
  }

  async close(): Promise<void> {
    try {
      this.#connection.exec('ROLLBACK');
      this.#connection.useWriteAheadLog();
    } catch {
      // Whoever opens the file next sees to its log.
    } finally {
      this.#connection.close();
    }
  }
}
