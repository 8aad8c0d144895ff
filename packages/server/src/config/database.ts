import { basename, resolve } from 'node:path';
import { type Parsed, type Parser, right, wrong } from './parsed.ts';
import { describePostgres, parsePostgresUrl } from './postgres-url.ts';

export interface SqliteDatabase {
  readonly kind: 'sqlite';
  /** Absolute. */
  readonly file: string;
}

export interface PostgresDatabase {
  readonly kind: 'postgres';
  /** Holds the password: people are shown `describeDatabase` instead. */
  readonly url: string;
  /** How many connections one process holds at most. */
  readonly connections: number;
}

export type Database = SqliteDatabase | PostgresDatabase;

/** What the address alone tells. */
export type DatabaseAddress = SqliteDatabase | Omit<PostgresDatabase, 'connections'>;

const SQLITE_WRITE = 'Write sqlite: and the path of a file, such as sqlite:./data/leadtap.db.';

/** The value is not shown in messages: it may hold a password. */
export const parseDatabaseUrl: Parser<DatabaseAddress> = (text, cwd) => {
  if (/^sqlite:/.test(text)) return parseSqliteUrl(text.slice('sqlite:'.length), cwd);
  if (!/^postgres(ql)?:\/\//i.test(text))
    return wrong(
      'it begins neither with sqlite: nor with postgres://',
      'Write sqlite:./data/leadtap.db, or postgres://user:password@host:5432/database.',
    );
  const url = parsePostgresUrl(text, cwd);
  return url.kind === 'wrong' ? url : right({ kind: 'postgres', url: url.value });
};

function parseSqliteUrl(text: string, cwd: string): Parsed<SqliteDatabase> {
  const path = text.replace(/^\/\/(?=\/)/, '');
  const problem = databasePathProblem(path);
  if (problem !== undefined) return wrong(problem, SQLITE_WRITE);
  return right({ kind: 'sqlite', file: resolve(cwd, path) });
}

function databasePathProblem(path: string): string | undefined {
  if (basename(path) === ':memory:')
    return 'a database in memory cannot be shared, and the server and the commands are processes of their own';
  if (path === '' || /[/\\]$/.test(path) || /^\.{1,2}$/.test(basename(path))) return 'it names no file';
  if (path.startsWith('//')) return 'it names a host, but SQLite opens files only';
  if (path.startsWith('~')) return 'the ~ of a shell means nothing here';
  if (path.includes('?')) return 'it takes no options after a question mark';
  return undefined;
}

/** One waits for the lock of a busy company while the other serves the rest. */
const MIN_CONNECTIONS = 2;
const MAX_CONNECTIONS = 1000;

export const parseConnections: Parser<number> = (text) => {
  const count = Number(text);
  if (/^\d{1,4}$/.test(text) && count >= MIN_CONNECTIONS && count <= MAX_CONNECTIONS) return right(count);
  return wrong(
    'it is not a number of connections',
    `Write a whole number from ${MIN_CONNECTIONS} to ${MAX_CONNECTIONS}.`,
  );
};

/** The database as people are told of it: the path of its file, or its address without the password. */
export const describeDatabase = (database: DatabaseAddress): string =>
  database.kind === 'sqlite' ? database.file : describePostgres(database.url);
