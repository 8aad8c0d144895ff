import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { openSqliteStore, StoreUnavailableError } from 'leadtap';
import { beforeEach, describe, expect, it } from 'vitest';
import { ORGANISATION } from '../../../../testing/harness/organisation.ts';
import { tempFolder } from '../../../../testing/harness/temp-folder.ts';
import { Connection } from '../../../src/store/sqlite/connection.ts';

let file = '';
beforeEach(() => {
  file = join(tempFolder(), 'leadtap.db');
});

const FULL = 2;

describe('every connection', () => {
  it.each([
    ['synchronous', FULL],
    ['fullfsync', 1],
    ['foreign_keys', 1],
    ['busy_timeout', 0],
  ])('has %s at %i', (name, value) => {
    const connection = new Connection(file);
    expect(Object.values(connection.prepare<object>(`PRAGMA ${name}`).get() ?? {})).toEqual([value]);
    connection.close();
  });
});

describe('a store', () => {
  it('writes ahead of the database file, and a commit is in the log', async () => {
    const store = await openSqliteStore({ file });
    await store.applyOrganisation(ORGANISATION);
    expect(existsSync(`${file}-wal`)).toBe(true);
    const other = new Connection(file);
    expect(other.prepare('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' });
    other.close();
    await store.close();
  });
});

describe('a full disk', () => {
  const fill = (connection: Connection) =>
    connection.retryWhileBusy(0, () =>
      connection.transaction(() => connection.exec('INSERT INTO t VALUES (zeroblob(1000000))')),
    );

  it('makes a write fail with "unavailable", and the connection can still be used', async () => {
    const connection = new Connection(file);
    connection.exec('CREATE TABLE t (a); PRAGMA max_page_count = 10');
    await expect(fill(connection)).rejects.toThrow(new StoreUnavailableError('the disk is full'));
    connection.exec('PRAGMA max_page_count = 1000000');
    await fill(connection);
    expect(connection.prepare('SELECT count(*) AS n FROM t').get()).toEqual({ n: 1 });
    connection.close();
  });
});
