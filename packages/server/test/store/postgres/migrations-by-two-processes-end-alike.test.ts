import { execFile } from 'node:child_process';
import { cpSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { tempFolder } from '../../../../testing/harness/temp-folder.ts';
import { findProgram } from '../../../../testing/servers/find-program.ts';
import { POSTGRES } from '../../../../testing/servers/postgres.ts';
import { readMigrations } from '../../../src/migration-files.ts';
import { ownCluster } from './own-cluster.ts';
import { connectSql } from './sql-client.ts';

const run = promisify(execFile);
const PACKAGE = fileURLToPath(new URL('../../../', import.meta.url));
const MIGRATIONS = 'src/store/postgres/migrations';

const { address, emptyDatabase } = ownCluster();

/** The migrations that there are, and one to come. */
const released = readMigrations(new URL(`../../../${MIGRATIONS}/`, import.meta.url));
const newest = released.length + 1;
const NEXT = `${String(newest).padStart(4, '0')}_next.sql`;
const NEXT_SQL = 'ALTER TABLE leadtap.leads ADD COLUMN next text; CREATE INDEX next ON leadtap.leads (next)';

/** The built program as it was when the schema had this version. */
function installed(version: number): string {
  const folder = tempFolder();
  for (const part of ['bin', 'dist', 'package.json', 'src/store'])
    cpSync(join(PACKAGE, part), join(folder, part), { recursive: true });
  symlinkSync(join(PACKAGE, '../../node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, MIGRATIONS, NEXT), NEXT_SQL);
  for (const { name } of [...released, { name: NEXT }].slice(version)) rmSync(join(folder, MIGRATIONS, name));
  return folder;
}

interface Report {
  readonly from: number;
  readonly to: number;
  readonly applied: readonly string[];
}

async function migrate(folder: string, database: string): Promise<Report> {
  const argv = [join(folder, 'bin/leadtap.js'), 'migrate', '--json'];
  const env = { PATH: process.env['PATH'], LEADTAP_DATABASE_URL: address('postgres', database) };
  const { stdout } = await run(process.execPath, argv, { cwd: folder, env });
  return JSON.parse(stdout);
}

/** All of the schema: tables, constraints, functions, triggers, comments, owners and rights. */
async function dump(database: string): Promise<string> {
  const program = join(realpathSync(findProgram(POSTGRES)), '../pg_dump');
  const { stdout } = await run(program, ['--schema-only', '--schema=leadtap', address('postgres', database)]);
  // Newer versions put a word of chance around it.
  return stdout.replace(/^\\(un)?restrict .*$/gm, '');
}

async function versions(database: string): Promise<unknown[]> {
  const client = await connectSql(address('postgres', database));
  const { rows } = await client.query('SELECT version FROM leadtap.migrations ORDER BY version');
  await client.end();
  return rows.map(({ version }) => version);
}

/** Made by one program after the other. */
async function databaseAt(version: number): Promise<string> {
  const database = await emptyDatabase();
  if (version > 0)
    expect(await migrate(installed(version), database)).toMatchObject({ from: 0, to: version });
  return database;
}

const upTo = (version: number) => Array.from({ length: version }, (_, index) => index + 1);

let expected: string | undefined;

/** What a single process makes of an empty database. */
async function dumpOfOne(program: string): Promise<string> {
  const database = await databaseAt(0);
  await migrate(program, database);
  return dump(database);
}

/** An empty database, the oldest schema and the newest one. How migrations wait for each other is the same for all. */
test.each([0, 1, newest - 1])('from version %i, two processes at once end as one does', async (version) => {
  const program = installed(newest);
  expected ??= await dumpOfOne(program);
  expect(expected).toContain('next text');

  const database = await databaseAt(version);
  const reports = await Promise.all([migrate(program, database), migrate(program, database)]);
  reports.sort((a, b) => a.from - b.from);
  expect(reports).toMatchObject([
    { from: version, to: newest, applied: { length: newest - version } },
    { from: newest, to: newest, applied: [] },
  ]);
  expect(await versions(database)).toEqual(upTo(newest));
  expect(await dump(database)).toBe(expected);
});
