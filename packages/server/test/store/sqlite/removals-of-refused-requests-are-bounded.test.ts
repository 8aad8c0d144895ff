import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { ORGANISATION } from '../../../../testing/harness/organisation.ts';
import { tempFolder } from '../../../../testing/harness/temp-folder.ts';
import type { RefusedLeadWithBody } from '../../../src/intake/store.ts';
import { Connection } from '../../../src/store/sqlite/connection.ts';
import { openSqliteStore } from '../../../src/store/sqlite/store.ts';

it('20 large bodies are removed in three transactions, between which polls are answered', async () => {
  const store = await openSqliteStore({ file: join(tempFolder(), 'leads.db') });
  onTestFinished(() => store.close());
  await store.applyOrganisation(ORGANISATION);
  const sender = { companyId: 'acme', userId: 'boss', source: null };
  const rows = Array.from(
    { length: 20 },
    (_, n): RefusedLeadWithBody => ({
      ...{ ...sender, id: `${n}`, tokenId: 'form', client: null, answerMap: null, timeZone: null },
      ...{ receivedAt: 0, lastAt: 0, times: 1, code: 'invalid-lead', errors: [] },
      ...{ mediaType: 'application/json', body: Buffer.alloc(64 * 1024), bodyHash: `${n}` },
    }),
  );
  await store.refusedLeads.record(rows);
  const transactions = vi.spyOn(Connection.prototype, 'transaction');
  onTestFinished(() => transactions.mockRestore());
  const accepted = rows.map(({ bodyHash }) => ({ ...sender, at: 1, bodyHash }));
  expect(await store.refusedLeads.removeAccepted(accepted)).toBe(20);
  // The last one finds none.
  expect(transactions).toHaveBeenCalledTimes(4);
});
