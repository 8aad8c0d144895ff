import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inject } from 'vitest';
import { tempFolder } from '../../../testing/harness/temp-folder.ts';
import { readMigrations } from '../../src/store/migrations.ts';

const PACKAGE = fileURLToPath(new URL('../../', import.meta.url));

/** Of the present program. */
export const schemaVersionOf = (store: 'sqlite' | 'postgres'): number =>
  readMigrations(new URL(`../../src/store/${store}/`, import.meta.url)).length;

const ADD_COLUMN = {
  sqlite: 'ALTER TABLE leads ADD COLUMN next TEXT',
  postgres: 'ALTER TABLE leadtap.leads ADD COLUMN next text',
};

export interface NextVersion {
  readonly folder: string;
  readonly bin: string;
}

/** The built program with one more migration. The present program is then the last version. */
export function makeNextVersion(sql = ADD_COLUMN[inject('store')]): NextVersion {
  const folder = tempFolder();
  for (const part of ['bin', 'dist', 'assets', 'package.json', 'src/store'])
    cpSync(join(PACKAGE, part), join(folder, part), { recursive: true });
  symlinkSync(join(PACKAGE, '../../node_modules'), join(folder, 'node_modules'));
  const store = inject('store');
  const migrations = join(folder, 'src/store', store, 'migrations');
  mkdirSync(migrations, { recursive: true });
  const number = String(schemaVersionOf(store) + 1).padStart(4, '0');
  writeFileSync(join(migrations, `${number}_next.sql`), sql);
  return { folder, bin: join(folder, 'bin/leadtap.js') };
}
