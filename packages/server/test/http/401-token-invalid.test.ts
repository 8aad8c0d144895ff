import { createHmac } from 'node:crypto';
import { PROBLEMS } from '@leadtap/contract';
import { exportJWK, exportSPKI, type JWTPayload, SignJWT, UnsecuredJWT } from 'jose';
import { expect, it } from 'vitest';
import { expectProblem } from '../../../testing/harness/problem.ts';
import { startService } from '../../../testing/harness/service.ts';
import { share } from '../../../testing/harness/shared.ts';
import {
  AUDIENCE,
  type Claims,
  ISSUER,
  makeKey,
  type ProviderKey,
  sign,
  startIdentityProvider,
  startSharedProvider,
} from '../tokens/support/identity-provider.ts';
import { outcome, pollWith } from '../tokens/support/polling.ts';

interface Own {
  readonly kid: string;
  readonly secret: Uint8Array;
}

interface Scene {
  readonly rsa: ProviderKey;
  readonly ec: ProviderKey;
  readonly own: Own;
}

const inAnHour = () => Math.floor(Date.now() / 1000) + 3600;
const theirClaims = () => ({ iss: ISSUER, aud: AUDIENCE, sub: 'boss', exp: inAnHour() });
const ourClaims = () => ({ iss: 'leadtap', aud: 'leadtap', sub: 'boss', exp: inAnHour() });
const encode = (part: unknown) => Buffer.from(JSON.stringify(part)).toString('base64url');

/** A token of `leadtap token issue`, with the given claims and header replaced. */
const signOwn = ({ kid, secret }: Own, claims: Claims = {}, header: { alg?: string; kid?: string } = {}) =>
  new SignJWT({ ...ourClaims(), ...claims } as JWTPayload)
    .setProtectedHeader({ alg: 'HS256', kid, ...header })
    .sign(secret);

/** HS256 with any text as the secret, which libraries reject. */
function signWithText(secret: string, header: object, claims: object): string {
  const signed = `${encode({ alg: 'HS256', ...header })}.${encode(claims)}`;
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
}

function tamper(token: string, claims: object): string {
  const [header, , signature] = token.split('.');
  return [header, encode(claims), signature].join('.');
}

const good: Record<string, (scene: Scene) => Promise<string>> = {
  'of the identity provider': ({ rsa }) => sign(rsa),
  'of our own': ({ own }) => signOwn(own),
};

const forged: Record<string, (scene: Scene) => string | Promise<string>> = {
  garbage: () => 'garbage',
  'two dots only': () => '..',
  'three words': () => 'a.b.c',
  'parts that are not base64': () => '!!.!!.!!',
  'a cut token': ({ own }) => signOwn(own).then((token) => token.slice(0, -1)),
  'two words in one header': ({ own }) => signOwn(own).then((token) => `${token} ${token}`),
  'alg none, from the identity provider': ({ rsa }) =>
    `${encode({ alg: 'none', kid: rsa.kid })}.${encode(theirClaims())}.`,
  'alg none, with our kid': ({ own }) => `${encode({ alg: 'none', kid: own.kid })}.${encode(ourClaims())}.`,
  'alg None, in another spelling': ({ own }) =>
    `${encode({ alg: 'NONE', kid: own.kid })}.${encode(ourClaims())}.`,
  'alg none, as a library writes it': () => new UnsecuredJWT(theirClaims()).encode(),
  "HS256 with the provider's public key as PEM": async ({ rsa }) =>
    signWithText(await exportSPKI(rsa.publicKey), { kid: rsa.kid }, theirClaims()),
  "HS256 with the provider's public key as a JWK": ({ rsa }) =>
    signWithText(JSON.stringify(rsa.jwk), { kid: rsa.kid }, theirClaims()),
  "HS256 with the modulus of the provider's public key": ({ rsa }) =>
    signWithText(String(rsa.jwk.n), { kid: rsa.kid }, theirClaims()),
  "our kid with the provider's key": ({ rsa, own }) => sign({ ...rsa, kid: own.kid }, ourClaims()),
  'our key with HS512': ({ own }) => signOwn(own, {}, { alg: 'HS512' }),
  "our key with the provider's kid": ({ own, rsa }) => signOwn(own, theirClaims(), { kid: rsa.kid }),
  'our key without a kid': ({ own }) =>
    new SignJWT(ourClaims()).setProtectedHeader({ alg: 'HS256' }).sign(own.secret),
  'our key with an unknown kid': ({ own }) => signOwn(own, {}, { kid: 'another' }),
  'our kid with another secret': ({ own }) => signOwn({ ...own, secret: new Uint8Array(32) }),
  "the provider's kid with another key": async ({ rsa }) => sign(await makeKey('RS256', rsa.kid)),
  "one of the provider's kids with another of its keys": ({ rsa, ec }) => sign({ ...rsa, kid: ec.kid }),
  'an unknown kid': async () => sign(await makeKey('ES256')),
  'a key that the token brings itself': async () => {
    const { privateKey, publicKey } = await makeKey('ES256');
    const header = { alg: 'ES256', jwk: await exportJWK(publicKey) };
    return new SignJWT(theirClaims()).setProtectedHeader(header).sign(privateKey);
  },
  'a key set that the token names itself': async () => {
    const key = await makeKey('ES256');
    const { url: jku } = await startIdentityProvider(key);
    return new SignJWT(theirClaims())
      .setProtectedHeader({ alg: 'ES256', kid: key.kid, jku })
      .sign(key.privateKey);
  },
  'an unknown critical extension': ({ own }) =>
    signWithText(
      Buffer.from(own.secret).toString('latin1'),
      { kid: own.kid, crit: ['x'], x: 1 },
      ourClaims(),
    ),
  'another issuer': ({ rsa }) => sign(rsa, { iss: 'https://id.example.org/' }),
  'no issuer': ({ rsa }) => sign(rsa, { iss: undefined }),
  'another audience': ({ rsa }) => sign(rsa, { aud: 'https://other.example.com' }),
  'no audience': ({ rsa }) => sign(rsa, { aud: undefined }),
  'our issuer and audience, signed by the provider': ({ rsa }) => sign(rsa, ourClaims()),
  "the provider's issuer, signed by us": ({ own }) => signOwn(own, { iss: ISSUER }),
  "the provider's audience, signed by us": ({ own }) => signOwn(own, { aud: AUDIENCE }),
  'no expiry, from the provider': ({ rsa }) => sign(rsa, { exp: undefined }),
  'no expiry, of our own': ({ own }) => signOwn(own, { exp: undefined }),
  'an expiry that is no number': ({ own }) => signOwn(own, { exp: 'never' }),
  'not valid yet': ({ rsa }) => sign(rsa, { nbf: inAnHour() }),
  'not valid yet, of our own': ({ own }) => signOwn(own, { nbf: inAnHour() }),
  'no subject, from the provider': ({ rsa }) => sign(rsa, { sub: undefined }),
  'no subject, of our own': ({ own }) => signOwn(own, { sub: undefined }),
  'an empty subject': ({ own }) => signOwn(own, { sub: '' }),
  'a subject that is a number': ({ own }) => signOwn(own, { sub: 7 }),
  'a subject that is null': ({ own }) => signOwn(own, { sub: null }),
  'a subject that is a list': ({ own }) => signOwn(own, { sub: ['boss'] }),
  'a subject that is an object': ({ own }) => signOwn(own, { sub: { id: 'boss' } }),
  "another's subject put in, from the provider": async ({ rsa }) =>
    tamper(await sign(rsa), { ...theirClaims(), sub: 'rival' }),
  "another's subject put in, of our own": async ({ own }) =>
    tamper(await signOwn(own), { ...ourClaims(), sub: 'rival' }),
  'no signature': async ({ own }) => (await signOwn(own)).replace(/[^.]+$/, ''),
  'more than 8 KiB': ({ own }) => signOwn(own, { padding: 'x'.repeat(8 * 1024) }),
};

const shared = share(async (whenDone) => {
  const [rsa, ec] = await Promise.all([makeKey('RS256'), makeKey('ES256')]);
  const { env } = await startSharedProvider(whenDone, [rsa, ec]);
  const { url, service } = await startService({ env, whenDone });
  const [{ id: kid, secret }] = service.keys;
  return { url, rsa, ec, own: { kid, secret } };
});

it.each(Object.entries(good))('a valid token %s is accepted', async (_name, make) => {
  expect(await outcome(await pollWith(shared().url, await make(shared())))).toBe('200');
});

const CHALLENGE =
  'Bearer realm="leadtap", error="invalid_token", error_description="The access token is not valid"';

it.each(Object.entries(forged))('%s: 401, and the answer does not reveal the reason', async (_name, make) => {
  const response = await pollWith(shared().url, await make(shared()));
  const { headers } = response;
  expect(headers.get('www-authenticate')).toBe(CHALLENGE);
  expect([...headers.keys()].filter((header) => header.startsWith('ratelimit'))).toEqual([]);
  expect((await expectProblem(response, 'token-invalid')).detail).toBe(PROBLEMS['token-invalid'].detail);
});

it('without an identity provider its tokens are rejected', async () => {
  const { url } = await startService();
  expect(await outcome(await pollWith(url, await sign(await makeKey('ES256'))))).toBe('401 token-invalid');
});
