import { beforeEach, expect, test, vi } from 'vitest';
import type { Store } from '../../src/store/store.ts';
import { terminalWithUsers } from './terminal.ts';

/** Every store that a command opened; a closed one refuses to work. */
const opened = vi.hoisted((): Store[] => []);

vi.mock('../../src/compose.ts', async (importOriginal) => {
  const real = await importOriginal<typeof import('../../src/compose.ts')>();
  const openStore: typeof real.openStore = async (...parts) => {
    const store = await real.openStore(...parts);
    opened.push(store);
    return store;
  };
  return { ...real, openStore };
});

beforeEach(() => {
  opened.length = 0;
});

test.each([
  ['user list', 0],
  ['user remove nobody', 1],
  ['token issue --user boss', 0],
  ['doctor', 0],
])('%s', async (command, code) => {
  const { run } = await terminalWithUsers();
  expect((await run(command, { env: { LEADTAP_PORT: '0' } })).code).toBe(code);
  expect(opened).toHaveLength(2);
  for (const store of opened) await expect(store.status()).rejects.toThrow();
});
