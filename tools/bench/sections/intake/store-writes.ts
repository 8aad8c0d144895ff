import type { LeadInput, Store } from 'leadtap';
import { companyId } from '../../made-up/organisation.ts';

/** The content of a lead of `leadLine`, as the store takes it. */
const leadOf = (n: number, companies: number): LeadInput => ({
  companyId: companyId(n % companies),
  branchId: 'north',
  departmentId: 'repairs',
  fields: {
    firstName: `First${n % 997}`,
    lastName: `Last${n % 1009}`,
    phone1: `+33 1 99 00 ${n % 100} ${n % 89}`,
    email: `contact-${n}@mail.example`,
    address: `${n % 200} Rue des Lilas`,
    postalCode: `69${String(n % 999).padStart(3, '0')}`,
    customFields: { source: 'website' },
  },
});

/** Transactions a second that the store itself makes of one lead each, for so many callers at once. */
export async function storeWriteRate(
  store: Store,
  callers: number,
  companies: number,
  seconds: number,
): Promise<number> {
  let written = 0;
  const startedAt = performance.now();
  const write = async () => {
    while (performance.now() - startedAt < seconds * 1000) {
      const outcome = await store.writeLeads([leadOf(written, companies)]);
      if (outcome.results.some(({ kind }) => kind !== 'added')) throw new Error('the store rejected a lead');
      written += 1;
    }
  };
  await Promise.all(Array.from({ length: callers }, write));
  return written / ((performance.now() - startedAt) / 1000);
}
