import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { LeadInput } from 'leadtap';
import { ORGANISATION } from '../../../testing/harness/organisation.ts';
import { tempFolder } from '../../../testing/harness/temp-folder.ts';
import { type Endpoints, makeEndpoints } from './endpoints.ts';
import { StoreProcess } from './store-process.ts';

const lead = (companyId: string, index: number): LeadInput => ({
  companyId,
  id: `lead-${index}`,
  fields: {
    firstName: 'Ada',
    phone1: '+33 1 70 18 99 00',
    customFields: { source: 'web', score: index },
    images: ['https://example.com/1.jpg'],
  },
});

const LEADS = ['acme', 'globex'].flatMap((company) => [1, 2, 3].map((index) => lead(company, index)));

const TOKEN = {
  id: 'token-1',
  userId: 'boss',
  name: null,
  issuedAt: 1,
  expiresAt: 2,
  scopes: ['leads:read'],
} as const;

let filled: Promise<Buffer> | undefined;

/** Made once in a process, and copied for each test. */
async function makeSource(): Promise<Buffer> {
  const file = join(tempFolder(), 'leadtap.db');
  const store = new StoreProcess(`sqlite:${file}`);
  await store.call('applyOrganisation', ORGANISATION);
  await store.add(LEADS);
  await store.call('recordTokens', [TOKEN]);
  await store.close();
  return readFileSync(file);
}

/** The source has two companies with three leads each, a token, and the given leads. */
export async function makeFilledEndpoints({
  more = [],
  hasSchema = true,
}: {
  readonly more?: readonly LeadInput[];
  readonly hasSchema?: boolean;
} = {}): Promise<Endpoints> {
  filled ??= makeSource();
  const endpoints = await makeEndpoints({ source: await filled, hasSchema });
  if (more.length > 0) {
    const store = new StoreProcess(endpoints.from);
    await store.add(more);
    await store.close();
  }
  return endpoints;
}
