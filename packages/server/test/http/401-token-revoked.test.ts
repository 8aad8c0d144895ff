import { NEW_LEADS_PATH } from '@leadtap/contract';
import { describe, expect, it } from 'vitest';
import { expectProblem } from '../../../testing/harness/problem.ts';
import { startService } from '../../../testing/harness/service.ts';

describe('401 token-revoked', () => {
  it('begins with the next request, and touches no other token of the user', async () => {
    const { url, token, store } = await startService();
    const revoked = await token('boss', { tokenId: 'token-1' });
    const kept = await token('boss', { tokenId: 'token-2' });
    const ask = (given: string) =>
      fetch(`${url}${NEW_LEADS_PATH}`, { headers: { authorization: `Bearer ${given}` } });
    // Often enough that both answers come from the cache, if they are cached.
    const statusOfThree = async (given: string) => [
      (await ask(given)).status,
      (await ask(given)).status,
      (await ask(given)).status,
    ];

    expect(await statusOfThree(revoked)).toEqual([200, 200, 200]);
    await store.revokeToken('token-1');
    expect(await statusOfThree(revoked)).toEqual([401, 401, 401]);
    const response = await ask(revoked);
    const { headers } = response;
    await expectProblem(response, 'token-revoked');
    expect(headers.get('www-authenticate')).toBe(
      'Bearer realm="leadtap", error="invalid_token", error_description="The access token was revoked"',
    );
    expect(headers.has('ratelimit')).toBe(false);
    expect(await statusOfThree(kept)).toEqual([200, 200, 200]);
  });
});
