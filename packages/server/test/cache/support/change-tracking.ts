import type { Store } from 'leadtap';
import { expect } from 'vitest';
import { eventually } from '../../faults/eventually.ts';

/** The first revalidation of a new database prepares its change log and does not wait for it: changes are known a little later. */
export async function untilChangesAreTracked({ changeTracking }: Store): Promise<void> {
  let seen: string | undefined;
  await eventually(async () => {
    const revalidation = await changeTracking.revalidate({ companies: [], tokens: [] }, seen);
    seen = revalidation.seen;
    expect(revalidation.changes).toBeDefined();
  });
}
