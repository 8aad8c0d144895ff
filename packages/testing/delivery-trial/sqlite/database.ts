import { createRequire } from 'node:module';
import process from 'node:process';
import { setTimeout as wait } from 'node:timers/promises';

type Value = string | number | null;

/** The part of `node:sqlite` that a program of the operator's uses here. */
export interface SqliteDatabase {
  exec(sql: string): void;
  prepare(sql: string): {
    run(...values: Value[]): { changes: number | bigint };
    all(...values: Value[]): unknown[];
  };
  close(): void;
}

interface Driver {
  readonly DatabaseSync: new (file: string) => SqliteDatabase;
}

const require = createRequire(import.meta.url);

/** A connection of a program that knows SQLite and nothing of Leadtap. It never waits in place for a lock. */
export function openDatabase(file: string): SqliteDatabase {
  const builtIn = process.getBuiltinModule('node:sqlite') as Driver | undefined;
  const { DatabaseSync } = builtIn ?? (require('@photostructure/sqlite') as Driver);
  const database = new DatabaseSync(file);
  database.exec('PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA busy_timeout = 0');
  return database;
}

const isBusy = (error: unknown): boolean =>
  error instanceof Error && /database is (locked|busy)/i.test(error.message);

/** Begins a transaction that holds the write lock, as soon as it is free. */
export async function beginImmediate(database: SqliteDatabase): Promise<void> {
  for (;;) {
    try {
      database.exec('BEGIN IMMEDIATE');
      return;
    } catch (error) {
      if (!isBusy(error)) throw error;
      await wait(1);
    }
  }
}

export async function withDatabase<T>(
  file: string,
  work: (database: SqliteDatabase) => T | Promise<T>,
): Promise<T> {
  const database = openDatabase(file);
  try {
    return await work(database);
  } finally {
    database.close();
  }
}
