import { NEW_LEADS_PATH } from '@leadtap/contract';
import { describe, expect, it } from 'vitest';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { expectProblem } from '../../../testing/harness/problem.ts';
import { startService } from '../../../testing/harness/service.ts';

describe('401 token-expired', () => {
  it('starts with the second in which the token expires', async () => {
    const clock = manualClock();
    const { url, token } = await startService({ clock });
    const authorization = `Bearer ${await token('boss', { expiresInMs: 60_000 })}`;
    const ask = () => fetch(`${url}${NEW_LEADS_PATH}`, { headers: { authorization } });

    clock.advance(59_999);
    expect((await ask()).status).toBe(200);
    clock.advance(1);
    const response = await ask();
    const { headers } = response;
    await expectProblem(response, 'token-expired');
    expect(headers.get('www-authenticate')).toBe(
      'Bearer realm="leadtap", error="invalid_token", error_description="The access token has expired"',
    );
    expect(headers.has('ratelimit')).toBe(false);
  });
});
