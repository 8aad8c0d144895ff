import { join } from 'node:path';
import { openSqliteStore } from 'leadtap';
import { onTestFinished, vi } from 'vitest';
import { tempFolder } from '../../../../testing/harness/temp-folder.ts';
import type { SqlDatabase, SqlTask } from '../../../src/sql/sql.ts';
import { Connection } from '../../../src/store/sqlite/connection.ts';
import { prepareTasks, SQLITE } from '../../../src/store/sqlite/sql.ts';

/** The plans of the statements with this text that the work prepares on an empty database: the steps of each. */
export async function plansOf(
  text: string,
  work: (database: SqlDatabase) => Promise<unknown>,
): Promise<string[][]> {
  const file = join(tempFolder(), 'leadtap.db');
  await (await openSqliteStore({ file })).close();
  const connection = new Connection(file);
  onTestFinished(() => connection.close());
  const prepare = vi.spyOn(connection, 'prepare');
  const runTask = prepareTasks(connection, Date.now);
  const run = async <T>(task: () => SqlTask<T>): Promise<T> => runTask(task());
  await work({ dialect: SQLITE, read: run, write: run });
  const statements = prepare.mock.calls.map(([sql]) => sql).filter((sql) => sql.includes(text));
  prepare.mockRestore();
  return statements.map((sql) =>
    connection
      .prepare<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`)
      .all()
      .map(({ detail }) => detail),
  );
}
