import { expect, it } from 'vitest';
import { migratePostgres } from '../../src/store/postgres/store.ts';
import { shareCluster } from './cluster.ts';
import { connect } from './sql.ts';

/** So that nothing but the commit writes the log. */
const server = shareCluster({ wal_writer_delay: 10_000 });

it('a lead of a writer with synchronous_commit = off is durable when it is committed', async () => {
  await migratePostgres(server().url);
  const writer = await connect(server().url);
  const setting = async () => (await writer.query('SHOW synchronous_commit')).rows[0]?.synchronous_commit;
  await writer.query(`INSERT INTO leadtap.companies (id, name) VALUES ('acme', 'Acme')`);
  await writer.query(`INSERT INTO leadtap.statuses (company_id, value, label, color, final, position)
    VALUES ('acme', 'NEW', 'New', '#000000', false, 0)`);
  await writer.query('SET synchronous_commit = off');
  await writer.query('BEGIN');
  await writer.query(`INSERT INTO leadtap.leads (company_id, id) VALUES ('acme', 'a')`);
  expect(await setting()).toBe('on');
  await writer.query('COMMIT');
  expect(await setting()).toBe('off');
  await server().stop('immediate');
  await server().start();
  const { rows } = await (await connect(server().url)).query('SELECT id FROM leadtap.leads');
  expect(rows).toEqual([{ id: 'a' }]);
});
