import type { Store } from 'leadtap';
import { expect } from 'vitest';
import { eventually } from '../faults/eventually.ts';

/** A new database cannot tell what has changed at once: the first look at it prepares that, and does not wait for it. */
export async function untilTold({ watched }: Store): Promise<void> {
  let seen: string | undefined;
  await eventually(async () => {
    const look = await watched?.look({ companies: [], bearers: [] }, seen);
    seen = look?.seen;
    expect(look?.changes).toBeDefined();
  });
}
