import { execFile } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Client } from 'pg';
import { expect, test, vi } from 'vitest';
import { findProgram } from '../../../../testing/servers/find-program.ts';
import { POSTGRES } from '../../../../testing/servers/programs.ts';
import { makeNextVersion, schemaVersionOf } from '../../upgrades/next-version.ts';
import { ownCluster } from './own-cluster.ts';
import { connectSql } from './sql-client.ts';

const run = promisify(execFile);
const PACKAGE = fileURLToPath(new URL('../../../', import.meta.url));

const { address, emptyDatabase } = ownCluster();

const current = schemaVersionOf('postgres');
const newest = current + 1;
const NEXT_SQL = 'ALTER TABLE leadtap.leads ADD COLUMN next text; CREATE INDEX next ON leadtap.leads (next)';

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
  // Newer versions add a random word.
  return stdout.replace(/^\\(un)?restrict .*$/gm, '');
}

async function versions(database: string): Promise<unknown[]> {
  const client = await connectSql(address('postgres', database));
  const { rows } = await client.query('SELECT version FROM leadtap.migrations ORDER BY version');
  await client.end();
  return rows.map(({ version }) => version);
}

/** An empty database, or one that the present program has made. */
async function databaseAt(version: number): Promise<string> {
  const database = await emptyDatabase();
  if (version > 0) expect(await migrate(PACKAGE, database)).toMatchObject({ from: 0, to: version });
  return database;
}

const upTo = (version: number) => Array.from({ length: version }, (_, index) => index + 1);

let expected: string | undefined;

/** The schema that a single process creates. */
async function dumpOfOne(program: string): Promise<string> {
  const database = await databaseAt(0);
  await migrate(program, database);
  return dump(database);
}

interface Blocker {
  readonly version: number;
  /** The first process has to wait for it in the middle of its migration. */
  readonly statement: string;
  /** PostgreSQL's name for that wait. */
  readonly wait: string;
}

const BLOCKERS: readonly Blocker[] = [
  { version: 0, statement: 'CREATE SCHEMA leadtap', wait: 'transactionid' },
  { version: current, statement: 'LOCK TABLE leadtap.leads IN ACCESS SHARE MODE', wait: 'relation' },
];

/**
 * Holds the first process until the second one waits too, which must be for the lock of migrations. Without that lock,
 * both have read the same version by then, and they only end well because a retry hides their conflict.
 */
async function migrateAtOnce(program: string, database: string, { statement, wait }: Blocker) {
  const url = address('postgres', database);
  const [client, observer] = [await connectSql(url), await connectSql(url)];
  await client.query(`BEGIN; ${statement}`);
  const reports = Promise.all([migrate(program, database), migrate(program, database)]);
  const areWaiting = async () => expect(await lockWaits(observer)).toEqual(['advisory', wait]);
  await vi.waitFor(areWaiting, { interval: 20 });
  await client.query('ROLLBACK');
  await Promise.all([client.end(), observer.end()]);
  return reports;
}

async function lockWaits(observer: Client): Promise<string[]> {
  const { rows } = await observer.query<{ wait_event: string }>(
    `SELECT wait_event FROM pg_stat_activity
      WHERE datname = current_database() AND application_name = 'leadtap' AND wait_event_type = 'Lock' ORDER BY 1`,
  );
  return rows.map(({ wait_event }) => wait_event);
}

test.each(BLOCKERS)('from version $version, two processes at once end as one does', async (blocker) => {
  const { version } = blocker;
  const { folder: program } = makeNextVersion(NEXT_SQL);
  expected ??= await dumpOfOne(program);
  expect(expected).toContain('next text');

  const database = await databaseAt(version);
  const reports = await migrateAtOnce(program, database, blocker);
  reports.sort((a, b) => a.from - b.from);
  expect(reports).toMatchObject([
    { from: version, to: newest, applied: { length: newest - version } },
    { from: newest, to: newest, applied: [] },
  ]);
  expect(await versions(database)).toEqual(upTo(newest));
  expect(await dump(database)).toBe(expected);
});
