import { join } from 'node:path';
import { Connection } from '../../server/src/store/sqlite/connection.ts';
import type { DatabaseOptions, EngineDatabase } from './engine-database.ts';
import { tempFolder, type WhenDone } from './temp-folder.ts';

/** A file that the first store creates. Stores take the time from the clock that they are given. */
export async function makeSqliteDatabase(
  whenDone: WhenDone,
  { folder = tempFolder(whenDone) }: DatabaseOptions,
): Promise<EngineDatabase> {
  const file = join(folder, 'leadtap.db');
  return {
    url: `sqlite:${file}`,
    settings: {},
    useClock: async () => undefined,
    stopClock: async () => undefined,
    addNewerMigration: async () => addNewerMigration(file),
    deleteLead: async (companyId, id) => deleteLead(file, companyId, id),
    moveLead: async (companyId, id, branchId) => moveLead(file, companyId, id, branchId),
    addCheck: async (name, condition) => {
      // SQLite adds one only together with a column.
      const connection = new Connection(file);
      connection.exec(`ALTER TABLE leads ADD COLUMN own TEXT CONSTRAINT ${name} CHECK (${condition})`);
      connection.close();
    },
    holdLock: async () => holdLock(file, whenDone),
  };
}

function deleteLead(file: string, companyId: string, id: string): void {
  const connection = new Connection(file);
  connection.exec('PRAGMA busy_timeout = 5000');
  connection.prepare('DELETE FROM leads WHERE company_id = ? AND id = ?').run(companyId, id);
  connection.close();
}

function moveLead(file: string, companyId: string, id: string, branchId: string | null): void {
  const connection = new Connection(file);
  connection.exec('PRAGMA busy_timeout = 5000');
  connection
    .prepare('UPDATE leads SET branch_id = ?, department_id = NULL WHERE company_id = ? AND id = ?')
    .run(branchId, companyId, id);
  connection.close();
}

function addNewerMigration(file: string): void {
  const connection = new Connection(file);
  connection.exec(`INSERT INTO migrations SELECT max(version) + 1, 'newer.sql', '' FROM migrations`);
  connection.close();
}

/** The lock is one for all companies. */
function holdLock(file: string, whenDone: WhenDone): () => Promise<void> {
  const writer = new Connection(file);
  whenDone(() => writer.close());
  writer.exec('BEGIN IMMEDIATE');
  return async () => writer.exec('ROLLBACK');
}
