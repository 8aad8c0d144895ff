import { vi } from 'vitest';
import { WAIT_LIMIT_MS } from './limits.ts';

const { waitFor } = vi;
// Vitest runs this for each test file, in one process. Without it, `vi.waitFor` gives up after a second.
if (waitFor.name !== 'waitWithLimit')
  vi.waitFor = function waitWithLimit(callback, options = {}) {
    const limits = typeof options === 'number' ? { timeout: options } : options;
    return waitFor(callback, { timeout: WAIT_LIMIT_MS, ...limits });
  };
