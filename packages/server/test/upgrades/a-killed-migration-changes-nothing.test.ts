import { join } from 'node:path';
import { Client } from 'pg';
import { expect, inject, it, onTestFinished } from 'vitest';
import { Connection } from '../../src/store/sqlite/connection.ts';
import { eventually } from '../faults/eventually.ts';
import { makeNextVersion } from './next-version.ts';
import { programOf } from './programs.ts';
import { type ReleaseDatabase, restoreRelease } from './release.ts';

/** The last migration waits, or works for minutes. */
const LAST_SQL = {
  sqlite: `CREATE TABLE next_table (id INTEGER);
    INSERT INTO next_table WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 10000000000) SELECT max(i) FROM n`,
  postgres: 'CREATE TABLE leadtap.next_table (id integer); ALTER TABLE leadtap.branches ADD COLUMN next text',
};

/** Resolves when a migration is in its last step, with what ends the obstacle. */
const OBSTACLES = {
  sqlite: async ({ folder }: ReleaseDatabase) => {
    const connection = new Connection(join(folder, 'leadtap.db'));
    const isWritten = () => {
      try {
        connection.exec('BEGIN IMMEDIATE; ROLLBACK');
        return false;
      } catch {
        return true;
      }
    };
    return {
      reached: () => eventually(() => expect(isWritten()).toBe(true)),
      end: async () => connection.close(),
    };
  },
  postgres: async ({ url }: ReleaseDatabase) => {
    const [holder, observer] = [new Client(url), new Client(url)];
    for (const client of [holder, observer]) {
      await client.connect();
      onTestFinished(() => client.end());
    }
    await holder.query('BEGIN; LOCK TABLE leadtap.branches IN ACCESS SHARE MODE');
    const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'relation'
      AND query LIKE '%next_table%'`;
    return {
      reached: () => eventually(async () => expect((await observer.query(waiting)).rowCount).toBe(1)),
      end: async () => void (await holder.query('ROLLBACK')),
    };
  },
};

it('a migration that is killed in its last step has changed nothing, and can be repeated', async () => {
  const store = inject('store');
  const database = await restoreRelease();
  const { reached, end } = await OBSTACLES[store](database);
  const { bin } = makeNextVersion(LAST_SQL[store]);
  const { child, ended } = programOf(database, bin).start(['migrate']);
  await reached();
  child.kill('SIGKILL');
  expect(await ended).toMatchObject({ signal: 'SIGKILL', stdout: '' });
  await end();

  const table = store === 'sqlite' ? 'next_table' : 'leadtap.next_table';
  const again = makeNextVersion(`CREATE TABLE ${table} (id integer)`);
  const { stdout } = await programOf(database, again.bin).run('migrate', '--json');
  const { from, to, applied } = JSON.parse(stdout);
  expect(from).toBeLessThan(to);
  expect(applied).toHaveLength(to - from);
});
