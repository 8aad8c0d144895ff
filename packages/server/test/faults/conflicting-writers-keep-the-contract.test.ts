import type { Client } from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import { LONG_STORE_TIMEOUTS } from '../../../testing/harness/timeouts.ts';
import type { LeadInput } from '../../src/leads/record.ts';
import { openPostgresStore } from '../../src/store/postgres/store.ts';
import type { Store } from '../../src/store/store.ts';
import { shareCluster } from './cluster.ts';
import { eventually } from './eventually.ts';
import { expectUnavailable, type Instance, serve } from './instance.ts';
import { connect, connectionsOf, endAllConnections } from './sql.ts';

const server = shareCluster({ deadlock_timeout: '50ms' });

const insert = (client: Client, companyId: string, id: string) =>
  client.query('INSERT INTO leadtap.leads (company_id, id) VALUES ($1, $2)', [companyId, id]);

const idsOf = async ({ poll }: Instance, companyId: string): Promise<string[]> =>
  (await poll(companyId, 'since=1970-01-01')).leads.map(({ id }) => id);

async function newestOf({ poll }: Instance, companyId: string): Promise<string> {
  return (await poll(companyId, 'since=1970-01-01')).leads.at(-1)?.createdAt ?? '';
}

async function cleanService(): Promise<Instance> {
  const service = await serve(server().url);
  await (await connect(server().url)).query('DELETE FROM leadtap.leads');
  return service;
}

describe('a deadlock of writers', () => {
  it('with plain SQL: one gets an error, and may retry', async () => {
    const service = await cleanService();
    const [one, two] = [await connect(server().url), await connect(server().url)];
    await one.query('BEGIN');
    await two.query('BEGIN');
    await insert(one, 'acme', 'one-a');
    await insert(two, 'globex', 'two-g');
    const both = [
      { client: one, last: insert(one, 'globex', 'one-g') },
      { client: two, last: insert(two, 'acme', 'two-a') },
    ];
    const outcomes = await Promise.allSettled(both.map(({ last }) => last));
    expect(outcomes.filter(({ status }) => status === 'rejected')).toEqual([
      { status: 'rejected', reason: expect.objectContaining({ code: '40P01' }) },
    ]);
    for (const [index, { client }] of both.entries())
      await client.query(outcomes[index]?.status === 'rejected' ? 'ROLLBACK' : 'COMMIT');
    const again = outcomes[0]?.status === 'rejected' ? 'one' : 'two';
    const client = again === 'one' ? one : two;
    await client.query('BEGIN');
    await insert(client, 'acme', `${again}-a`);
    await insert(client, 'globex', `${again}-g`);
    await client.query('COMMIT');
    expect((await idsOf(service, 'acme')).sort()).toEqual(['one-a', 'two-a']);
    expect((await idsOf(service, 'globex')).sort()).toEqual(['one-g', 'two-g']);
  });

  it("with Leadtap's own batches does not happen", async () => {
    const service = await cleanService();
    const observer = await connect(server().url);
    const deadlocks = async () =>
      (await observer.query('SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()'))
        .rows;
    const before = await deadlocks();
    const store = await openPostgresStore({ url: server().url, ...LONG_STORE_TIMEOUTS });
    const batches = Array.from({ length: 60 }, (_, index): LeadInput[] => {
      const leads = ['acme', 'globex'].map((companyId) => ({ companyId, id: `${index}`, fields: {} }));
      return index % 2 === 0 ? leads : leads.reverse();
    });
    await Promise.all(batches.map((batch) => store.writeLeads(batch)));
    // A connection reports its statistics when it ends.
    await store.close();
    await service.stop();
    await eventually(async () => expect(await connectionsOf(observer)).toEqual([]));
    expect(await deadlocks()).toEqual(before);
  });

  it("with SQL and one of Leadtap's batches: the batch is retried", async () => {
    const { store } = await cleanService();
    const client = await connect(server().url);
    const observer = await connect(server().url);
    const { rows } = await client.query<{ id: string }>('SELECT id FROM leadtap.companies ORDER BY id');
    const [first = '', second = ''] = rows.map(({ id }) => id);
    // With a long deadlock_timeout, so that the other one detects the deadlock.
    await client.query(`SET deadlock_timeout = '1h'`);
    await client.query('BEGIN');
    await insert(client, second, 'sql');
    const batch = store.writeLeads(
      [first, second].map((companyId) => ({ companyId, id: 'batch', fields: {} })),
    );
    await eventually(async () =>
      expect(await connectionsOf(observer)).toContainEqual(expect.objectContaining({ waits: true })),
    );
    await insert(client, first, 'sql');
    await client.query('COMMIT');
    expect(await batch).toMatchObject({ results: [{ kind: 'added' }, { kind: 'added' }] });
  });
});

describe.each(['REPEATABLE READ', 'SERIALIZABLE'])('a writer in %s', (level) => {
  async function begin(): Promise<Client> {
    const client = await connect(server().url);
    await client.query(`BEGIN ISOLATION LEVEL ${level}`);
    // From here on it sees nothing new.
    await client.query('SELECT FROM leadtap.companies');
    return client;
  }
  const write = (store: Store, id: string) => store.writeLeads([{ companyId: 'acme', id, fields: {} }]);

  it('keeps the contract without other writers', async () => {
    const service = await cleanService();
    await write(service.store, 'first');
    const client = await begin();
    await insert(client, 'acme', 'second');
    await insert(client, 'acme', 'third');
    await client.query('COMMIT');
    await write(service.store, 'fourth');
    expect(await idsOf(service, 'acme')).toEqual(['first', 'second', 'third', 'fourth']);
  });

  it('is stamped after a lead that another one deletes, and that it still sees', async () => {
    const service = await cleanService();
    await write(service.store, 'first');
    const first = await newestOf(service, 'acme');
    const client = await begin();
    await (await connect(server().url)).query('DELETE FROM leadtap.leads');
    await insert(client, 'acme', 'late');
    await client.query('COMMIT');
    expect(Date.parse(await newestOf(service, 'acme'))).toBeGreaterThan(Date.parse(first));
  });

  it('fails, and must be retried, after another one adds a lead', async () => {
    const service = await cleanService();
    await write(service.store, 'first');
    const client = await begin();
    await write(service.store, 'unseen');
    await expect(insert(client, 'acme', 'late')).rejects.toMatchObject({ code: '40001' });
    await client.query('ROLLBACK');
    await client.query(`BEGIN ISOLATION LEVEL ${level}`);
    await insert(client, 'acme', 'late');
    await client.query('COMMIT');
    expect((await idsOf(service, 'acme')).at(-1)).toBe('late');
  });
});

describe('a database whose transactions are REPEATABLE READ by default', () => {
  const setDefault = async (sql: string) => {
    const admin = await connect(server().url);
    await admin.query(`ALTER ROLE postgres ${sql}`);
    return admin;
  };

  it('is reported, accepts leads, and answers polls again after the fix', async () => {
    const { store, poll, probe, log } = await serve(server().url);
    onTestFinished(async () => void (await setDefault('RESET default_transaction_isolation')));
    const admin = await setDefault(`SET default_transaction_isolation = 'repeatable read'`);
    await endAllConnections(admin);
    await eventually(async () => {
      expectUnavailable(await poll('acme'));
      const message = log.filter(({ level }) => level === 'error').at(-1)?.err?.message;
      expect(message).toContain('isolation level READ COMMITTED');
    });
    expectUnavailable(await probe('/readyz'));
    await store.writeLeads([{ companyId: 'acme', id: 'taken', fields: {} }]);
    await setDefault('RESET default_transaction_isolation');
    await eventually(async () => expect(await poll('acme')).toMatchObject({ status: 200 }));
    expect(await probe('/readyz')).toMatchObject({ status: 200 });
  });
});
