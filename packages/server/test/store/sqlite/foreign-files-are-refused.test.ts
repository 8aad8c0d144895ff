import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openSqliteStore, SchemaVersionError, StoreUnavailableError, UnusableDatabaseError } from 'leadtap';
import { beforeEach, describe, expect, it } from 'vitest';
import { tempFolder } from '../../../../testing/harness/temp-folder.ts';
import { Connection } from '../../../src/store/sqlite/connection.ts';
import { expectedVersion } from '../../../src/store/sqlite/migrate.ts';
import { inspectSqlite, migrateSqlite } from '../../../src/store/sqlite/store.ts';

let file = '';
beforeEach(() => {
  file = join(tempFolder(), 'leadtap.db');
});

function run(sql: string): void {
  const connection = new Connection(file);
  connection.exec(sql);
  connection.close();
}

const make = async () => (await openSqliteStore({ file })).close();

describe('a database that Leadtap cannot use', () => {
  it('of another program is refused and not changed', async () => {
    run('CREATE TABLE notes (text TEXT)');
    const before = readFileSync(file);
    for (const open of [
      () => openSqliteStore({ file }),
      () => migrateSqlite(file),
      () => inspectSqlite(file),
    ])
      await expect(open()).rejects.toThrow(UnusableDatabaseError);
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  it('of a newer Leadtap is refused', async () => {
    await make();
    run(`INSERT INTO migrations VALUES (${expectedVersion() + 1}, 'newer.sql', '')`);
    const refusal = new SchemaVersionError(expectedVersion() + 1, expectedVersion());
    await expect(openSqliteStore({ file })).rejects.toThrow(refusal);
    await expect(migrateSqlite(file)).rejects.toThrow(refusal);
    await expect(openSqliteStore({ file, migrate: false })).rejects.toThrow(refusal);
  });

  it('without a schema is refused and not created if migrations are off', async () => {
    const refusal = new SchemaVersionError(0, expectedVersion());
    await expect(openSqliteStore({ file, migrate: false })).rejects.toThrow(refusal);
    expect(() => readFileSync(file)).toThrow('ENOENT');
    writeFileSync(file, '');
    await expect(openSqliteStore({ file, migrate: false })).rejects.toThrow(refusal);
  });

  it('that is not a database is refused and not changed', async () => {
    const text = 'This is a letter, and a long one. '.repeat(100);
    writeFileSync(file, text);
    for (const open of [
      () => openSqliteStore({ file }),
      () => migrateSqlite(file),
      () => inspectSqlite(file),
    ])
      await expect(open()).rejects.toThrow(UnusableDatabaseError);
    expect(readFileSync(file, 'utf8')).toBe(text);
  });

  it('that is a folder, or below a file, is unavailable', async () => {
    mkdirSync(file);
    await expect(openSqliteStore({ file })).rejects.toThrow(StoreUnavailableError);
    const letter = join(tempFolder(), 'letter.txt');
    writeFileSync(letter, 'Dear Ada');
    await expect(openSqliteStore({ file: join(letter, 'leadtap.db') })).rejects.toThrow(
      StoreUnavailableError,
    );
  });
});

describe('a file that Leadtap can use', () => {
  it('may be empty', async () => {
    writeFileSync(file, '');
    await make();
    expect(await inspectSqlite(file)).toMatchObject({ schemaVersion: expectedVersion(), faults: [] });
  });

  it('is opened without migration when it is up to date', async () => {
    await make();
    const store = await openSqliteStore({ file, migrate: false });
    await store.ping();
    await store.close();
  });

  it('is not created by an inspection', async () => {
    expect(await inspectSqlite(file)).toMatchObject({ exists: false, schemaVersion: 0 });
    expect(() => readFileSync(file)).toThrow('ENOENT');
  });
});
