import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startService } from '../../../testing/harness/service.ts';
import { tempFolder } from '../../../testing/harness/temp-folder.ts';
import { AUDIENCE, ISSUER, makeKey, sign, startIdentityProvider } from './support/identity-provider.ts';
import { outcome, pollWith } from './support/polling.ts';

const ALGORITHMS = ['RS256', 'ES256', 'EdDSA', 'Ed25519'];

describe("tokens of the operator's identity provider", () => {
  it.each(ALGORITHMS)('are good when signed with %s', async (alg) => {
    const key = await makeKey(alg);
    const { url } = await startService({ env: (await startIdentityProvider(key)).env });
    expect(await outcome(await pollWith(url, await sign(key)))).toBe('200');
  });

  it('are accepted beside own tokens', async () => {
    const key = await makeKey('ES256');
    const { url, token } = await startService({ env: (await startIdentityProvider(key)).env });
    expect(await outcome(await pollWith(url, await sign(key)))).toBe('200');
    expect(await outcome(await pollWith(url, await token('boss')))).toBe('200');
  });

  it('have the user id in `sub`: an unknown user is 404, another plan 403', async () => {
    const key = await makeKey('ES256');
    const { url } = await startService({ env: (await startIdentityProvider(key)).env });
    expect(await outcome(await pollWith(url, await sign(key, { sub: 'stranger' })))).toBe(
      '404 user-not-found',
    );
    expect(await outcome(await pollWith(url, await sign(key, { sub: 'starter' })))).toBe(
      '403 professional-plan-required',
    );
  });

  it('may poll without the claim `scope`, otherwise only with leads:read in it', async () => {
    const key = await makeKey('ES256');
    const { url } = await startService({ env: (await startIdentityProvider(key)).env });
    const expected: readonly [unknown, string][] = [
      [undefined, '200'],
      ['leads:read', '200'],
      ['openid leads:read profile', '200'],
      ['openid profile', '403 insufficient-scope'],
      ['leads:write', '403 insufficient-scope'],
      ['leads:readonly', '403 insufficient-scope'],
      ['', '403 insufficient-scope'],
      [['leads:read'], '401 token-invalid'],
      [7, '401 token-invalid'],
    ];
    for (const [scope, result] of expected)
      expect([scope, await outcome(await pollWith(url, await sign(key, { scope })))]).toEqual([
        scope,
        result,
      ]);
  });

  it('may send leads with leads:write', async () => {
    const key = await makeKey('ES256');
    const { url } = await startService({
      env: (await startIdentityProvider(key)).env,
    });
    const send = async (scope: string) => {
      const headers = {
        // The claim `source` is for own tokens: a provider may use the name for something else.
        authorization: `Bearer ${await sign(key, { scope, source: 'tally' })}`,
        'content-type': 'application/json',
      };
      return fetch(`${url}/leads`, { method: 'POST', headers, body: '{"firstName":"Ada"}' });
    };
    expect((await send('openid leads:write')).status).toBe(201);
    expect(await outcome(await send('leads:read'))).toBe('403 insufficient-scope');
  });

  it('may have several audiences', async () => {
    const key = await makeKey('ES256');
    const { url } = await startService({ env: (await startIdentityProvider(key)).env });
    expect(await outcome(await pollWith(url, await sign(key, { aud: ['other', AUDIENCE] })))).toBe('200');
  });

  it('are verified with keys that are fetched once for many requests, also concurrent ones', async () => {
    const [key, other] = [await makeKey('ES256'), await makeKey('EdDSA')];
    const provider = await startIdentityProvider(key, other);
    const { url } = await startService({ env: provider.env });
    const tokens = [await sign(key), await sign(other), await sign(key, { jti: 'b' })];
    const together = await Promise.all(tokens.map((token) => pollWith(url, token)));
    for (const token of tokens) together.push(await pollWith(url, token));
    expect(together.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200]);
    expect(provider.fetches).toBe(1);
  });

  it('need no network when the keys are in a file', async () => {
    const key = await makeKey('ES256');
    const file = join(tempFolder(), 'jwks.json');
    writeFileSync(file, JSON.stringify({ keys: [key.jwk] }));
    const env = { LEADTAP_JWKS_URL: file, LEADTAP_TOKEN_ISSUER: ISSUER, LEADTAP_TOKEN_AUDIENCE: AUDIENCE };
    const { url } = await startService({ env });
    expect(await outcome(await pollWith(url, await sign(key)))).toBe('200');
    expect(await outcome(await pollWith(url, await sign(await makeKey('ES256'))))).toBe('401 token-invalid');
  });

  it.each(['', 'not JSON', '{}', '{"keys":1}', '{"keys":[1]}'])(
    'stop the start when the file holds %j',
    async (content) => {
      const file = join(tempFolder(), 'jwks.json');
      writeFileSync(file, content);
      const env = { LEADTAP_JWKS_URL: file, LEADTAP_TOKEN_ISSUER: ISSUER, LEADTAP_TOKEN_AUDIENCE: AUDIENCE };
      await expect(startService({ env })).rejects.toMatchObject({ name: 'JwksUnavailableError' });
    },
  );
});
