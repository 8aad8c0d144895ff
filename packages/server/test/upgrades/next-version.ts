import { cpSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inject } from 'vitest';
import { tempFolder } from '../../../testing/harness/temp-folder.ts';

const PACKAGE = fileURLToPath(new URL('../../', import.meta.url));

export const migrationsOf = (store: 'sqlite' | 'postgres'): string => join('src/store', store, 'migrations');

/** The number of the newest migration. */
export const schemaVersionOf = (store: 'sqlite' | 'postgres'): number =>
  readdirSync(join(PACKAGE, migrationsOf(store))).length;

const ADD_COLUMN = {
  sqlite: 'ALTER TABLE leads ADD COLUMN next TEXT',
  postgres: 'ALTER TABLE leadtap.leads ADD COLUMN next text',
};

export interface NextVersion {
  readonly folder: string;
  readonly bin: string;
}

/** The built program with one more migration. */
export function makeNextVersion(sql = ADD_COLUMN[inject('store')]): NextVersion {
  const folder = tempFolder();
  for (const part of ['bin', 'dist', 'assets', 'package.json', 'src/store'])
    cpSync(join(PACKAGE, part), join(folder, part), { recursive: true });
  symlinkSync(join(PACKAGE, '../../node_modules'), join(folder, 'node_modules'));
  const store = inject('store');
  const name = `${String(schemaVersionOf(store) + 1).padStart(4, '0')}_next.sql`;
  writeFileSync(join(folder, migrationsOf(store), name), sql);
  return { folder, bin: join(folder, 'bin/leadtap.js') };
}
