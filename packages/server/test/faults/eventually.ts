import { vi } from 'vitest';

/** Waits until it is so, however slow the machine is. */
export const eventually = <T>(expectation: () => T | Promise<T>): Promise<T> =>
  vi.waitFor(expectation, { timeout: 40_000, interval: 20 });
