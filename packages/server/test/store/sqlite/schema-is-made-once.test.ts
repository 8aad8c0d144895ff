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
  it('is made once, although eight processes open it at the same time', async () => {
    const file = newFile();
    const script = new URL('fixtures/open-store.js', import.meta.url);
    const processes = Array.from({ length: 8 }, () => new FixtureProcess(script, file));
    for (const process of processes) expect(await process.hear()).toBe('ready');
    for (const process of processes) process.say('open');
    const answers = await Promise.all(processes.map((process) => process.hear()));
    expect(new Set(answers)).toEqual(new Set([`opened at version ${expectedVersion()}`]));
  });

  it('is not made again by a process that another one has overtaken', () => {
    const file = newFile();
    const [slow, quick] = [new Connection(file), new Connection(file)];
    const { transaction } = slow;
    // It has seen that the schema is missing; before it gets the lock, the other one is done.
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

  it('is reported by the one who made it, and found complete by the next', async () => {
    const file = newFile();
    const to = expectedVersion();
    const applied = expect.arrayContaining(['0001_foundation.sql']);
    expect(await migrateSqlite(file)).toEqual({ from: 0, to, applied });
    expect(await migrateSqlite(file)).toEqual({ from: to, to, applied: [] });
  });
});
