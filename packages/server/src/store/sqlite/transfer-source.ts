import { existsSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { UnusableDatabaseError } from '../../sql/errors.ts';
import { type LastStamp, type MoveSource, SourceError, SourceInUseError } from '../transfer/port.ts';
import type { Column, ColumnKind, Row, Table } from '../transfer/tables.ts';
import { Connection, type SqlValue } from './connection.ts';
import { asStoreError, isLockTimeout } from './errors.ts';
import { migrate } from './migrate.ts';

/** Enough for another command that is about to exit. */
const LOCK_WAIT_MS = 2000;
/** Usually some hundred kilobytes. */
const ROWS_PER_PAGE = 1000;

/** Migrates the schema, and locks the file for all other programs until it is closed. */
export async function openSqliteMoveSource(file: string): Promise<MoveSource> {
  const connection = asSource(() => open(file));
  try {
    await connection.retryWhileBusy(LOCK_WAIT_MS, () => lockExclusively(connection));
    return createSource(connection);
  } catch (error) {
    connection.close();
    throw new SourceError(
      isLockTimeout(error) ? new SourceInUseError('another program has the database open') : error,
    );
  }
}

function open(file: string): Connection {
  if (!existsSync(file)) throw new UnusableDatabaseError('there is no such file');
  return new Connection(file);
}

/**
 * A service that still runs would accept leads that are not copied. Leaving WAL mode fails while another program has the
 * file open, and no program can open it while this lock is held.
 */
function lockExclusively(connection: Connection): void {
  migrate(connection);
  connection.exec('PRAGMA journal_mode = DELETE');
  connection.exec('BEGIN EXCLUSIVE');
}

/** Values of the other kinds need no conversion. */
const FROM_SQL: Partial<Record<ColumnKind, (value: unknown) => unknown>> = {
  boolean: (value) => value === 1,
  json: (value) => JSON.parse(String(value)),
  texts: (value) => JSON.parse(String(value)),
};

/** Changes the row in place. */
function toRow({ columns }: Table, row: SqlRow): Row {
  for (const { name, kind } of columns) {
    const convert = FROM_SQL[kind];
    if (convert) row[name] = convert(row[name]);
  }
  return row;
}

const namesOf = (columns: readonly Column[]): string => columns.map(({ name }) => name).join(', ');

const LAST_STAMPS = `
  SELECT id AS companyId, last_stamp AS stamp FROM companies
  UNION ALL
  SELECT company_id, last_stamp FROM stamp_floors WHERE company_id NOT IN (SELECT id FROM companies)`;

type SqlRow = Record<string, unknown>;

/** Runs work on the source and marks its errors. */
function asSource<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new SourceError(asStoreError(error));
  }
}

const createSource = (connection: Connection): MoveSource => ({
  async count({ name }) {
    const row = asSource(() => connection.prepare<SqlRow>(`SELECT count(*) AS n FROM ${name}`).get());
    return Number(row?.['n']);
  },

  async page(table, after) {
    // Queries block the event loop. Without this, Ctrl+C would have no effect.
    await setImmediate();
    const key = namesOf(table.key);
    const marks = table.key.map(() => '?').join(', ');
    const where = after === undefined ? '' : `WHERE (${key}) > (${marks})`;
    const sql = `SELECT ${namesOf(table.columns)} FROM ${table.name} ${where} ORDER BY ${key} LIMIT ${ROWS_PER_PAGE}`;
    const values = after === undefined ? [] : table.key.map(({ name }) => after[name] as SqlValue);
    const rows = asSource(() => connection.prepare<SqlRow>(sql).all(...values));
    return rows.map((row) => toRow(table, row));
  },

  async lastStamps() {
    return asSource(() => connection.prepare<LastStamp>(LAST_STAMPS).all());
  },

  async close() {
    try {
      connection.exec('ROLLBACK');
      connection.useWriteAheadLog();
    } catch {
      // The next program that opens the file recovers its log.
    } finally {
      connection.close();
    }
  },
});
