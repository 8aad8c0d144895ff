import { existsSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { UnusableDatabaseError } from '../../sql/errors.ts';
import {
  type Column,
  type LastStamp,
  type MoveSource,
  SourceError,
  SourceInUseError,
} from '../transfer/transfer.ts';
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

const parse = (value: unknown): unknown => JSON.parse(String(value));

/** Values of the other types need no conversion. */
const FROM_SQL: Readonly<Record<string, (value: unknown) => unknown>> = {
  bool: (value) => value === 1,
  jsonb: parse,
  _text: parse,
};

const namesOf = (columns: readonly Column[]): string => columns.map(({ name }) => name).join(', ');

const COLUMNS = `
  SELECT t.name || '.' || c.name AS name FROM sqlite_schema AS t, pragma_table_info(t.name) AS c WHERE t.type = 'table'`;

const LAST_STAMPS = `
  SELECT id AS companyId, last_stamp AS stamp FROM companies
  UNION ALL
  SELECT company_id, last_stamp FROM stamp_floors WHERE company_id NOT IN (SELECT id FROM companies)`;

/** Runs work on the source and marks its errors. */
function asSource<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new SourceError(asStoreError(error));
  }
}

function createSource(connection: Connection): MoveSource {
  const read = <R extends object>(sql: string, values: readonly SqlValue[] = []): R[] =>
    asSource(() => connection.prepare<R>(sql).all(...values));
  return {
    readColumns: async () => new Set(read<{ name: string }>(COLUMNS).map(({ name }) => name)),
    countLeads: async () => read<{ leads: number }>('SELECT count(*) AS leads FROM leads')[0]?.leads ?? 0,
    lastStamps: async () => read<LastStamp>(LAST_STAMPS),

    async page({ name, columns, key }, after) {
      // Queries block the event loop. Without this, Ctrl+C would have no effect.
      await setImmediate();
      const where = after && `WHERE (${namesOf(key)}) > (${key.map(() => '?').join(', ')})`;
      const sql = `SELECT ${namesOf(columns)} FROM ${name} ${where ?? ''} ORDER BY ${namesOf(key)} LIMIT ${ROWS_PER_PAGE}`;
      const rows = read<Record<string, unknown>>(
        sql,
        after && key.map(({ name }) => after[name] as SqlValue),
      );
      for (const { name, type } of columns) {
        const convert = FROM_SQL[type];
        if (convert) for (const row of rows) row[name] = convert(row[name]);
      }
      return rows;
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
  };
}
