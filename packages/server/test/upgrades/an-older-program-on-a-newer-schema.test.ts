import { join } from 'node:path';
import type { Lead } from '@leadtap/contract';
import { expect, inject, it } from 'vitest';
import { withClient } from '../../../testing/delivery-trial/postgres/with-client.ts';
import { Connection } from '../../src/store/sqlite/connection.ts';
import { terminal } from '../cli/terminal.ts';
import { makeNextVersion, schemaVersionOf } from './next-version.ts';
import { programOf } from './programs.ts';
import { type ReleaseDatabase, restoreRelease, withFieldsOf } from './release.ts';

const prefix = () => (inject('store') === 'sqlite' ? '' : 'leadtap.');
const own = () => schemaVersionOf(inject('store'));

const numbered = (version: number) => String(version).padStart(4, '0');

/** A database that a newer version has migrated. */
async function migrateToNext(): Promise<ReleaseDatabase> {
  const database = await restoreRelease();
  const { bin } = makeNextVersion();
  expect(await programOf(database, bin).run('migrate')).toMatchObject({ code: 0, stderr: '' });
  return database;
}

/** As if the newer version had another name for its migration. */
async function renameNext({ url, folder }: ReleaseDatabase, name: string): Promise<void> {
  const sql = `UPDATE ${prefix()}migrations SET name = '${name}' WHERE version = ${own() + 1}`;
  if (inject('store') === 'postgres')
    return withClient(url, async (client) => void (await client.query(sql)));
  const connection = new Connection(join(folder, 'leadtap.db'));
  connection.exec(sql);
  connection.close();
}

function commandsOn({ url }: ReleaseDatabase) {
  const { run } = terminal();
  return (command: string, env = {}) =>
    run(command, { env: { LEADTAP_DATABASE_URL: url, ...env }, parts: { clock: Date.now } });
}

it('a schema that a newer version has migrated is used, unless it needs a newer version', async () => {
  const database = await migrateToNext();
  const command = commandsOn(database);
  const upToDate = `The schema is up to date, at version ${own() + 1}. Nothing was done.\n`;
  expect(await command('migrate')).toEqual({ code: 0, stdout: upToDate, stderr: '' });
  expect((await command('doctor')).stdout).toContain(`✓ schema: version ${own() + 1}`);
  expect(await command('user list', { LEADTAP_AUTO_MIGRATE: 'false' })).toMatchObject({ code: 0 });
  await expectService(database);

  await renameNext(database, `next_needs_${numbered(own())}.sql`);
  expect(await command('user list')).toMatchObject({ code: 0 });

  await renameNext(database, `next_needs_${numbered(own() + 1)}.sql`);
  for (const refused of ['serve', 'migrate', 'user list']) {
    const { code, stderr } = await command(refused);
    expect(code).toBe(1);
    expect(stderr).toContain('a newer Leadtap has updated the database');
    expect(stderr).toContain(`has version ${own() + 1}, this program supports version ${own()}`);
    expect(stderr).toContain('Update this Leadtap.');
    expect(stderr).toContain('restore the backup that was made before the update');
  }
  expect((await command('doctor')).stdout).toContain('restore the backup');
});

/** It answers as before, and takes leads. */
async function expectService(database: ReleaseDatabase): Promise<void> {
  const { url } = await programOf(database).serve();
  const { tokens, answers } = database.expected;
  const request = (path: string, name: string, options: RequestInit = {}) => {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${tokens[name]?.token}` };
    return fetch(`${url}${path}`, { ...options, headers });
  };
  const [first] = answers;
  const answer = await request(first?.path ?? '', 'ada');
  expect(withFieldsOf(first?.body ?? '', await answer.text())).toBe(first?.body);
  const body = JSON.stringify({ id: 'after-rollback', fullName: 'New' });
  expect((await request('/leads', 'sender', { method: 'POST', body })).status).toBe(201);
  const newest = (await (await request('/automation/new-leads?limit=1', 'ada')).json()) as Lead[];
  expect(newest).toMatchObject([{ id: 'after-rollback' }]);
}
