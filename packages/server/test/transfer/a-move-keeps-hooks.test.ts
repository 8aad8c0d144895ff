import { openPostgresStore } from 'leadtap';
import { expect, onTestFinished, test } from 'vitest';
import { runMove } from './commands.ts';
import { makeFilledEndpoints } from './filled.ts';
import { StoreProcess } from './store-process.ts';

const AT = Date.UTC(2026, 2, 2);

test('hooks and their positions are the same after a move', async () => {
  const endpoints = await makeFilledEndpoints();
  const source = new StoreProcess(endpoints.from);
  const hook = { baseUrl: 'https://leads.example.com', tokenExpiresAt: AT + 9, createdAt: AT };
  const url = `https://hooks.example.com/?\\${'x'.repeat(2000)}`;
  await source.subscribeHook({
    id: 'a',
    userId: 'boss',
    tokenId: 'token-1',
    url,
    since: AT - 7,
    ...hook,
    send: 'lead',
  });
  await source.subscribeHook({
    id: 'b',
    userId: 'seller',
    tokenId: null,
    url,
    since: undefined,
    ...hook,
    send: 'event',
  });
  const query = { limit: 10, now: AT };
  const before = await source.listHooks(query);
  await source.close();
  expect(before).toMatchObject([
    { hook: { url, send: 'lead', announcedSince: AT - 7, announcedThrough: AT - 7 } },
    { hook: { tokenId: null } },
  ]);

  expect(await runMove(endpoints)).toMatchObject({ code: 0, stdout: expect.stringContaining('hooks 2') });
  const target = await openPostgresStore({ url: endpoints.to, connections: 1 });
  onTestFinished(() => target.close());
  expect(await target.hooks.list(query)).toEqual(before);
});
