import type { Clock } from '../../clock.ts';
import { type Dialect, type Query, READ_NOW, runSync, type SqlTask, toSqlite } from '../sql.ts';
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
};

/** Lists are JSON, and a boolean is 0 or 1. */
const encode = (value: Query['values'][number]): SqlValue => {
  if (typeof value === 'boolean') return Number(value);
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : value;
};

/** Runs tasks on a connection, and prepares each statement once. */
export function prepareTasks(connection: Connection, clock: Clock) {
  const statements = new Map<string, Statement<object>>();

  function run({ sql, values, isLock }: Query): readonly unknown[] {
    if (isLock) return [];
    if (sql === READ_NOW) return [{ now: clock() }];
    let statement = statements.get(sql);
    if (!statement) {
      statement = connection.prepare<object>(toSqlite(sql));
      statements.set(sql, statement);
    }
    // A row of the driver has no prototype, and so differs from an object that is otherwise the same.
    return statement.all(...values.map(encode)).map((row) => ({ ...row }));
  }

  return <T>(task: SqlTask<T>): T => runSync(task, run);
}
