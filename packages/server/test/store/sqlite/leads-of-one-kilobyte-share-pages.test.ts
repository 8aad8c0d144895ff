import { statSync } from 'node:fs';
import { join } from 'node:path';
import { openSqliteStore } from 'leadtap';
import { expect, it } from 'vitest';
import { tempFolder } from '../../../../testing/harness/temp-folder.ts';

const LEADS = 1000;
const MAX_BYTES_PER_LEAD = 1500;

it('1,000 leads of 1 kB take 1.5 MB at most', async () => {
  const file = join(tempFolder(), 'leadtap.db');
  const store = await openSqliteStore({ file });
  await store.applyOrganisation({ companies: [{ id: 'acme', name: 'Acme', branches: [], users: [] }] });
  const lead = { companyId: 'acme', fields: { customFields: { note: 'x'.repeat(1000) } } };
  await store.writeLeads(Array(LEADS).fill(lead));
  // Copies the write-ahead log into the file.
  await store.close();
  expect(statSync(file).size).toBeLessThan(LEADS * MAX_BYTES_PER_LEAD);
});
