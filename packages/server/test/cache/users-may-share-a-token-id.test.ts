import { expect, it } from 'vitest';
import { PollCache } from '../../src/poll/cache/poll-cache.ts';
import { pollOnce, StubStore } from './support/stub-store.ts';

it('an identity provider may give two users the same token id: each sees the own leads', async () => {
  const store = new StubStore();
  const cache = new PollCache(store);
  for (const userId of ['acme', 'other', 'acme', 'other', 'other']) {
    const { scope } = await pollOnce(cache, { userId, tokenId: 'shared' });
    expect(scope.companyId).toBe(userId);
  }
});
