import { vi } from 'vitest';
import { HANG_LIMIT_MS } from './hang-limit.ts';

const { waitFor } = vi;
// Vitest runs this for each test file, in one process. Without it, `vi.waitFor` gives up after a second.
if (waitFor.name !== 'waitWithLimit')
  vi.waitFor = function waitWithLimit(callback, options = {}) {
    const limits = typeof options === 'number' ? { timeout: options } : options;
    return waitFor(callback, { timeout: HANG_LIMIT_MS, ...limits });
  };
