import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { expect, inject, it } from 'vitest';
import { withClient } from '../../../testing/delivery-trial/postgres/with-client.ts';
import { Connection } from '../../src/store/sqlite/connection.ts';
import { terminal } from '../cli/terminal.ts';

const fileOf = (url: string): string => url.replace('sqlite:', '');

async function execute(url: string, sql: string): Promise<void> {
  if (inject('store') === 'postgres')
    return withClient(url, async (client) => void (await client.query(sql)));
  const connection = new Connection(fileOf(url));
  connection.exec(sql);
  // Otherwise the next program may write the log back.
  connection.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  connection.close();
}

/** The bytes of a file; of a server, what it lists. */
async function snapshot(url: string): Promise<unknown> {
  if (inject('store') === 'sqlite') return hash('sha256', readFileSync(fileOf(url)));
  return withClient(url, async (client) => {
    const objects = `SELECT relname, xmin FROM pg_class WHERE relnamespace = to_regnamespace('leadtap') ORDER BY 1`;
    return [(await client.query(objects)).rows, (await client.query('TABLE leadtap.migrations')).rows];
  });
}

const [prefix, early] =
  inject('store') === 'sqlite'
    ? ['', 'DROP TABLE migrations']
    : ['leadtap.', 'ALTER TABLE leadtap.migrations DROP COLUMN checksum'];
const CHANGES = [
  `UPDATE ${prefix}migrations SET checksum = 'other'`,
  `UPDATE ${prefix}migrations SET version = 9999`,
  early,
  ...(inject('store') === 'sqlite' ? [] : [`UPDATE leadtap.migrations SET functions = 'other'`]),
];

it.each(CHANGES)('a database of another version (%s) is refused, unchanged', async (change) => {
  const { run, database } = terminal();
  await run('migrate');
  const { url } = await database();
  await execute(url, change);
  const before = await snapshot(url);
  for (const command of ['migrate', 'user list', 'serve', 'doctor']) {
    const { code, stdout, stderr } = await run(command);
    expect(code).toBe(1);
    const output = stdout + stderr;
    expect([command, await snapshot(url)]).toEqual([command, before]);
    expect(output).toContain('another version of Leadtap made the database');
    expect(output).toContain('Nothing was changed.');
    expect(output).toContain('`leadtap org export` and `leadtap leads export`');
    expect(output).toContain('`leadtap org apply` and `leadtap leads import --historical`');
  }
});
