import { existsSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type LastStamp, type MoveSource, SourceInUseError } from '../move/port.ts';
import type { ColumnKind, Row, Table } from '../move/tables.ts';
import { UnusableDatabaseError } from '../store.ts';
import { Connection } from './connection.ts';
import type { SqlValue } from './driver.ts';
import { asStoreError } from './errors.ts';
import { migrate, refuseForeignDatabase } from './migrate.ts';

/** For a command that is about to end anyway. */
const WAIT_MS = 5000;
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

const fromSql: Record<ColumnKind, (value: SqlValue) => unknown> = {
  text: (value) => value,
  integer: (value) => value,
  time: (value) => value,
  boolean: (value) => value === 1,
  json: (value) => JSON.parse(String(value)),
  texts: (value) => JSON.parse(String(value)),
};

type SqlRow = Record<string, SqlValue>;

const toRow = (table: Table, row: SqlRow): Row =>
  Object.fromEntries(
    Object.entries(table.columns).map(([column, kind]) => [column, fromSql[kind](row[column] ?? null)]),
  );

const keyOf = (table: Table, row: Row): SqlValue[] => table.key.map((column) => row[column] as SqlValue);

class SqliteMoveSource implements MoveSource {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  async count({ name }: Table): Promise<number> {
    return this.#connection.prepare<{ n: number }>(`SELECT count(*) AS n FROM ${name}`).get()?.n ?? 0;
  }

  async *pages(table: Table, after?: Row): AsyncGenerator<readonly Row[]> {
    const key = table.key.join(', ');
    const marks = table.key.map(() => '?').join(', ');
    const select = `SELECT ${Object.keys(table.columns).join(', ')} FROM ${table.name}`;
    const end = `ORDER BY ${key} LIMIT ${ROWS_PER_PAGE}`;
    const first = this.#connection.prepare<SqlRow>(`${select} ${end}`);
    const next = this.#connection.prepare<SqlRow>(`${select} WHERE (${key}) > (${marks}) ${end}`);
    for (let last = after; ; ) {
      const rows = last === undefined ? first.all() : next.all(...keyOf(table, last));
      if (rows.length === 0) return;
      const page = rows.map((row) => toRow(table, row));
      yield page;
      last = page.at(-1);
      // Between the pages others have their turn, whoever wants to interrupt this for one.
      await nextTurn();
    }
  }

  readonly #finds = new Map<Table, (row: Row) => Row | undefined>();

  async find(table: Table, row: Row): Promise<Row | undefined> {
    const find = this.#finds.get(table) ?? this.#prepareFind(table);
    this.#finds.set(table, find);
    return find(row);
  }

  #prepareFind(table: Table): (row: Row) => Row | undefined {
    const where = table.key.map((column) => `${column} = ?`).join(' AND ');
    const select = `SELECT ${Object.keys(table.columns).join(', ')} FROM ${table.name} WHERE ${where}`;
    const statement = this.#connection.prepare<SqlRow>(select);
    return (row) => {
      const found = statement.get(...keyOf(table, row));
      return found && toRow(table, found);
    };
  }

  async lastStamps(): Promise<LastStamp[]> {
    const sql = 'SELECT id AS companyId, last_stamp AS stamp FROM companies';
    return this.#connection.prepare<{ companyId: string; stamp: number }>(sql).all();
  }

  async close(): Promise<void> {
    this.#connection.exec('ROLLBACK');
    try {
      this.#connection.useWriteAheadLog();
    } catch {
      // Somebody was quicker, and does it when they open the file.
    }
    this.#connection.close();
  }
}
