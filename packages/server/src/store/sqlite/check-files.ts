import type { Connection } from './connection.ts';

/** SQLite's own check of the file, and of the references between rows. A sentence for each fault. */
export function checkFiles(connection: Connection): string[] {
  const integrity = connection.prepare<{ quick_check: string }>('PRAGMA quick_check').all();
  const references = connection.prepare<{ table: string; parent: string }>('PRAGMA foreign_key_check').all();
  return [
    ...integrity.map((row) => row.quick_check).filter((line) => line !== 'ok'),
    ...references.map(
      ({ table, parent }) => `a row of ${table} refers to a row of ${parent} that is not there`,
    ),
  ];
}
