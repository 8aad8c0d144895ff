import { createRequire } from 'node:module';
import process from 'node:process';

/** The part of the `node:sqlite` API that Leadtap uses. */
export interface DatabaseSync {
  exec(sql: string): void;
  prepare(sql: string): StatementSync;
  close(): void;
}

export type SqlValue = string | number | null;

interface StatementSync {
  run(...values: SqlValue[]): { changes: number | bigint };
  get(...values: SqlValue[]): unknown;
  all(...values: SqlValue[]): unknown[];
}

interface Driver {
  DatabaseSync: new (file: string) => DatabaseSync;
}

const require = createRequire(import.meta.url);

/** SQLite is built into Node from 22.13 on; before, a package with the same API and ready binaries stands in. */
export function loadDriver(): Driver {
  const builtIn: Driver | undefined = process.getBuiltinModule('node:sqlite');
  if (builtIn) return builtIn;
  const standIn: Driver = require('@photostructure/sqlite');
  return standIn;
}
