import { expect, it } from 'vitest';
import { createPoll, StubStore } from './support/stub-store.ts';

it('an identity provider may give two users the same token id: each sees the own leads', async () => {
  const poll = createPoll(new StubStore());
  for (const userId of ['acme', 'other', 'acme', 'other', 'other']) {
    const { scope } = await poll({ userId, tokenId: 'shared' });
    expect(scope.companyId).toBe(userId);
  }
});
