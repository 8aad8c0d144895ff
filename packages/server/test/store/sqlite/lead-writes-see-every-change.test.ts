import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { type LeadInput, type LeadScope, openSqliteStore, type Store } from 'leadtap';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ORGANISATION } from '../../../../testing/harness/organisation.ts';
import { tempFolder } from '../../../../testing/harness/temp-folder.ts';

const SCOPE: LeadScope = { level: 'COMPANY', companyId: 'acme' };
const SENDER = { userId: 'boss', tokenId: 'form' };

interface Case {
  readonly before: string;
  readonly change: (store: Store) => Promise<unknown>;
  readonly after: string;
  readonly lead?: Partial<LeadInput>;
}

const CASES: Readonly<Record<string, Case>> = {
  'a revoked token': {
    before: 'written',
    change: (store) => store.revokeToken('form'),
    after: 'account-changed',
  },
  'a removed user': {
    before: 'written',
    change: (store) => store.removeUser('boss'),
    after: 'account-changed',
  },
  'another access level': {
    before: 'written',
    change: (store) => store.updateUser('boss', { accessLevel: 'BRANCH', branchId: 'north' }),
    after: 'account-changed',
  },
  'a new branch': {
    before: 'rejected',
    change: (store) =>
      store.applyOrganisation({
        companies: [
          { id: 'acme', name: 'Acme', branches: [{ id: 'west', name: 'West', departments: [] }], users: [] },
        ],
      }),
    after: 'written',
    lead: { branchId: 'west' },
  },
  'an erased lead': {
    before: 'written',
    change: async ({ removal }) => removal.erase(await removal.findByIds(['known'])),
    after: 'rejected',
    lead: { id: 'known' },
  },
};

describe.each(Object.entries(CASES))('the next lead after %s', (_title, { before, change, after, lead }) => {
  it.each(['this store', 'another store'])('by %s', async (by) => {
    const file = join(tempFolder(), 'leads.db');
    const store = await openSqliteStore({ file });
    const other = await openSqliteStore({ file });
    onTestFinished(async () => {
      await store.close();
      await other.close();
    });
    await store.applyOrganisation(ORGANISATION);
    const send = async () => {
      const { kind } = await store.writeAllLeads([{ companyId: 'acme', fields: {}, ...lead }], SCOPE, SENDER);
      return kind;
    };
    // Twice: what the first lead has read is cached.
    expect([await send(), await send()]).toEqual([before, before]);
    await change(by === 'this store' ? store : other);
    expect(await send()).toBe(after);
  });
});

it('sees what another program writes with SQL', async () => {
  const file = join(tempFolder(), 'leads.db');
  const store = await openSqliteStore({ file });
  const program = new DatabaseSync(file);
  onTestFinished(async () => {
    program.close();
    await store.close();
  });
  await store.applyOrganisation(ORGANISATION);
  const send = () => store.writeAllLeads([{ companyId: 'acme', fields: {} }], SCOPE, SENDER);
  expect(await send()).toMatchObject({ kind: 'written' });
  program.exec(`INSERT INTO revoked_tokens (token_id, revoked_at) VALUES ('form', 0)`);
  expect(await send()).toEqual({ kind: 'account-changed' });
});
