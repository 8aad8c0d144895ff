import type { Clock } from '../../lib/clock.ts';
import { type Dialect, type Query, READ_NOW, runSync, type SqlTask, toSqlite } from '../../sql/sql.ts';
import type { Connection, SqlValue, Statement } from './connection.ts';

export const SQLITE: Dialect = {
  isIn: (column, parameter) => `${column} IN (SELECT value FROM json_each(${parameter}))`,
  rows: (json, columns) => `(
    SELECT ${Object.keys(columns)
      .map((field) => `value ->> '${field}' AS "${field}"`)
      .join(', ')} FROM json_each(${json}))`,
  joinEach: (table, alias, condition, index) =>
    `CROSS JOIN ${table} AS ${alias} ${index === undefined ? '' : `INDEXED BY ${index}`} ON ${condition}`,
  /** There is no LATERAL: the values as an array, and its items as rows. */
  joinValues: (query, alias) =>
    `CROSS JOIN json_each((SELECT json_group_array(value) FROM (${query}))) AS ${alias}`,
  indexedBy: (index) => `INDEXED BY ${index}`,
  containsAscii: (text, parameter) => `instr(lower(${text}), ${parameter}) > 0`,
  /** A part of a millisecond, or 15 ms if each lead has 60 kB of text: it blocks the event loop. */
  leadsPerStep: 60,
  jsonOfRows: (values, condition) =>
    `json_group_array(json_array(${values.join(', ')})) FILTER (WHERE ${condition})`,
  lastStampOf: (companyId) => `(SELECT nullif(last_stamp, 0) FROM companies WHERE id = ${companyId})`,
};

/** Lists are JSON, and a boolean is 0 or 1. */
const encode = (value: unknown): SqlValue => {
  if (typeof value === 'string' || typeof value === 'number') return value;
  if (typeof value === 'boolean') return Number(value);
  return value === null || value === undefined ? null : JSON.stringify(value);
};

/** Runs tasks on a connection, and prepares each statement once. */
export function prepareTasks(connection: Connection, clock: Clock) {
  const statements = new Map<string, Statement<object>>();

  function run({ sql, values, isLock }: Query): readonly unknown[] {
    if (isLock) return [];
    if (sql === READ_NOW) return [{ now: clock() }];
    const statement = statements.get(sql) ?? connection.prepare<object>(toSqlite(sql));
    statements.set(sql, statement);
    const rows = statement.all(...values.map(encode));
    // A row of the driver has no prototype, and so differs from an object that is otherwise the same.
    for (const row of rows) Reflect.setPrototypeOf(row, Object.prototype);
    return rows;
  }

  return <T>(task: SqlTask<T>): T => runSync(task, run);
}
