import type { Client } from 'pg';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { openPostgresStore } from '../../src/store/postgres/store.ts';
import type { Store } from '../../src/store/store.ts';
import { shareCluster } from './cluster.ts';
import { eventually } from './eventually.ts';
import { serve } from './instance.ts';
import { connect } from './sql.ts';

/** In a deadlock, the one with a short time-out finds out, and PostgreSQL ends it. */
const server = shareCluster({ deadlock_timeout: '1h' });

let client: Client;
let observer: Client;
let store: Store;
/** In the order of their ids; that of their locks is the other one. */
let first: string;
let second: string;

beforeEach(async () => {
  const service = await serve(server().url);
  await service.stop();
  store = await openPostgresStore({ url: server().url });
  onTestFinished(() => store.close());
  [client, observer] = [await connect(server().url), await connect(server().url)];
  await client.query(`SET deadlock_timeout = '10ms'; DELETE FROM leadtap.leads`);
  const { rows } = await client.query<{ a: string; b: string }>(
    `SELECT 'c' || a AS a, 'c' || b AS b FROM generate_series(10, 99) AS a, generate_series(10, 99) AS b
      WHERE a < b AND leadtap.company_lock('c' || a) > leadtap.company_lock('c' || b) ORDER BY 1, 2 LIMIT 1`,
  );
  first = rows[0]?.a ?? '';
  second = rows[0]?.b ?? '';
  await store.applyOrganisation({
    companies: [first, second].map((id) => ({ id, name: id, branches: [], users: [] })),
  });
});

const insert = (companyId: string, id: string) =>
  `INSERT INTO leadtap.leads (company_id, id) VALUES ('${companyId}', '${id}')`;

const someoneWaits = () =>
  eventually(async () => {
    const { rows } = await observer.query(`SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'`);
    expect(rows).toHaveLength(1);
  });

describe('a transaction that takes companies in the order of company_id gets into no deadlock with', () => {
  it.each<[string, () => Promise<unknown>]>([
    [
      'a batch of leads',
      () => store.writeLeads([second, first].map((companyId) => ({ companyId, id: 'batch', fields: {} }))),
    ],
    [
      'leadtap.lock_companies',
      async () =>
        (await connect(server().url)).query('SELECT leadtap.lock_companies($1)', [[second, first, second]]),
    ],
  ])('%s', async (_what, other) => {
    await client.query(`${insert(second, 'newest')}; ${insert(first, 'newest')}`);
    await client.query(`BEGIN; SELECT leadtap.lock_companies(ARRAY['${first}'])`);
    const done = other();
    done.catch(() => undefined);
    await someoneWaits();
    await client.query(insert(second, 'sql'));
    await client.query(`${insert(first, 'sql')}; COMMIT`);
    await done;
  });
});

it('a DELETE of the newest leads waits for no lock of their companies', async () => {
  await client.query(`${insert(second, 'newest')}; ${insert(first, 'newest')}`);
  await client.query(`BEGIN; SELECT leadtap.lock_companies(ARRAY['${first}', '${second}'])`);
  await observer.query(`DELETE FROM leadtap.leads WHERE id = 'newest'`);
  await client.query('COMMIT');
});

it('a DELETE and an INSERT of the same lead get into no deadlock', async () => {
  const other = await connect(server().url);
  await client.query(insert(first, 'same'));
  await client.query(`BEGIN; DELETE FROM leadtap.leads WHERE id = 'same'`);
  // It holds the lock of the company, and waits for the row.
  const inserted = other.query(insert(first, 'same'));
  await someoneWaits();
  await client.query('COMMIT');
  await inserted;
  const { rows } = await observer.query(`SELECT FROM leadtap.leads WHERE id = 'same'`);
  expect(rows).toHaveLength(1);
});
