import { expect, test } from 'vitest';
import { Connection } from '../../src/store/sqlite/connection.ts';
import { runMove } from './commands.ts';
import { makeFilledEndpoints } from './filled.ts';

/** Of one database, or moved as the stamps of companies. */
const NOT_MOVED = ['changes', 'instances', 'migrations', 'stamp_floors'];

test('a move takes every table and column, except those of one database', async () => {
  const endpoints = await makeFilledEndpoints();
  const { stdout } = await runMove(endpoints, '--json');
  const connection = new Connection(endpoints.file);
  const columns = connection
    .prepare<{ table: string; column: string }>(
      `SELECT t.name AS "table", c.name AS "column" FROM sqlite_schema AS t, pragma_table_info(t.name) AS c
        WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%'`,
    )
    .all()
    .filter(({ table }) => !NOT_MOVED.includes(table));
  connection.close();
  const moved = Object.keys(JSON.parse(stdout).rows);
  expect(moved.sort()).toEqual([...new Set(columns.map(({ table }) => table))].sort());

  const target = await endpoints.sql(
    `SELECT table_name || '.' || column_name AS name FROM information_schema.columns WHERE table_schema = 'leadtap'`,
  );
  const names = target.map(({ name }) => name);
  expect(
    columns.map(({ table, column }) => `${table}.${column}`).filter((name) => !names.includes(name)),
  ).toEqual(['companies.last_stamp']);
});
