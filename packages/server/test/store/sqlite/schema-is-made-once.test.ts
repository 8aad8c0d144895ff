import { join } from 'node:path';
import { openSqliteStore } from 'leadtap';
import { describe, expect, it, vi } from 'vitest';
import { tempFolder } from '../../../../testing/harness/temp-folder.ts';
import { Connection } from '../../../src/store/sqlite/connection.ts';
import { expectedVersion, migrate } from '../../../src/store/sqlite/migrate.ts';
import { inspectSqlite, migrateSqlite } from '../../../src/store/sqlite/store.ts';
import { FixtureProcess } from '../fixture-process.ts';

const newFile = () => join(tempFolder(), 'leadtap.db');

describe('the schema of a new database', () => {
  it('is created once, although eight processes open it at the same time', async () => {
    const file = newFile();
    const script = new URL('fixtures/open-store.js', import.meta.url);
    const processes = Array.from({ length: 8 }, () => new FixtureProcess(script, file));
    for (const process of processes) expect(await process.receive()).toBe('ready');
    for (const process of processes) process.send('open');
    const answers = await Promise.all(processes.map((process) => process.receive()));
    expect(new Set(answers)).toEqual(new Set([`opened at version ${expectedVersion()}`]));
  });

  it('is not created again by a process that waited for another one', () => {
    const file = newFile();
    const [slow, quick] = [new Connection(file), new Connection(file)];
    const { transaction } = slow;
    // It finds no schema, but the other connection creates one before it gets the lock.
    vi.spyOn(slow, 'transaction').mockImplementationOnce((work) => {
      migrate(quick);
      return transaction.call(slow, work) as never;
    });
    const to = expectedVersion();
    expect(migrate(slow)).toEqual({ from: to, to, applied: [] });
    for (const connection of [slow, quick]) connection.close();
  });

  it('waits for a program that is reading the file, without blocking the event loop', async () => {
    const file = newFile();
    const reader = new Connection(file);
    reader.exec('BEGIN; SELECT count(*) FROM sqlite_schema');
    const opening = openSqliteStore({ file });
    reader.exec('COMMIT');
    await (await opening).close();
    reader.close();
    expect(await inspectSqlite(file)).toMatchObject({ schemaVersion: expectedVersion(), faults: [] });
  });

  it('is reported by the command that creates it, and found complete by the next one', async () => {
    const file = newFile();
    const to = expectedVersion();
    const applied = expect.arrayContaining(['schema.sql']);
    expect(await migrateSqlite(file)).toEqual({ from: 0, to, applied });
    expect(await migrateSqlite(file)).toEqual({ from: to, to, applied: [] });
  });
});
