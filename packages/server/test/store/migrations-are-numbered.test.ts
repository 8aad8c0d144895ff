import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { tempFolder } from '../../../testing/harness/temp-folder.ts';
import { readMigrations } from '../../src/store/migrations.ts';

function folderWith(migrations: readonly string[], end = '\n'): URL {
  const folder = tempFolder();
  mkdirSync(join(folder, 'migrations'));
  for (const name of ['schema.sql', ...migrations.map((migration) => `migrations/${migration}`)])
    writeFileSync(join(folder, name), `SELECT 1;${end}SELECT 2;${end}`);
  return pathToFileURL(`${folder}/`);
}

test('the schema is version 1, and the files of migrations/ follow', () => {
  const found = readMigrations(folderWith(['0003_c.sql', '0002_b.sql']));
  expect(found.map(({ version, name }) => [version, name])).toEqual([
    [1, 'schema.sql'],
    [2, '0002_b.sql'],
    [3, '0003_c.sql'],
  ]);
});

test('a folder in which a migration is missing is refused', () => {
  expect(() => readMigrations(folderWith(['0003_c.sql']))).toThrow('migration 2 is missing');
});

test('a checkout with CRLF line ends has the same checksums', () => {
  const [lf, crlf] = ['\n', '\r\n'].map((end) =>
    readMigrations(folderWith(['0002_b.sql'], end)).map(({ checksum }) => checksum),
  );
  expect(lf).toEqual(crlf);
});
