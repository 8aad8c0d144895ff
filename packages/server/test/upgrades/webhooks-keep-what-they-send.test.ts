import { join } from 'node:path';
import { expect, inject, it } from 'vitest';
import { withClient } from '../../../testing/delivery-trial/postgres/with-client.ts';
import { Connection } from '../../src/store/sqlite/connection.ts';
import { programOf } from './programs.ts';
import { type ReleaseDatabase, restoreRelease, unpackProgram } from './release.ts';

async function execute({ url, folder }: ReleaseDatabase, sql: string): Promise<void> {
  if (inject('store') === 'postgres')
    return withClient(url, async (client) => void (await client.query(sql)));
  const connection = new Connection(join(folder, 'leadtap.db'));
  connection.exec(sql);
  connection.close();
}

/** As development versions have stored it: what a hook sends was the fragment of its URL. */
const HOOKS: Readonly<Record<string, readonly [url: string, through: number]>> = {
  batch: ['/batch#leads', 7],
  behind: ['/both#leads', 5],
  event: ['/both', 6],
  further: ['/both#lead', 9],
  lead: ['/lead#lead', 8],
};

it('a webhook that sent batches sends each lead from its position, and older programs are refused', async () => {
  const database = await restoreRelease();
  const isSqlite = inject('store') === 'sqlite';
  const time = (ms: number) => (isSqlite ? `${ms}` : `to_timestamp(${ms / 1000})`);
  const rows = Object.entries(HOOKS).map(
    ([id, [path, through]]) =>
      `('${id}', 'soleil', 'ada', 't', 'https://hooks.zapier.com${path}', '', ${time(1)}, ${time(through)}, 0, ${time(1)})`,
  );
  const columns =
    'id, company_id, user_id, token_id, url, base_url, created_at, announced_through, failures, not_before';
  const table = isSqlite ? 'hooks' : 'leadtap.hooks';
  await execute(
    database,
    `DELETE FROM ${table}; INSERT INTO ${table} (${columns}) VALUES ${rows.join(', ')}`,
  );

  const { stdout } = await programOf(database).run('hooks', 'list', '--json');
  const at = (ms: number) => new Date(ms).toISOString();
  // Of two that would send the same to one URL, the one that is further behind.
  expect(JSON.parse(stdout)).toMatchObject([
    { id: 'batch', send: 'lead', announcedThrough: at(7) },
    { id: 'behind', send: 'lead', announcedThrough: at(5) },
    { id: 'event', send: 'event', announcedThrough: at(6) },
    { id: 'lead', send: 'lead', announcedThrough: at(8) },
  ]);
  expect(await programOf(database, unpackProgram()).run('hooks', 'list')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('a newer Leadtap has updated the database'),
  });
});
