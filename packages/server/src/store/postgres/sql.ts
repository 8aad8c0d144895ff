import type { ColumnKind } from '../../leads/row.ts';
import {
  type ColumnType,
  type Dialect,
  runAsync,
  type SqlDatabase,
  type SqlTask,
  type TaskOptions,
} from '../../sql/sql.ts';
import { type Database, NO_TIMEOUT_MS, type Session } from './connection.ts';

/** The types of columns, as `json_to_recordset` reads them. */
export const RECORD_TYPES: Readonly<Record<ColumnType | ColumnKind, string>> = {
  text: 'text',
  nullAsEmpty: 'text',
  time: 'bigint',
  integer: 'integer',
  boolean: 'boolean',
  json: 'jsonb',
  texts: 'text[]',
};

const POSTGRES: Dialect = {
  isIn: (column, parameter) => `(${column} = ANY (CAST(${parameter} AS text[])))`,
  rows(json, columns) {
    const entries = Object.entries(columns);
    const values = entries.map(([field, type]) =>
      type === 'time' ? `leadtap.from_ms(j."${field}") AS "${field}"` : `j."${field}"`,
    );
    const definitions = entries.map(([field, type]) => `"${field}" ${RECORD_TYPES[type]}`);
    return `(
    SELECT ${values.join(', ')} FROM json_to_recordset(CAST(${json} AS json)) AS j (${definitions.join(', ')}))`;
  },
  /** OFFSET keeps the planner from joining in another order. */
  joinEach: (table, alias, condition) =>
    `CROSS JOIN LATERAL (SELECT * FROM leadtap.${table} AS ${alias} WHERE ${condition} OFFSET 0) AS ${alias}`,
  joinValues: (query, alias) => `CROSS JOIN LATERAL (${query}) AS ${alias}`,
  indexedBy: () => '',
  /** The collation of the database may have other lower-case letters, and is slower. */
  containsAscii: (text, parameter) => `strpos(lower(${text} COLLATE "C"), ${parameter}) > 0`,
  /** Fewer would take longer, because each step is a transaction. More with long texts would take more time than a search may. */
  leadsPerStep: 150,
  jsonOfRows: (values, condition) =>
    `CAST(json_agg(json_build_array(${values.join(', ')})) FILTER (WHERE ${condition}) AS text)`,
  lastStampOf: (companyId) => `leadtap.last_stamp(${companyId})`,
};

/**
 * A table without statistics, after a bulk load for one, would be read and sorted as a whole. With statistics, a merge join would
 * read all users before those of a page, and a hash join all of them.
 */
const INDEX_SCANS = `SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_mergejoin = off;
  SET LOCAL enable_hashjoin = off; SET LOCAL jit = off`;

const TIMEOUTS = {
  short: { statementTimeoutMs: 5000, lockTimeoutMs: 2000 },
  none: { statementTimeoutMs: NO_TIMEOUT_MS },
};

/** Runs a task in the transaction of the session. */
export const runTask = <T>(session: Session, task: SqlTask<T>): Promise<T> =>
  runAsync(task, (query) => session.query(query.sql, query.values));

/** Reads are transactions, too: the server ends a statement that takes too long, and the connection stays usable. */
export function runTasksOn(database: Database): SqlDatabase {
  const optionsOf = ({ timeout }: TaskOptions = {}) => ({
    ...(timeout && TIMEOUTS[timeout]),
    settings: INDEX_SCANS,
  });
  return {
    dialect: POSTGRES,
    /** The first query is sent with BEGIN, in one round trip: it changes nothing. */
    read(task, options) {
      const { value: first, done } = task().next();
      const opening = done ? undefined : { text: first.sql, values: first.values };
      const read = (session: Session, opened: readonly unknown[]) => {
        const answers = [Promise.resolve(opened)];
        return runAsync(task(), (query) => answers.pop() ?? session.query(query.sql, query.values));
      };
      return database.transaction(read, { ...optionsOf(options), ...(opening && { opening }) });
    },
    write: (task, options) => database.transaction((session) => runTask(session, task()), optionsOf(options)),
  };
}
