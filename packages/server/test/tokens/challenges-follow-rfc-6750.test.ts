import { expect, it } from 'vitest';
import { startService } from '../../../testing/harness/service.ts';
import { outcome, pollWith } from './support/polling.ts';

/** RFC 6750, section 3: what may stand in an error_description. */
const CHALLENGE =
  /^Bearer realm="leadtap", error="invalid_token", error_description="[\x20-\x21\x23-\x5b\x5d-\x7e]+"$/;

it('a token that is invalid, expired or revoked: the challenge has the error', async () => {
  const { url, token, store } = await startService();
  await store.revokeToken('revoked');
  const tokens = [
    'garbage',
    await token('boss', { expiresInMs: -1000 }),
    await token('boss', { tokenId: 'revoked' }),
  ];
  const responses = await Promise.all(tokens.map((each) => pollWith(url, each)));
  for (const { headers } of responses) expect(headers.get('www-authenticate')).toMatch(CHALLENGE);
  expect(await Promise.all(responses.map(outcome))).toEqual([
    '401 token-invalid',
    '401 token-expired',
    '401 token-revoked',
  ]);
});

it('a good token: no challenge', async () => {
  const { poll } = await startService();
  expect((await poll('boss')).headers.get('www-authenticate')).toBeNull();
});

it.each(['bearer', 'BEARER'])('the scheme may be written %j', async (scheme) => {
  const { url, token } = await startService();
  const headers = { authorization: `${scheme} ${await token('boss')}` };
  expect((await fetch(`${url}/automation/new-leads`, { headers })).status).toBe(200);
});
