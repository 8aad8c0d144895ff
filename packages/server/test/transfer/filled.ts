import type { LeadInput } from 'leadtap';
import { ORGANISATION } from '../../../testing/harness/organisation.ts';
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

/** The source has two companies with three leads each, a token, and the given leads. */
export async function makeFilledEndpoints(...more: readonly LeadInput[]): Promise<Endpoints> {
  const endpoints = await makeEndpoints();
  const store = new StoreProcess(endpoints.from);
  await store.call('applyOrganisation', ORGANISATION);
  await store.add([...LEADS, ...more]);
  const token = {
    id: 'token-1',
    userId: 'boss',
    name: null,
    issuedAt: 1,
    expiresAt: 2,
    scopes: ['leads:read'],
  };
  await store.call('recordTokens', [token]);
  await store.close();
  return endpoints;
}
