import { existsSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { UnusableDatabaseError } from '../store.ts';
import { type LastStamp, type MoveSource, SourceError, SourceInUseError } from '../transfer/port.ts';
import type { Column, ColumnKind, Row, Table } from '../transfer/tables.ts';
import { Connection, type Statement } from './connection.ts';
import type { SqlValue } from './driver.ts';
import { asStoreError } from './errors.ts';
import { migrate, refuseForeignDatabase } from './migrate.ts';

/** For a command that is about to end anyway. */
const WAIT_MS = 2000;
/** Some hundred kilobytes, as a rule. */
const ROWS_PER_PAGE = 1000;

/** Brings the schema up to date, and keeps everybody else from the file until it is closed. */
export async function openSqliteMoveSource(file: string): Promise<MoveSource> {
  const connection = reading(() => open(file));
  try {
    const taken = await connection.whenFree(WAIT_MS, () => takeAlone(connection));
    if (!taken) throw new SourceInUseError('another program has the database open');
    return new SqliteMoveSource(connection);
  } catch (error) {
    connection.close();
    throw new SourceError(error);
  }
}

function open(file: string): Connection {
  if (!existsSync(file)) throw new UnusableDatabaseError('there is no such file');
  return new Connection(file);
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

const LAST_STAMPS = `
  SELECT id AS company_id, last_stamp FROM companies
  UNION ALL
  SELECT company_id, last_stamp FROM stamp_floors WHERE company_id NOT IN (SELECT id FROM companies)`;

type SqlRow = Record<string, unknown>;

function reading<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new SourceError(asStoreError(error));
  }
}

class SqliteMoveSource implements MoveSource {
  readonly #connection: Connection;
  readonly #statements = new Map<string, Statement<SqlRow>>();

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  async count({ name }: Table): Promise<number> {
    const row = reading(() => this.#prepare(`SELECT count(*) AS n FROM ${name}`).get());
    return Number(row?.['n']);
  }

  async page(table: Table, after: Row | undefined): Promise<readonly Row[]> {
    // Reading stops the event loop. Without a pause for each page, nobody would notice Ctrl+C.
    await nextTurn();
    const key = namesOf(table.key);
    const marks = table.key.map(() => '?').join(', ');
    const where = after === undefined ? '' : `WHERE (${key}) > (${marks})`;
    const sql = `${selectSql(table)} ${where} ORDER BY ${key} LIMIT ${ROWS_PER_PAGE}`;
    const values = after === undefined ? [] : keyOf(table, after);
    const rows = reading(() => this.#prepare(sql).all(...values));
    return rows.map((row) => toRow(table, row));
  }

  async find(table: Table, row: Row): Promise<Row | undefined> {
    const where = table.key.map(({ name }) => `${name} = ?`).join(' AND ');
    const sql = `${selectSql(table)} WHERE ${where}`;
    const found = reading(() => this.#prepare(sql).get(...keyOf(table, row)));
    return found && toRow(table, found);
  }

  async lastStamps(): Promise<LastStamp[]> {
    const rows = reading(() => this.#prepare(LAST_STAMPS).all());
    return rows.map((row) => ({ companyId: String(row['company_id']), stamp: Number(row['last_stamp']) }));
  }

  /** Each statement once, because rows are looked for one by one, and there may be millions. */
  #prepare(sql: string): Statement<SqlRow> {
    const statement = this.#statements.get(sql) ?? this.#connection.prepare<SqlRow>(sql);
    this.#statements.set(sql, statement);
    return statement;
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
