import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { NEW_LEADS_PATH } from '@leadtap/contract';
import fc from 'fast-check';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { makeVerifyToken } from 'leadtap';
import { expect, it } from 'vitest';
import { expectProblem } from '../../../testing/harness/problem.ts';
import { startService } from '../../../testing/harness/service.ts';
import { tempFolder } from '../../../testing/harness/temp-folder.ts';

const ISSUER = 'https://id.example.com';
const BASE64URL = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/** A service with tokens of both sources, and its own token that only `jose` verifies: its header is in another order. */
async function startWithTokens() {
  const { publicKey, privateKey } = await generateKeyPair('RS256', { extractable: true });
  const file = join(tempFolder(), 'jwks.json');
  writeFileSync(
    file,
    JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: 'p', alg: 'RS256' }] }),
  );
  const env = { LEADTAP_JWKS_URL: file, LEADTAP_TOKEN_ISSUER: ISSUER, LEADTAP_TOKEN_AUDIENCE: 'leads' };
  const test = await startService({ env });
  const [{ id, secret }] = test.service.keys;
  const claims = () => new SignJWT().setSubject('boss').setExpirationTime('1h').setIssuedAt();
  const tokens = {
    'our own': await test.token('boss'),
    'our own, with another header': await claims()
      .setIssuer('leadtap')
      .setAudience('leadtap')
      .setProtectedHeader({ kid: id, alg: 'HS256' })
      .sign(secret),
    "the identity provider's": await claims()
      .setIssuer(ISSUER)
      .setAudience('leads')
      .setProtectedHeader({ alg: 'RS256', kid: 'p' })
      .sign(privateKey),
  };
  return { test, tokens: Object.entries(tokens) };
}

/** Other spellings that a lenient parser would accept as the same token. */
const otherSpelling = (token: string): fc.Arbitrary<string> => {
  const space = fc
    .array(fc.constantFrom(' ', '\t'), { minLength: 1, maxLength: 3 })
    .map((all) => all.join(''));
  const at = fc.integer({ min: 0, max: token.length });
  const insert = (what: string, where: number) => `${token.slice(0, where)}${what}${token.slice(where)}`;
  const partEnds = [token.indexOf('.'), token.lastIndexOf('.'), token.length];
  return fc.oneof(
    space.map((more) => `Bearer${more}${more}${token}`),
    fc.constant(`Bearer\t${token}`),
    fc.tuple(space, at).map(([more, where]) => `Bearer ${insert(more, where === 0 ? 1 : where)}`),
    fc
      .tuple(fc.constantFrom('=', '=='), fc.constantFrom(...partEnds))
      .map(([padding, end]) => `Bearer ${insert(padding, end)}`),
    fc
      .tuple(fc.constantFrom(...BASE64URL), fc.constantFrom(...partEnds))
      .map(([letter, end]) => `Bearer ${token.slice(0, end - 1)}${letter}${token.slice(end)}`),
    fc.constantFrom(token.replaceAll('-', '+').replaceAll('_', '/')).map((other) => `Bearer ${other}`),
  );
};

it('any other spelling of a valid token is rejected with token-invalid', async () => {
  const { test, tokens } = await startWithTokens();
  const ask = (authorization: string) => test.inject({ url: NEW_LEADS_PATH, headers: { authorization } });
  for (const [whose, token] of tokens) {
    for (const scheme of ['Bearer', 'bearer', 'BEARER'])
      expect([whose, (await ask(`${scheme} ${token}`)).statusCode]).toEqual([whose, 200]);
    await fc.assert(
      fc.asyncProperty(otherSpelling(token), async (authorization) => {
        fc.pre(authorization !== `Bearer ${token}`);
        await expectProblem(await ask(authorization), 'token-invalid');
      }),
      { numRuns: 40 },
    );
    expect((await ask(`Bearer ${token}`)).statusCode).toBe(200);
  }
});

it('another spelling is rejected before and after the token is cached', async () => {
  const { test } = await startWithTokens();
  const now = Date.now();
  const verifyToken = makeVerifyToken({ keys: test.service.keys, clock: () => now, maxCachedTokens: 1 });
  const token = await test.token('boss');
  expect(await verifyToken(`${token}=`)).toEqual({ kind: 'invalid' });
  for (const _time of ['verified', 'cached']) {
    expect(await verifyToken(token)).toMatchObject({ kind: 'valid' });
    expect(await verifyToken(`${token}=`)).toEqual({ kind: 'invalid' });
  }
});
