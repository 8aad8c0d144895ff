import { join } from 'node:path';
import { type LeadInput, type LeadScope, openSqliteStore } from 'leadtap';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { ORGANISATION } from '../../../../testing/harness/organisation.ts';
import { tempFolder } from '../../../../testing/harness/temp-folder.ts';
import { FairQueue } from '../../../src/lib/fair.ts';
import { Connection } from '../../../src/store/sqlite/connection.ts';
import { openSqliteStore as openSourceStore } from '../../../src/store/sqlite/store.ts';

const SCOPE: LeadScope = { level: 'COMPANY', companyId: 'acme' };
const lead = (id: string, rest: Partial<LeadInput> = {}): LeadInput => ({
  companyId: 'acme',
  id,
  fields: {},
  ...rest,
});

async function openStore(open = openSqliteStore) {
  const store = await open({ file: join(tempFolder(), 'leads.db') });
  onTestFinished(() => store.close());
  await store.applyOrganisation(ORGANISATION);
  const ids = async () => {
    const { leads } = await store.readPage({ scope: SCOPE, since: 0, limit: 100_000 });
    return leads.map(({ id }) => id);
  };
  return { store, ids };
}

describe('requests that arrive together', () => {
  it('share a transaction of at most 200 leads', async () => {
    const { store, ids } = await openStore(openSourceStore);
    const transactions = vi.spyOn(Connection.prototype, 'transaction');
    onTestFinished(() => transactions.mockRestore());
    const send = (count: number, size: number) =>
      Promise.all(
        Array.from({ length: count }, (_, n) =>
          store.writeAllLeads(
            Array.from({ length: size }, (_, index) => lead(`${size}-${n}-${index}`)),
            SCOPE,
          ),
        ),
      );
    await send(50, 1);
    expect(transactions).toHaveBeenCalledTimes(1);
    await send(5, 80);
    expect(transactions).toHaveBeenCalledTimes(4);
    expect(await ids()).toHaveLength(450);
  });

  it('are committed in several turns of the event loop, so that polls are answered in between', async () => {
    const { store } = await openStore(openSourceStore);
    const transactions = vi.spyOn(Connection.prototype, 'transaction');
    onTestFinished(() => transactions.mockRestore());
    const writes = Array.from({ length: 5 }, (_, n) =>
      store.writeAllLeads(
        Array.from({ length: 150 }, (_, index) => lead(`${n}-${index}`)),
        SCOPE,
      ),
    );
    const committed = new Set<number>();
    while (transactions.mock.calls.length < writes.length) {
      await new Promise(setImmediate);
      committed.add(transactions.mock.calls.length);
    }
    expect([...committed]).toEqual([0, 1, 2, 3, 4, 5]);
    await Promise.all(writes);
  });

  it('with more than 100 leads are written in turns of their company, which pauses after long ones', async () => {
    const { store } = await openStore(openSourceStore);
    const turns = vi.spyOn(FairQueue.prototype, 'run');
    onTestFinished(() => turns.mockRestore());
    await store.writeAllLeads(
      Array.from({ length: 101 }, (_, n) => lead(`${n}`)),
      SCOPE,
    );
    expect(new Set(turns.mock.calls.map(([companyId]) => companyId))).toEqual(new Set(['acme']));
  });

  it('are stored or rejected one by one', async () => {
    const { store, ids } = await openStore();
    const outcomes = await Promise.all([
      store.writeAllLeads([lead('a'), lead('b')], SCOPE),
      store.writeAllLeads([lead('c'), lead('d', { branchId: 'west' })], SCOPE),
      store.writeAllLeads([lead('a'), lead('e')], SCOPE),
    ]);
    expect(outcomes.map(({ kind }) => kind)).toEqual(['written', 'rejected', 'written']);
    expect(outcomes[2]).toMatchObject({ results: [{ kind: 'updated' }, { kind: 'added' }] });
    expect(await ids()).toEqual(['a', 'b', 'e']);
  });

  it('do not fail because another one does', async () => {
    const { store, ids } = await openStore();
    // The database refuses an id of this length; the intake checks it before.
    const broken = store.writeAllLeads([lead('x'), lead('y'.repeat(201))], SCOPE);
    const outcomes = await Promise.all([broken, store.writeAllLeads([lead('a')], SCOPE)]);
    expect(outcomes.map(({ kind }) => kind)).toEqual(['rejected', 'written']);
    expect(await ids()).toEqual(['a']);
  });

  it('are all rejected if the transaction fails', async () => {
    const { store } = await openStore();
    const sent = [lead('a'), lead('b')].map((each) => store.writeAllLeads([each], SCOPE));
    await store.close();
    store.close = async () => undefined;
    const settled = await Promise.allSettled(sent);
    expect(settled.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  });
});
