import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tempFolder } from '../../../../testing/harness/temp-folder.ts';
import { Connection } from '../../../src/store/sqlite/connection.ts';
import { migrate } from '../../../src/store/sqlite/migrate.ts';
import { TABLES } from '../../../src/store/transfer/tables.ts';

/** Of one database, or moved as the stamps of companies. */
const NOT_MOVED = ['changes', 'instances', 'migrations', 'stamp_floors'];

test('a move to PostgreSQL takes every table, except those of one database', () => {
  const connection = new Connection(join(tempFolder(), 'leadtap.db'));
  migrate(connection);
  const rows = connection.prepare<{ name: string }>(
    `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`,
  );
  const names = rows.all().map(({ name }) => name);
  connection.close();
  expect(names.sort()).toEqual([...TABLES.map(({ name }) => name), ...NOT_MOVED].sort());
});
