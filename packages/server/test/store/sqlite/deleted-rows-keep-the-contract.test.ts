import { join } from 'node:path';
import { openSqliteStore, type Store } from 'leadtap';
import { expect, onTestFinished, test } from 'vitest';
import { manualClock } from '../../../../testing/harness/manual-clock.ts';
import { tempFolder } from '../../../../testing/harness/temp-folder.ts';
import { Connection } from '../../../src/store/sqlite/connection.ts';

const ACME = { companies: [{ id: 'acme', name: 'Acme', branches: [], users: [] }] };
const ALL_OF_ACME = { level: 'COMPANY', companyId: 'acme' } as const;
const lead = (id: string) => ({ companyId: 'acme', id, fields: {} });

/** A store, and a connection of another program to the same file. */
async function openBoth(clock = manualClock()) {
  const file = join(tempFolder(), 'leadtap.db');
  const store = await openSqliteStore({ file, clock });
  const other = new Connection(file);
  // As in the sqlite3 shell.
  other.exec('PRAGMA foreign_keys = OFF');
  onTestFinished(async () => {
    other.close();
    await store.close();
  });
  await store.applyOrganisation(ACME);
  return { file, clock, store, other };
}

async function add(store: Store, ...ids: readonly string[]) {
  const outcome = await store.writeLeads(ids.map(lead));
  return outcome.kind === 'written' ? outcome.results : [];
}

const burst = Array.from({ length: 50 }, (_, n) => `burst-${n}`);

test.each([
  ['deleted and applied again', `DELETE FROM leads; DELETE FROM companies`],
  [
    'deleted and inserted again by the same program',
    `DELETE FROM leads; DELETE FROM companies; INSERT INTO companies (id, name) VALUES ('acme', 'New')`,
  ],
  ['replaced', `DELETE FROM leads; INSERT OR REPLACE INTO companies (id, name) VALUES ('acme', 'New')`],
  [
    'renamed and inserted again',
    `DELETE FROM leads; UPDATE companies SET id = 'other'; INSERT INTO companies (id, name) VALUES ('acme', 'New')`,
  ],
  [
    'deleted, and another one gets its id',
    `DELETE FROM leads; DELETE FROM companies; INSERT INTO companies (id, name) VALUES ('other', 'New');
     UPDATE companies SET id = 'acme'`,
  ],
  [
    'replaced by another one that gets its id',
    `DELETE FROM leads; INSERT INTO companies (id, name) VALUES ('other', 'New');
     UPDATE OR REPLACE companies SET id = 'acme' WHERE id = 'other'`,
  ],
])('a company that is %s continues after its last stamp', async (_how, sql) => {
  const { clock, store, other } = await openBoth();
  await add(store, ...burst);
  other.exec(sql);
  await store.applyOrganisation(ACME);
  const last = clock() + burst.length;
  expect(await store.readPage({ scope: ALL_OF_ACME, limit: 1 })).toMatchObject({
    leads: [],
    lastStamp: last,
  });
  expect(await add(store, 'next')).toMatchObject([{ kind: 'added', createdAt: last + 1 }]);
});

test('a company that is deleted twice keeps the later stamp', async () => {
  const { clock, store, other } = await openBoth();
  for (const ids of [burst, ['one-more']]) {
    await add(store, ...ids);
    other.exec('DELETE FROM leads; DELETE FROM companies');
    await store.applyOrganisation(ACME);
  }
  expect(await add(store, 'next')).toMatchObject([{ createdAt: clock() + burst.length + 2 }]);
});

test('a lead that another program is deleting is added again, and its writer can read it', async () => {
  const { store, other } = await openBoth();
  await add(store, '1');
  other.exec('BEGIN IMMEDIATE');
  other.exec(`DELETE FROM leads WHERE id = '1'`);
  const writing = add(store, '1');
  other.exec('COMMIT');
  const [result] = await writing;
  expect(result).toMatchObject({ kind: 'added', id: '1' });
  const { leads } = await store.readPage({ scope: ALL_OF_ACME, limit: 10 });
  expect(leads).toMatchObject([{ id: '1', createdAt: result?.kind === 'added' && result.createdAt }]);
});
