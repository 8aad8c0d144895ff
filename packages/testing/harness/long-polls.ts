import { vi } from 'vitest';
import type { TestService } from './service.ts';

/** How many requests wait for a lead (`Prefer: wait`), by the metric of the service. */
export async function countHeld({ metricsUrl }: Pick<TestService, 'metricsUrl'>): Promise<number> {
  const text = await (await fetch(metricsUrl)).text();
  return Number(/^leadtap_waiting_polls (\d+)/m.exec(text)?.[1]);
}

/** Resolves when so many requests wait for a lead for a lead. */
export async function untilHeld({ metricsUrl }: Pick<TestService, 'metricsUrl'>, count = 1): Promise<void> {
  const check = async () => {
    const waiting = await countHeld({ metricsUrl });
    if (waiting !== count) throw new Error(`${waiting} requests wait, not ${count}`);
  };
  await vi.waitFor(check, { interval: 20 });
}
