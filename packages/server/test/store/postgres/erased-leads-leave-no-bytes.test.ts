import { join } from 'node:path';
import { Readable } from 'node:stream';
import { openPostgresStore } from 'leadtap';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { ORGANISATION } from '../../../../testing/harness/organisation.ts';
import { ownPostgres } from '../../../../testing/harness/own-servers.ts';
import { tempFolder } from '../../../../testing/harness/temp-folder.ts';
import { LONG_STORE_TIMEOUTS } from '../../../../testing/harness/timeouts.ts';
import type { PostgresServer } from '../../../../testing/servers/postgres.ts';
import { main } from '../../../src/cli/main.ts';
import { captureStream } from '../../cli/capture-stream.ts';
import { findMarks, writePeople } from '../../erase/support/people.ts';
import { connectSql } from './sql-client.ts';

const ends: (() => unknown)[] = [];
let server: PostgresServer;

beforeAll(async () => {
  // Without it, segments of the write-ahead log that are no longer needed get new names and keep their bytes.
  server = await ownPostgres({ settings: { wal_recycle: 'off', autovacuum: 'off' } }, (end) =>
    ends.push(end),
  );
});
afterAll(async () => {
  for (const end of ends) await end();
});

async function run(argv: readonly string[], url = server.url) {
  const [stdout, stderr] = [captureStream(), captureStream()];
  const code = await main(argv, {
    env: { LEADTAP_DATABASE_URL: url, LEADTAP_AUTO_MIGRATE: 'false' },
    ...{ cwd: tempFolder(), stdin: Readable.from([]), stdout, stderr, clock: Date.now },
    signal: new AbortController().signal,
    storeTimeouts: LONG_STORE_TIMEOUTS,
  });
  return { code, stdout: stdout.text(), stderr: stderr.text() };
}

async function fill(count: number) {
  const store = await openPostgresStore({ url: server.url, connections: 2 });
  onTestFinished(() => store.close());
  await store.applyOrganisation(ORGANISATION);
  const people = await writePeople(store, count);
  const sql = await connectSql(server.url);
  // Samples of the columns that it analyses are in the files, too.
  await sql.query('ANALYZE leadtap.leads');
  await sql.query('CHECKPOINT');
  const { rows } = await sql.query('SHOW data_directory');
  return { people, sql, folder: join(rows[0].data_directory, '..') };
}

test('after leads erase --vacuum, no file of the server contains the persons', async () => {
  const { people, sql, folder } = await fill(300);
  const erased = people.filter((_, index) => index % 10 === 0);
  const marks = erased.map(({ mark }) => mark);
  const dataFiles = () => findMarks(folder, marks).filter((path) => !path.includes('/pg_wal/'));
  expect(dataFiles()).not.toEqual([]);
  const argv = ['leads', 'erase', ...erased.flatMap(({ email }) => ['--email', email]), '--yes', '--vacuum'];
  const { code, stdout, stderr } = await run(argv);
  expect({ code, stdout }).toEqual({ code: 0, stdout: '30 leads erased\n' });
  expect(stderr).toContain(
    'The write-ahead log, WAL archives and backups of PostgreSQL contain the deleted leads',
  );
  await sql.query('CHECKPOINT');
  expect(dataFiles()).toEqual([]);

  // docs/privacy.md: the write-ahead log has them until its segments are removed.
  await sql.query('SELECT pg_switch_wal()');
  await sql.query('CHECKPOINT');
  expect(findMarks(folder, marks)).toEqual([]);
  const left = await sql.query('SELECT count(*)::integer AS n FROM leadtap.leads');
  expect(left.rows).toEqual([{ n: 270 }]);
});

test('without --vacuum, deleted rows are vacuumed, and the command says that bytes may remain', async () => {
  const { people, sql } = await fill(50);
  const { code, stderr } = await run(['leads', 'erase', people[0]?.lead.id ?? '', '--yes']);
  expect(code).toBe(0);
  expect(stderr).toContain('Free space in the files of PostgreSQL may contain bytes of the deleted leads');
  expect(stderr).toContain('`leadtap leads erase --vacuum`');
  await sql.query('SELECT pg_stat_clear_snapshot()');
  const { rows } = await sql.query(
    `SELECT last_vacuum IS NOT NULL AS vacuumed FROM pg_stat_user_tables WHERE relname = 'leads'`,
  );
  expect(rows).toEqual([{ vacuumed: true }]);
});

test('a login that does not own the table may erase, and gets the command for the owner', async () => {
  const { people, sql } = await fill(50);
  await sql.query('DROP ROLE IF EXISTS app');
  await sql.query('CREATE ROLE app LOGIN IN ROLE leadtap_service');
  const url = server.url.replace('postgres@', 'app@');
  const first = await run(['leads', 'erase', people[0]?.lead.id ?? '', '--yes'], url);
  expect(first).toMatchObject({ code: 0, stdout: '1 lead erased\n' });
  expect(first.stderr).toContain(
    'run as its owner: VACUUM (FULL, ANALYZE) leadtap.leads, leadtap.refused_leads, leadtap.activity',
  );
  const asked = await run(['leads', 'erase', people[1]?.lead.id ?? '', '--yes', '--vacuum'], url);
  expect(asked).toMatchObject({ code: 1, stdout: '1 lead erased\n' });
});

test('--vacuum gives up soon if a transaction uses the table, so that polls do not wait behind it', async () => {
  const { sql } = await fill(50);
  await sql.query('BEGIN');
  await sql.query('SELECT count(*) FROM leadtap.leads');
  const { code, stderr } = await run(['leads', 'erase', '--vacuum']);
  await sql.query('COMMIT');
  expect(code).toBe(1);
  expect(stderr).toContain('The table was not rewritten (another program holds a lock of the database)');
});
