import type { Store } from 'leadtap';
import { expect, vi } from 'vitest';

/** A new database cannot tell what has changed at once: the first look at it prepares that, and does not wait for it. */
export async function untilTold({ watched }: Store): Promise<void> {
  let seen: string | undefined;
  await vi.waitFor(async () => {
    const look = await watched?.look({ companies: [], bearers: [] }, seen);
    seen = look?.seen;
    expect(look?.changes).toBeDefined();
  });
}
