import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Lead } from '@leadtap/contract';
import { expect, inject, it, onTestFinished } from 'vitest';
import { withClient } from '../../../testing/delivery-trial/postgres/with-client.ts';
import { makeTestDatabase } from '../../../testing/harness/database.ts';
import { spawnLeadtap } from '../../../testing/harness/leadtap-process.ts';
import { ORGANISATION } from '../../../testing/harness/organisation.ts';
import { tempFolder } from '../../../testing/harness/temp-folder.ts';
import { Connection } from '../../src/store/sqlite/connection.ts';
import { eventually } from '../faults/eventually.ts';
import { makeNextVersion, schemaVersionOf } from './next-version.ts';

const store = inject('store');
const [own, next] = [schemaVersionOf(store), schemaVersionOf(store) + 1];

/** A database that this version has made, and programs on it. Without `bin`: this version. */
async function makeInstallation() {
  const folder = tempFolder();
  const { url } = await makeTestDatabase(undefined, { folder, empty: true });
  const env = {
    LEADTAP_DATABASE_URL: url,
    LEADTAP_METRICS_ADDRESS: 'off',
    LEADTAP_CONSOLE: 'off',
  };
  const start = (command: string, bin?: string, settings = {}) =>
    spawnLeadtap(command.split(' '), { ...env, ...settings }, folder, undefined, bin);
  const run = (...args: Parameters<typeof start>) => start(...args).ended;
  writeFileSync(join(folder, 'organisation.json'), JSON.stringify(ORGANISATION));
  expect(await run('org apply organisation.json')).toMatchObject({ code: 0 });
  const issued = await run('token issue --user boss --scope leads:read --scope leads:write --json');
  const { token, tokenId }: { token: string; tokenId: string } = JSON.parse(issued.stdout);

  async function serve(bin?: string) {
    const { child, lines, ended } = start('serve --port 0', bin);
    let base = '';
    for (let line = await lines.next(); base === '' && !line.done; line = await lines.next()) {
      const { msg, url } = JSON.parse(line.value);
      if (msg === 'serving new leads') base = url;
    }
    const request = (path: string, options: RequestInit = {}) =>
      fetch(`${base}${path}`, {
        ...options,
        headers: { ...options.headers, authorization: `Bearer ${token}` },
      });
    return {
      poll: async (since: string, headers = {}): Promise<Lead[]> =>
        (await request(`/automation/new-leads?since=${since}`, { headers })).json() as Promise<Lead[]>,
      status: async () => (await request('/automation/new-leads')).status,
      send: async (id: string): Promise<string> => {
        const headers = { 'content-type': 'application/json' };
        const body = JSON.stringify({ id, fullName: id });
        const response = await request('/leads', { method: 'POST', headers, body });
        expect(response.status).toBe(201);
        return ((await response.json()) as { leads: [Lead] }).leads[0].createdAt;
      },
      stop: () => {
        child.kill('SIGTERM');
        return ended;
      },
    };
  }
  return { folder, url, tokenId, start, run, serve };
}

it('two versions serve a database that the next one has migrated, and the last one cannot start again', async () => {
  const { tokenId, run, serve } = await makeInstallation();
  const { bin } = makeNextVersion();
  const outdated = `schema: version ${own}, this program needs version ${next}`;
  expect(await run('doctor', bin)).toMatchObject({ stdout: expect.stringContaining(`! ${outdated}`) });
  const refused = await run('doctor', bin, { LEADTAP_AUTO_MIGRATE: 'false' });
  expect(refused).toMatchObject({ code: 1, stdout: expect.stringContaining(`✗ ${outdated}`) });

  const last = await serve();
  const stamps = [await last.send('before')];
  const newer = await serve(bin);
  // By turns, so that each stamps after a lead that the other one has stamped.
  for (const [holding, sending] of [
    [last, newer],
    [newer, last],
  ] as const) {
    const since = stamps.at(-1) ?? '';
    const held = holding.poll(since, { prefer: 'wait=50' });
    stamps.push(await sending.send(`turn-${stamps.length}`));
    expect(await held).toMatchObject([{ createdAt: stamps.at(-1) }]);
    expect(await last.poll('1970-01-01')).toEqual(await newer.poll('1970-01-01'));
  }
  expect(stamps).toEqual([...new Set(stamps)].sort());
  expect(await run(`token revoke ${tokenId}`, bin)).toMatchObject({ code: 0 });
  expect([await last.status(), await newer.status()]).toEqual([401, 401]);

  expect(await last.stop()).toMatchObject({ code: 0 });
  const { code, stderr } = await run('serve');
  expect({ code, stderr }).toMatchObject({ code: 1 });
  expect(stderr).toContain('a newer Leadtap has updated the database');
  expect(stderr).toContain(`has version ${next}, this program supports version ${own}`);
  expect(stderr).toContain('restore the backup that was made before the update');
});

/** The last migration works for minutes, or waits for a lock. */
const SLOW_SQL = {
  sqlite: `CREATE TABLE next_table (id INTEGER);
    INSERT INTO next_table WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 10000000000) SELECT max(i) FROM n`,
  postgres: 'CREATE TABLE leadtap.next_table (id integer); ALTER TABLE leadtap.branches ADD COLUMN next text',
};

it('a migration that is killed in its last step has changed nothing, and can be repeated', async () => {
  const { folder, url, start, run } = await makeInstallation();
  const { child, ended } = start('migrate', makeNextVersion(SLOW_SQL[store]).bin);
  const kill = async () => {
    child.kill('SIGKILL');
    expect(await ended).toMatchObject({ signal: 'SIGKILL', stdout: '' });
  };
  if (store === 'sqlite') {
    const connection = new Connection(join(folder, 'leadtap.db'));
    onTestFinished(() => connection.close());
    await eventually(() => expect(() => connection.exec('BEGIN IMMEDIATE; ROLLBACK')).toThrow(/locked/));
    await kill();
  } else
    await withClient(url, async (holder) => {
      await holder.query('BEGIN; LOCK TABLE leadtap.branches IN ACCESS SHARE MODE');
      const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'relation'
        AND query LIKE '%next_table%'`;
      await withClient(url, (observer) =>
        eventually(async () => expect((await observer.query(waiting)).rowCount).toBe(1)),
      );
      await kill();
    });

  const table = store === 'sqlite' ? 'next_table' : 'leadtap.next_table';
  const { bin } = makeNextVersion(`CREATE TABLE ${table} (id integer)`);
  const { stdout } = await run('migrate --json', bin);
  expect(JSON.parse(stdout)).toEqual({
    from: own,
    to: next,
    applied: [expect.stringContaining('_next.sql')],
  });
});
