import { expect, test } from 'vitest';
import { openStore } from '../../src/open-store.ts';
import type { Store } from '../../src/store/store.ts';
import { terminalWithUsers } from './terminal.ts';

test.each([
  ['user list', 0],
  ['user remove unknown', 1],
])('%s closes the store, exit code %i', async (command, code) => {
  const { run } = await terminalWithUsers();
  const opened: Store[] = [];
  const openAndKeep: typeof openStore = async (...options) => {
    const store = await openStore(...options);
    opened.push(store);
    return store;
  };
  expect((await run(command, { parts: { openStore: openAndKeep } })).code).toBe(code);
  expect(opened).toHaveLength(1);
  for (const store of opened) await expect(store.status()).rejects.toThrow();
});
