import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { NEW_LEADS_PATH } from '@leadtap/contract';
import { exportJWK, exportSPKI, generateKeyPair, type JWTPayload, SignJWT, UnsecuredJWT } from 'jose';
import { describe, expect, it } from 'vitest';
import { expectProblem } from '../../../testing/harness/problem.ts';
import { startService, type TestService } from '../../../testing/harness/service.ts';
import { shareService } from '../../../testing/harness/shared-service.ts';
import { tempFolder } from '../../../testing/harness/temp-folder.ts';

const hour = () => Math.floor(Date.now() / 1000) + 3600;
/** Undefined omits a claim. */
type Claims = { readonly [Claim in keyof JWTPayload]?: JWTPayload[Claim] | undefined };

const OWN: JWTPayload = { iss: 'leadtap', aud: 'leadtap', sub: 'boss', jti: 'token-1' };

const given = (claims: Claims): JWTPayload =>
  Object.fromEntries(Object.entries(claims).filter(([, value]) => value !== undefined));

const sign = (claims: Claims, secret: Uint8Array, header: { alg?: string; kid?: string }) =>
  new SignJWT(given(claims)).setProtectedHeader({ alg: 'HS256', ...header }).sign(secret);

const ask = ({ url }: TestService, token: string) =>
  fetch(`${url}${NEW_LEADS_PATH}`, { headers: { authorization: `Bearer ${token}` } });

type MakeToken = (test: TestService) => Promise<string> | string;

const ownKey = ({ service }: TestService) => service.keys[0];

/** A token of our own key that differs from a valid one in the given parts. */
const own =
  (claims: Claims, header: { alg?: string; kid?: string } = {}): MakeToken =>
  (test) => {
    const { id, secret } = ownKey(test);
    return sign({ ...OWN, exp: hour(), ...claims }, secret, { kid: id, ...header });
  };

const REFUSED: [string, MakeToken][] = [
  ['no JWT at all', () => 'abc'],
  ['two parts only', () => 'e30.e30'],
  ['parts that are not base64', () => '!!.!!.!!'],
  ['a token with words behind it', async ({ token }) => `${await token('boss')} and more`],
  ['a cut token', async ({ token }) => (await token('boss')).slice(0, -1)],
  ['a token whose payload was changed', async ({ token }) => withSubject(await token('starter'), 'boss')],
  ['the algorithm none', () => new UnsecuredJWT({ ...OWN, exp: hour() }).encode()],
  ['the algorithm none with our key id', (test) => withoutSignature(ownKey(test).id)],
  ['another algorithm of the same key', own({}, { alg: 'HS512' })],
  ['another key', (test) => sign({ ...OWN, exp: hour() }, Buffer.alloc(32, 7), { kid: ownKey(test).id })],
  ['an unknown key id', own({}, { kid: 'unknown' })],
  ['no key id', (test) => sign({ ...OWN, exp: hour() }, ownKey(test).secret, {})],
  ['another issuer', own({ iss: 'someone' })],
  ['another audience', own({ aud: 'someone' })],
  ['no exp', (test) => sign(OWN, ownKey(test).secret, { kid: ownKey(test).id })],
  ['no sub', own({ sub: undefined })],
  ['an empty sub', own({ sub: '' })],
  ['a time before which it is not good', own({ nbf: hour() })],
  ['more than 8 KiB', own({ filler: 'x'.repeat(8 * 1024) })],
];

const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url');
const withoutSignature = (kid: string) =>
  `${encode({ alg: 'none', kid })}.${encode({ ...OWN, exp: hour() })}.`;

function withSubject(token: string, sub: string): string {
  const [header = '', payload = '', signature = ''] = token.split('.');
  const claims: object = JSON.parse(Buffer.from(payload, 'base64url').toString());
  return [header, encode({ ...claims, sub }), signature].join('.');
}

describe('401 token-invalid', () => {
  const shared = shareService();

  it.each(REFUSED)('answers %s', async (_what, makeToken) => {
    const test = shared();
    const response = await ask(test, await makeToken(test));
    const challenge = response.headers.get('www-authenticate');
    expect([...response.headers.keys()].filter((name) => name.startsWith('ratelimit'))).toEqual([]);
    await expectProblem(response, 'token-invalid');
    expect(challenge).toBe(
      'Bearer realm="leadtap", error="invalid_token", error_description="The access token is not valid"',
    );
  });

  it('does not occur for the valid token that all of these differ from', async () => {
    const test = shared();
    expect((await ask(test, await own({})(test))).status).toBe(200);
  });

  it('does not reveal the reason: the body is always the same', async () => {
    const test = shared();
    const bodies = await Promise.all(
      REFUSED.map(async ([, makeToken]) => {
        const { requestId, ...body } = await expectProblem(
          await ask(test, await makeToken(test)),
          'token-invalid',
        );
        expect(requestId).not.toBe('');
        return JSON.stringify(body);
      }),
    );
    expect(new Set(bodies).size).toBe(1);
  });
});

describe('401 token-invalid, with an identity provider', () => {
  const issuer = 'https://id.example.com';

  async function startWithProvider() {
    const folder = tempFolder();
    const { publicKey, privateKey } = await generateKeyPair('RS256', { extractable: true });
    const jwks = { keys: [{ ...(await exportJWK(publicKey)), kid: 'provider-1', alg: 'RS256' }] };
    const file = join(folder, 'jwks.json');
    writeFileSync(file, JSON.stringify(jwks));
    const test = await startService({
      env: { LEADTAP_JWKS_URL: file, LEADTAP_TOKEN_ISSUER: issuer, LEADTAP_TOKEN_AUDIENCE: 'leads' },
    });
    const claims = { iss: issuer, aud: 'leads', sub: 'boss', exp: hour() };
    const header = { alg: 'RS256', kid: 'provider-1' };
    const issue = (changed: Claims, changedHeader = {}) =>
      new SignJWT(given({ ...claims, ...changed }))
        .setProtectedHeader({ ...header, ...changedHeader })
        .sign(privateKey);
    return { test, publicKey, claims, issue };
  }

  it('accepts its valid tokens', async () => {
    const { test, issue } = await startWithProvider();
    expect((await ask(test, await issue({}))).status).toBe(200);
  });

  it('answers its tokens of another issuer or audience, or without exp or sub', async () => {
    const { test, issue } = await startWithProvider();
    for (const changed of [{ iss: 'leadtap' }, { aud: 'leadtap' }, { exp: undefined }, { sub: undefined }])
      await expectProblem(await ask(test, await issue(changed)), 'token-invalid');
    await expectProblem(await ask(test, await issue({}, { kid: 'provider-2' })), 'token-invalid');
  });

  it('answers a token that is signed with the public key as if it were a secret', async () => {
    const { test, publicKey, claims } = await startWithProvider();
    const spki = await exportSPKI(publicKey);
    const secrets = [spki, spki.trim(), JSON.stringify(await exportJWK(publicKey))];
    for (const secret of secrets) {
      const token = await sign(claims, Buffer.from(secret), { kid: 'provider-1' });
      await expectProblem(await ask(test, token), 'token-invalid');
    }
  });

  it('answers a token of the provider that names our own key', async () => {
    const { test, issue } = await startWithProvider();
    const kid = ownKey(test).id;
    await expectProblem(await ask(test, await issue({ ...OWN }, { kid })), 'token-invalid');
  });
});
