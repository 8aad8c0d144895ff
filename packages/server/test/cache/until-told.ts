import type { Store } from 'leadtap';
import { expect } from 'vitest';
import { eventually } from '../faults/eventually.ts';

/** A new database cannot tell what has changed at once: the first look at it prepares that, and does not wait for it. */
export async function untilTold({ changeTracking }: Store): Promise<void> {
  let seen: string | undefined;
  await eventually(async () => {
    const revalidation = await changeTracking?.revalidate({ companies: [], bearers: [] }, seen);
    seen = revalidation?.seen;
    expect(revalidation?.changes).toBeDefined();
  });
}
