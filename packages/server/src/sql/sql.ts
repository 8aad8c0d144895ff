/**
 * SQL that both databases run, so that each statement is written once. It is written as PostgreSQL reads it: tables in the schema
 * `leadtap`, parameters `$1`, times converted by `leadtap.from_ms` and `leadtap.to_ms`, row locks with FOR UPDATE. `toSqlite` removes
 * what SQLite does not have, and a `Dialect` has the parts whose form differs. Values are always parameters.
 */

export type SqlValue = string | number | boolean | null | readonly string[];

export interface Query {
  readonly sql: string;
  readonly values: readonly SqlValue[];
  readonly isLock?: true;
}

/**
 * Work on a database: a generator that yields queries and receives their rows. SQLite runs it synchronously, because polls share its
 * connection and must not come between two statements of a transaction; PostgreSQL runs it asynchronously.
 */
export type SqlTask<T> = Generator<Query, T, readonly unknown[]>;

export interface TaskOptions {
  /** `short`: for work that is tried again soon. `none`, at a database server: its duration depends on the size of a table. */
  readonly timeout?: 'short' | 'none';
}

/** A database that runs tasks, each of them perhaps more than once: after a deadlock, or while another program holds the lock. */
export interface SqlDatabase {
  readonly dialect: Dialect;
  /** Each query sees what is committed when it begins. */
  read<T>(task: () => SqlTask<T>, options?: TaskOptions): Promise<T>;
  /** In one transaction. */
  write<T>(task: () => SqlTask<T>, options?: TaskOptions): Promise<T>;
}

/** `const rows = yield* query<Row>(sql, values)`. The conformance suite shows that `Row` describes the rows. */
export function* query<Row>(sql: string, values: readonly SqlValue[] = []): SqlTask<Row[]> {
  return (yield { sql, values }) as Row[];
}

/** Takes a lock until the transaction ends. SQLite skips it: its transactions have the lock of the whole database. */
export function* lock(sql: string, values: readonly SqlValue[] = []): SqlTask<void> {
  yield { sql, values, isLock: true };
}

export const READ_NOW = 'SELECT leadtap.clock_ms() AS now';

/** The clock that stamps leads. A query of its own: the planner of PostgreSQL uses an index for a time that it knows. */
export function* readNow(): SqlTask<number> {
  const [row] = yield* query<{ now: number }>(READ_NOW);
  return row?.now ?? 0;
}

/** A few megabytes of JSON at most, to bound the memory; large enough that round trips do not count. */
const ROWS_PER_STATEMENT = 5000;

/** Runs a statement over any number of objects, with a JSON array of them as `$1`. */
export function* queryInChunks<Row>(statement: string, objects: readonly object[]): SqlTask<Row[]> {
  const results: Row[] = [];
  for (let start = 0; start < objects.length; start += ROWS_PER_STATEMENT) {
    const chunk = objects.slice(start, start + ROWS_PER_STATEMENT);
    // Not spread: a statement may return more rows than a call takes arguments.
    for (const row of yield* query<Row>(statement, [JSON.stringify(chunk)])) results.push(row);
  }
  return results;
}

export function runSync<T>(task: SqlTask<T>, run: (query: Query) => readonly unknown[]): T {
  let step = task.next();
  while (!step.done) step = task.next(run(step.value));
  return step.value;
}

export async function runAsync<T>(
  task: SqlTask<T>,
  run: (query: Query) => Promise<readonly unknown[]>,
): Promise<T> {
  let step = task.next();
  while (!step.done) step = task.next(await run(step.value));
  return step.value;
}

/** `time`: milliseconds. `nullAsEmpty`: a text of a primary key, in which a null is stored as ''. */
export type ColumnType = 'text' | 'nullAsEmpty' | 'time' | 'integer' | 'boolean';

/** What is written in another form in each database. */
export interface Dialect {
  /** Whether a column is in a list of texts, which is a parameter. */
  isIn(column: string, parameter: string): string;
  /** The objects of a JSON array as rows with these columns, for FROM. */
  rows(json: string, columns: Readonly<Record<string, ColumnType>>): string;
  /** Joins the rows of a table for each row before it: the planner neither begins with this table nor reads it as a whole. */
  joinEach(table: string, alias: string, condition: string, index?: string): string;
  /** Joins the rows of a query that uses the row before it. The query has one column, `value`, and so has the alias. */
  joinValues(query: string, alias: string): string;
  /** After the name of a table. SQLite has no statistics and would choose another index. */
  indexedBy(index: string): string;
  /** Whether a text contains the text of a parameter, which is in lower case. Letters that are not ASCII may not be found. */
  containsAscii(text: string, parameter: string): string;
  /** How many leads one statement of a search compares. */
  readonly leadsPerStep: number;
  /** The rows of which a condition is true as one text: a JSON array with an array for each. Null or empty if there are none. */
  jsonOfRows(values: readonly string[], condition: string): string;
  /** The newest `created_at` that was ever given in a company; null if there was none. */
  lastStampOf(companyId: string): string;
}

/** Times are milliseconds in SQLite, and it has one schema. */
export const toSqlite = (sql: string): string =>
  sql
    .replaceAll(/\bleadtap\.(?:from_ms|to_ms)\b/g, '')
    .replaceAll(/\bleadtap\./g, '')
    .replaceAll(/\bFOR (?:NO KEY )?UPDATE(?: OF \w+)?(?: SKIP LOCKED)?/g, '')
    .replaceAll(/\$(\d)/g, '?$1');

/** For ranges without a start or an end: outside of the years that ISO 8601 writes with four digits. */
export const BEFORE_ALL_MS = Date.parse('0000-01-01T00:00:00.000Z') - 1;
export const BEFORE_ALL_TIMES = `leadtap.from_ms(${BEFORE_ALL_MS})`;
export const AFTER_ALL_MS = Date.UTC(10_000, 0);
export const AFTER_ALL_TIMES = `leadtap.from_ms(${AFTER_ALL_MS})`;

/** No text with a NUL or with half of a surrogate pair is stored: a driver would cut it, or look for another text. */
export const isStorable = (text: string): boolean => !/[\0\p{Surrogate}]/u.test(text);

export const storableOrNull = (text: string | undefined): string | null =>
  text !== undefined && isStorable(text) ? text : null;

interface Column {
  readonly field: string;
  readonly name: string;
  readonly type: ColumnType;
}

/** A table whose rows are objects. The field `createdAt` is in the column `created_at`. */
export interface Table<Row> {
  readonly name: string;
  readonly types: { readonly [Field in keyof Row]: ColumnType };
  /** The columns of its primary key. */
  readonly key: readonly string[];
}

const columnsOf = <Row>(types: Table<Row>['types']): Column[] =>
  Object.entries<ColumnType>(types).map(([field, type]) => ({
    field,
    name: field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    type,
  }));

const readColumn = (alias: string, { name, type }: Column): string => {
  const column = `${alias}.${name}`;
  if (type === 'nullAsEmpty') return `nullif(${column}, '')`;
  return type === 'time' ? `leadtap.to_ms(${column})` : column;
};

/** The fields of a row, for SELECT. */
export const selectFields = <Row>(types: Table<Row>['types'], alias: string): string =>
  columnsOf(types)
    .map((column) => `${readColumn(alias, column)} AS "${column.field}"`)
    .join(', ');

/** Assigns the fields of `r`, which is of `Dialect.rows`, for UPDATE. */
export const assignFields = <Row>(types: Table<Row>['types']): string =>
  columnsOf(types)
    .map(({ name, field }) => `${name} = r."${field}"`)
    .join(', ');

/** Inserts the objects of a JSON array. */
export const insertSql = <Row>({ rows }: Dialect, { name, types }: Table<Row>): string => {
  const columns = columnsOf(types);
  const values = columns.map(({ field, type }) =>
    type === 'nullAsEmpty' ? `coalesce(r."${field}", '')` : `r."${field}"`,
  );
  // WHERE, because SQLite would read ON CONFLICT as the condition of a join.
  return `INSERT INTO leadtap.${name} (${columns.map((column) => column.name).join(', ')})
    SELECT ${values.join(', ')} FROM ${rows('$1', types)} AS r WHERE true`;
};

/** Inserts the objects of a JSON array, or updates the rows with their keys. */
export const putSql = <Row>(dialect: Dialect, table: Table<Row>): string => {
  const names = columnsOf(table.types)
    .map(({ name }) => name)
    .filter((name) => !table.key.includes(name));
  return `${insertSql(dialect, table)}
    ON CONFLICT (${table.key.join(', ')}) DO UPDATE SET ${names.map((name) => `${name} = excluded.${name}`).join(', ')}`;
};
