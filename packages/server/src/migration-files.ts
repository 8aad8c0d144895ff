import { readdirSync, readFileSync } from 'node:fs';

export interface Migration {
  readonly version: number;
  readonly name: string;
  readonly sql: string;
}

/** The numbered .sql files of a folder, in their order. */
export function readMigrations(folder: URL): readonly Migration[] {
  const files = readdirSync(folder).filter((file) => /^\d{4}_\w+\.sql$/.test(file));
  return files.sort().map((name) => ({
    version: Number.parseInt(name, 10),
    name,
    sql: readFileSync(new URL(name, folder), 'utf8'),
  }));
}
