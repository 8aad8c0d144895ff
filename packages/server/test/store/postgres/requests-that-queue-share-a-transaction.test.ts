import { Client } from 'pg';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { makeTestDatabase } from '../../../../testing/harness/database.ts';
import { sendLeads } from '../../../../testing/harness/intake.ts';
import { ORGANISATION } from '../../../../testing/harness/organisation.ts';
import { startService } from '../../../../testing/harness/service.ts';
import { untilChangesAreTracked } from '../../cache/support/change-tracking.ts';
import { eventually } from '../../faults/eventually.ts';
import { connect, connectionsOf, holdLock } from '../../faults/sql.ts';

const SCOPE = { level: 'COMPANY', companyId: 'acme' } as const;
const BOSS = { userId: 'boss' };
const lead = (id: string, place: { branchId?: string } = {}) => ({
  ...{ companyId: 'acme', id, ...place },
  fields: { firstName: 'Ada' },
});
const idempotencyOf = (letter: string, body: string) => ({
  ...{ keyHash: letter.repeat(64), bodyHash: body.repeat(64) },
  derivedIds: new Set<string>(),
});

async function openStore(...statements: readonly string[]) {
  const database = await makeTestDatabase();
  const store = await database.openStore();
  onTestFinished(() => store.close());
  await store.applyOrganisation(ORGANISATION);
  const client = await connect(database.url);
  for (const statement of statements) await client.query(statement);
  /** Sends while the company is locked: the first request waits for the lock in the database, the others behind it. */
  const whileLocked = async <T>(send: () => Promise<T>[]) => {
    const holder = await holdLock(database.url, 'acme');
    const sent = [store.writeAllLeads([lead('first')], SCOPE), ...send()];
    await eventually(async () =>
      expect((await connectionsOf(client)).filter(({ waits }) => waits)).toHaveLength(1),
    );
    await holder.end();
    const [, ...outcomes] = await Promise.allSettled(sent);
    return outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : outcome.reason));
  };
  const stored = async () =>
    (await client.query('SELECT id, xmin::text AS transaction FROM leadtap.leads ORDER BY created_at')).rows;
  const lock = (companyId: string) => holdLock(database.url, companyId);
  return { store, client, whileLocked, stored, lock };
}

/** A trigger of the operator's. */
const onInsert = (action: string) => [
  `CREATE FUNCTION on_insert() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${action}; RETURN NEW; END $$`,
  'CREATE TRIGGER on_insert BEFORE INSERT ON leadtap.leads FOR EACH ROW EXECUTE FUNCTION on_insert()',
];

/** For leads with the id `bad`. */
const onBad = (action: string) => onInsert(`IF NEW.id = 'bad' THEN ${action}; END IF`);

describe('requests that wait for the lock of their company', () => {
  it('share a transaction, and one that is not written affects no other', async () => {
    const { store, whileLocked, stored } = await openStore();
    await store.writeAllLeads([lead('earlier')], SCOPE, BOSS, idempotencyOf('a', '1'));
    await store.writeAllLeads([lead('reused')], SCOPE, BOSS, idempotencyOf('c', '1'));
    await store.revokeToken('revoked');
    const outcomes = await whileLocked(() => [
      store.writeAllLeads([lead('1')], SCOPE, BOSS),
      store.writeAllLeads([lead('2'), lead('3', { branchId: 'nowhere' })], SCOPE, BOSS),
      store.writeAllLeads([lead('4')], SCOPE, { ...BOSS, tokenId: 'revoked' }),
      store.writeAllLeads([lead('5')], { ...SCOPE, level: 'BRANCH', branchId: 'north' }, BOSS),
      store.writeAllLeads([lead('6')], SCOPE, BOSS, idempotencyOf('c', '2')),
      store.writeAllLeads([lead('earlier')], SCOPE, BOSS, idempotencyOf('a', '1')),
      store.writeAllLeads([lead('7')], SCOPE, BOSS, idempotencyOf('b', '1')),
    ]);
    expect(outcomes).toMatchObject([
      { kind: 'written', results: [{ kind: 'added', id: '1' }] },
      { kind: 'rejected', problems: [[], [{ field: 'branchId', value: 'nowhere' }]] },
      { kind: 'account-changed' },
      { kind: 'account-changed' },
      { kind: 'key-reused' },
      { kind: 'written', isRepeated: true, results: [{ kind: 'added', id: 'earlier' }] },
      { kind: 'written', results: [{ kind: 'added', id: '7' }] },
    ]);
    const rows = await stored();
    expect(rows.map(({ id }) => id)).toEqual(['earlier', 'reused', 'first', '1', '7']);
    expect(rows[3].transaction).toBe(rows[4].transaction);
    expect(await store.writeAllLeads([lead('7')], SCOPE, BOSS, idempotencyOf('b', '2'))).toEqual({
      kind: 'key-reused',
    });
  });

  it('come one after the other if they have the same id, or the same key', async () => {
    const { store, whileLocked } = await openStore();
    const outcomes = await whileLocked(() => [
      store.writeAllLeads([lead('1')], SCOPE, BOSS, idempotencyOf('a', '1')),
      store.writeAllLeads([lead('1')], SCOPE, BOSS, idempotencyOf('a', '1')),
      store.writeAllLeads([lead('1')], SCOPE, BOSS),
    ]);
    expect(outcomes).toMatchObject([
      { results: [{ kind: 'added', id: '1' }] },
      { isRepeated: true, results: [{ kind: 'added', id: '1' }] },
      { results: [{ kind: 'updated', id: '1' }] },
    ]);
  });

  it('are written alone if a trigger suppresses or refuses a lead of one of them', async () => {
    for (const action of ['RETURN NULL', "RAISE EXCEPTION 'refused'"]) {
      const { store, whileLocked, stored } = await openStore(...onBad(action));
      const [good, bad, other] = await whileLocked(() => [
        store.writeAllLeads([lead('good')], SCOPE, BOSS),
        store.writeAllLeads([lead('beside'), lead('bad')], SCOPE, BOSS),
        store.writeAllLeads([lead('other')], SCOPE, BOSS),
      ]);
      expect([good, other]).toMatchObject([{ kind: 'written' }, { kind: 'written' }]);
      if (action === 'RETURN NULL')
        expect(bad).toMatchObject({ kind: 'rejected', problems: [[], [{ reason: 'not-stored' }]] });
      else expect(bad).toMatchObject({ message: 'refused' });
      expect((await stored()).map(({ id }) => id)).toEqual(['first', 'good', 'other']);
    }
  });
});

describe('requests of several companies', () => {
  // In one shared queue.
  const COMPANIES = ['a', 'c', 'e'];
  /** A request with so many leads is not written together with those of other companies. */
  const MANY_LEADS = 11;
  /** More than the connections that writes use. */
  const LOCKED = Array.from({ length: 15 }, (_, n) => `locked-${n + 10}`);
  const openCompanies = async (...statements: readonly string[]) => {
    const opened = await openStore(...statements);
    const companies = [...COMPANIES, ...LOCKED].map((id) => ({ id, name: id, branches: [], users: [] }));
    await opened.store.applyOrganisation({ companies });
    const send = (companyId: string, count = 1) => {
      const others = Array.from({ length: count - 1 }, (_, n) => ({ companyId, id: `${n}`, fields: {} }));
      const leads = [{ companyId, id: companyId, fields: {} }, ...others];
      return opened.store.writeAllLeads(leads, { level: 'COMPANY', companyId });
    };
    return { ...opened, send };
  };

  it('share a transaction', async () => {
    const { send, stored } = await openCompanies();
    expect(await Promise.all(COMPANIES.map((id) => send(id)))).toMatchObject(
      COMPANIES.map(() => ({ kind: 'written' })),
    );
    const rows = await stored();
    expect(rows).toHaveLength(3);
    expect(new Set(rows.map(({ transaction }) => transaction)).size).toBe(1);
  });

  it('do not wait for a company that is locked', async () => {
    const { send, stored, lock } = await openCompanies();
    const holder = await lock('a');
    const [locked, ...others] = COMPANIES.map((id) => send(id));
    expect(await Promise.all(others)).toMatchObject([{ kind: 'written' }, { kind: 'written' }]);
    expect((await stored()).map(({ id }) => id).sort()).toEqual(['c', 'e']);
    await holder.end();
    expect(await locked).toMatchObject({ kind: 'written', results: [{ kind: 'added', id: 'a' }] });
  });

  it('do not wait for many companies that are locked', async () => {
    const { send, lock } = await openCompanies();
    const holders = await Promise.all(LOCKED.map(lock));
    let settled = 0;
    const locked = LOCKED.map((id) => send(id, MANY_LEADS).finally(() => (settled += 1)));
    for (const id of [...COMPANIES, ...COMPANIES]) expect(await send(id)).toMatchObject({ kind: 'written' });
    expect(settled).toBe(0);
    for (const holder of holders) await holder.end();
    expect(await Promise.all(locked)).toMatchObject(LOCKED.map(() => ({ kind: 'written' })));
  });

  it('wait once for all companies that are locked', async () => {
    const { client, lock } = await openCompanies();
    for (const id of LOCKED) await lock(id);
    const refs = JSON.stringify(LOCKED.map((company_id) => ({ company_id })));
    await client.query(`SET lock_timeout = '1s'`);
    const startedAt = performance.now();
    const { rows } = await client.query(
      `SELECT busy FROM leadtap.read_batch($1, '{}', '{}', '{}', '{}', 'skip')`,
      [refs],
    );
    expect(rows).toEqual([{ busy: LOCKED }]);
    // One second for each of them would be 15.
    expect(performance.now() - startedAt).toBeLessThan(14_000);
  });

  it('are written if a trigger makes the database unavailable for one of them', async () => {
    for (const condition of ['insufficient_privilege', 'undefined_table', 'serialization_failure']) {
      const trigger = `IF NEW.id = 'a' THEN RAISE ${condition}; END IF`;
      const { send, stored } = await openCompanies(...onInsert(trigger));
      const [refused, ...others] = await Promise.allSettled(COMPANIES.map((id) => send(id)));
      expect(refused).toMatchObject({ reason: { name: 'StoreUnavailableError' } });
      expect(others).toMatchObject([{ value: { kind: 'written' } }, { value: { kind: 'written' } }]);
      expect((await stored()).map(({ id }) => id).sort()).toEqual(['c', 'e']);
    }
  });
});

/** The statements that are sent together, in the order in which they are sent. */
async function roundTripsOf(work: () => Promise<unknown>): Promise<string[][]> {
  const roundTrips: string[][] = [];
  let isAnswered = true;
  const { query } = Client.prototype;
  const spy = vi.spyOn(Client.prototype, 'query').mockImplementation(function (this: Client, config) {
    const { text }: { text: string } = JSON.parse(JSON.stringify(config));
    const name = (/leadtap\.\w+\(/.exec(text) ?? /\w+/.exec(text))?.[0] ?? '';
    if (isAnswered) roundTrips.push([]);
    roundTrips.at(-1)?.push(name);
    isAnswered = false;
    const answered: Promise<unknown> = Reflect.apply(query, this, [config]);
    answered.finally(() => {
      isAnswered = true;
    });
    return answered;
  });
  await work();
  spy.mockRestore();
  return roundTrips;
}

it('a lead takes two round trips after the account was checked', async () => {
  const test = await startService();
  await untilChangesAreTracked(test.store);
  await sendLeads(test, { firstName: 'Ada' });
  const roundTrips = await roundTripsOf(() => sendLeads(test, { firstName: 'Ada' }));
  expect(roundTrips.filter(([name]) => name !== 'leadtap.revalidate(')).toEqual([
    ['BEGIN', 'leadtap.read_batch('],
    ['leadtap.add_leads(', 'COMMIT'],
  ]);
});
