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

    expect((await ask(revoked)).status).toBe(200);
    await store.revokeToken('token-1');
    const response = await ask(revoked);
    const { headers } = response;
    await expectProblem(response, 'token-revoked');
    expect(headers.get('www-authenticate')).toBe(
      'Bearer realm="leadtap", error="invalid_token", error_description="The access token was revoked"',
    );
    expect(headers.has('ratelimit')).toBe(false);
    expect((await ask(kept)).status).toBe(200);
  });
});
