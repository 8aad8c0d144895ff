import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openSqliteStore, SchemaVersionError, UnusableDatabaseError } from 'leadtap';
import { expect, it, onTestFinished, vi } from 'vitest';
import { tempFolder } from '../../../../testing/harness/temp-folder.ts';
import { Connection } from '../../../src/store/sqlite/connection.ts';
import { inspectSqlite, migrateSqlite } from '../../../src/store/sqlite/store.ts';

const newFile = () => join(tempFolder(), 'leadtap.db');

/** Counts calls from now on. */
function countClosed() {
  const close = vi.spyOn(Connection.prototype, 'close');
  onTestFinished(() => close.mockRestore());
  return close;
}

it('by migrate and inspect, once each', async () => {
  const file = newFile();
  const close = countClosed();
  await migrateSqlite(file);
  expect(close).toHaveBeenCalledTimes(1);
  await inspectSqlite(file);
  expect(close).toHaveBeenCalledTimes(2);
});

it('by every function that refuses the file', async () => {
  const file = newFile();
  const foreign = new Connection(file);
  foreign.exec('CREATE TABLE notes (text TEXT)');
  foreign.close();
  const close = countClosed();
  for (const open of [migrateSqlite, inspectSqlite, () => openSqliteStore({ file })])
    await expect(open(file)).rejects.toThrow(UnusableDatabaseError);
  expect(close).toHaveBeenCalledTimes(3);
});

it('by a refused store at once, and by an open store when it is closed', async () => {
  const file = newFile();
  writeFileSync(file, '');
  const close = countClosed();
  await expect(openSqliteStore({ file, migrate: false })).rejects.toThrow(SchemaVersionError);
  expect(close).toHaveBeenCalledTimes(1);
  const store = await openSqliteStore({ file });
  expect(close).toHaveBeenCalledTimes(1);
  await store.close();
  expect(close).toHaveBeenCalledTimes(2);
});
