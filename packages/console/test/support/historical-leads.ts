import type { LeadInput } from 'leadtap';
import type { TestService } from '../../../testing/harness/service.ts';

/** Adds leads to the company acme that keep their `createdAt`. */
export async function addHistorical(
  { store }: TestService,
  ...leads: readonly (Omit<LeadInput, 'companyId'> & { readonly createdAt: number })[]
): Promise<void> {
  const { results } = await store.writeLeads(
    leads.map((lead) => ({ companyId: 'acme', ...lead })),
    { historical: true },
  );
  const rejected = results.find(({ kind }) => kind === 'rejected');
  if (rejected) throw new Error(`rejected: ${JSON.stringify(rejected)}`);
}
