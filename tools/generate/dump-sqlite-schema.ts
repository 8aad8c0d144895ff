import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { openSqliteStore } from 'leadtap';

const INTRODUCTION = `-- Made by \`npm run generate\` from the migrations. This is what they come to: read it here, change it there.`;

/** packages/server/src/store/sqlite/schema.sql: the schema of a database that all migrations have gone over. */
export async function sqliteSchema(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'leadtap-schema-'));
  try {
    const file = join(folder, 'leadtap.db');
    await (await openSqliteStore({ file })).close();
    return dump(file);
  } finally {
    await rm(folder, { recursive: true });
  }
}

function dump(file: string): string {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    const value = (pragma: string) =>
      Number(Object.values(database.prepare(`PRAGMA ${pragma}`).get() ?? {})[0]);
    const pragmas = ['application_id', 'user_version'].map((name) => `PRAGMA ${name} = ${value(name)};`);
    // In the order in which they were made. What SQLite makes for itself has no SQL.
    const statements = database
      .prepare('SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid')
      .all()
      .map((row) => `${Object.values(row)[0]};`);
    return `${[INTRODUCTION, pragmas.join('\n'), ...statements].join('\n\n')}\n`;
  } finally {
    database.close();
  }
}
