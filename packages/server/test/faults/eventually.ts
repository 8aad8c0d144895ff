import { vi } from 'vitest';

/** Waits until the expectation holds. The limit only ends tests that would hang; no slow machine reaches it. */
export const eventually = <T>(expectation: () => T | Promise<T>): Promise<T> =>
  vi.waitFor(expectation, { interval: 20 });
