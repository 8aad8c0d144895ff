import { closeSync, mkdirSync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { SchemaVersionError } from '../store.ts';
import { Connection } from './connection.ts';
import { asStoreError, lockNotGranted } from './errors.ts';
import { expectedVersion, migrate, refuseForeignDatabase, schemaVersion } from './migrate.ts';

/** Several processes that start at once on a new database make its schema one after the other. */
const OPEN_WAIT_MS = 10_000;

/** Throws where that cannot be found out: a folder that may not be entered does not mean that there is no file. */
export function fileExists(file: string): boolean {
  try {
    return statSync(file, { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    throw asStoreError(error);
  }
}

export function openConnection(file: string): Connection {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    // Made here and not by SQLite, which would let every user of the machine read it. Its log gets the same mode.
    closeSync(openSync(file, 'a', 0o600));
    return new Connection(file);
  } catch (error) {
    throw asStoreError(error);
  }
}

/** The first work on a file is tried again and again while another process holds the lock. */
export const firstWork = async <T>(connection: Connection, work: (connection: Connection) => T): Promise<T> =>
  granted(await connection.whenFree(OPEN_WAIT_MS, () => work(connection))).result;

/** Opens the file for this work alone. */
export async function withConnection<T>(file: string, work: (connection: Connection) => T): Promise<T> {
  const connection = openConnection(file);
  try {
    return await firstWork(connection, work);
  } finally {
    connection.close();
  }
}

export interface SchemaOptions {
  readonly mayMigrate: boolean;
  /** False: an empty file is refused. */
  readonly create: boolean;
}

export function useSchema(connection: Connection, { mayMigrate, create }: SchemaOptions): void {
  refuseForeignDatabase(connection);
  if (!create && schemaVersion(connection) === 0) throw new SchemaVersionError(0, expectedVersion());
  connection.useWriteAheadLog();
  if (mayMigrate) migrate(connection);
  const found = schemaVersion(connection);
  if (found !== expectedVersion()) throw new SchemaVersionError(found, expectedVersion());
}

export function granted<T extends object>(outcome: T | undefined): T {
  if (outcome) return outcome;
  throw lockNotGranted();
}
