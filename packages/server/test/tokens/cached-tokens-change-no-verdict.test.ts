import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { errors, jwtVerify, SignJWT } from 'jose';
import { issueToken, loadSigningKeys, makeVerifyToken, type SigningKey, type Verification } from 'leadtap';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { JwksTiming } from '../../src/accounts/external-tokens.ts';
import { AUDIENCE, DOWN, ISSUER, makeKey, sign, startIdentityProvider } from './support/identity-provider.ts';

const START_S = Date.UTC(2026, 2, 2) / 1000;
const secret = () => randomBytes(32).toString('base64');
const known = await loadSigningKeys({ secrets: [secret(), secret()] });
const [stranger] = await loadSigningKeys({ secrets: [secret()] });

const isUserId = (sub: unknown): sub is string => typeof sub === 'string' && sub !== '';

const isScope = (scope: unknown): scope is string | undefined =>
  scope === undefined || typeof scope === 'string';

/** The verdict of jose without a cache, for an own token in its one spelling. */
async function reference(token: string, nowMs: number): Promise<Partial<Verification>> {
  const parts = token.split('.');
  if (parts.some((part) => Buffer.from(part, 'base64url').toString('base64url') !== part))
    return { kind: 'invalid' };
  for (const { secret: key } of known)
    try {
      const { payload } = await jwtVerify(token, key, {
        algorithms: ['HS256'],
        issuer: 'leadtap',
        audience: 'leadtap',
        requiredClaims: ['exp', 'sub'],
        currentDate: new Date(nowMs),
      });
      const { sub, jti, scope, exp = 0 } = payload;
      if (!isUserId(sub) || !isScope(scope)) return { kind: 'invalid' };
      const names = (scope ?? 'leads:read').split(' ');
      const scopes = (['leads:read', 'leads:write'] as const).filter((known) => names.includes(known));
      const tokenId = typeof jti === 'string' && jti !== '' ? jti : undefined;
      return { kind: 'valid', token: { userId: sub, tokenId, scopes, expiresAt: exp * 1000 } };
    } catch (error) {
      if (error instanceof errors.JWTExpired) {
        const { sub, scope } = error.payload;
        return isUserId(sub) && isScope(scope) ? { kind: 'expired' } : { kind: 'invalid' };
      }
    }
  return { kind: 'invalid' };
}

/** The claims of an own token, and other values for each of them. */
const GOOD = { iss: 'leadtap', aud: 'leadtap', sub: 'boss', jti: 'token-1', iat: START_S, exp: START_S + 60 };
const others = fc.record(
  {
    iss: fc.constantFrom('another', undefined),
    aud: fc.constantFrom<unknown>(['leadtap', 'another'], 'another', undefined),
    sub: fc.constantFrom<unknown>('', 7, undefined),
    jti: fc.constantFrom<unknown>('', 7, undefined),
    iat: fc.constantFrom<unknown>('yesterday', undefined),
    exp: fc.constantFrom<unknown>(START_S + 90, START_S + 60.5, START_S, 'tomorrow', undefined),
    nbf: fc.constantFrom<unknown>(START_S + 30, START_S - 30, 'now'),
    scope: fc.constantFrom<unknown>('leads:write', 'openid leads:write leads:read', 'openid', '', [
      'leads:read',
    ]),
  },
  { requiredKeys: [] },
);
const name = fc.constantFrom('iss', 'aud', 'sub', 'jti', 'iat', 'exp', 'nbf', 'scope');
/** Valid except for one or two claims. */
const claims = fc.tuple(others, name, name).map(([other, ...names]): Readonly<Record<string, unknown>> => {
  const changed = Object.entries(other).filter(([claim]) => names.some((chosen) => chosen === claim));
  return { ...GOOD, ...Object.fromEntries(changed) };
});
const asIs = (token: string): string => token;
const damage = fc.oneof(
  { weight: 4, arbitrary: fc.constant(asIs) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<(token: string) => string>(
      (token) => `${token}A`,
      (token) => token.slice(0, -1),
      (token) =>
        token.replace(/[^.]+$/, (signature) =>
          signature.replace(/^./, (first) => (first === 'A' ? 'B' : 'A')),
        ),
      (token) => token.replace(/\./, '..'),
      (token) => token.replace(/\.[^.]*$/, '.'),
    ),
  },
);
const header = fc.constantFrom<Readonly<Record<string, unknown>>>(
  ...[{ typ: 'JWT' }, { typ: 'JWT' }, { typ: 'JWT' }, { typ: 'JWT' }],
  {},
  { typ: 'JWT', more: 1 },
);
const key: fc.Arbitrary<SigningKey> = fc.constantFrom(
  known[0],
  known[0],
  known[0],
  known[1] ?? known[0],
  stranger,
);
const ownToken = fc.tuple(header, key, claims, damage);
const wait = fc.oneof(
  fc.constantFrom(0, 0, 1, 999, 1000, 29_999, 30_000, 59_999, 60_000, -1, -30_000, -60_000),
  fc.integer({ min: -100_000, max: 100_000 }),
);

type OwnToken = Readonly<Record<string, unknown>>;
async function write([head, { id: kid, secret: by }, payload, harm]: readonly [
  OwnToken,
  SigningKey,
  OwnToken,
  (token: string) => string,
]) {
  // In the order in which we write it.
  const { typ, ...more } = head;
  const protectedHeader = { alg: 'HS256', ...(typ !== undefined && { typ: String(typ) }), kid, ...more };
  return harm(await new SignJWT({ ...payload }).setProtectedHeader(protectedHeader).sign(by));
}

afterEach(() => void vi.useRealTimers());

describe('a verifier with a cache', () => {
  it('gives own tokens the verdict of jose, at any time', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(ownToken, { minLength: 1, maxLength: 4 }),
        fc.array(fc.tuple(wait, fc.nat(3)), { maxLength: 25 }),
        fc.constantFrom(1, 2, 100),
        async (specimens, steps, maxCachedTokens) => {
          const tokens = await Promise.all(specimens.map(write));
          let now = START_S * 1000;
          const verify = makeVerifyToken({ keys: known, clock: () => now, maxCachedTokens });
          for (const [waitMs, which] of steps) {
            now += waitMs;
            const token = tokens[which % tokens.length] ?? '';
            const { kind, ...rest } = await verify(token);
            expect(kind === 'valid' ? { kind, ...rest } : { kind }).toEqual(await reference(token, now));
          }
        },
      ),
      { numRuns: 100 },
    );
  });

  it('gives tokens of an identity provider the verdict of a verifier without a cache, while keys are rotated', async () => {
    const keys = await Promise.all([1, 2, 3].map(() => makeKey('ES256')));
    const step = fc.record({
      waitMs: fc.constantFrom(0, 0, 0, 1000, 29_000, 30_000, 300_000, 599_999, 600_000, 600_001),
      published: fc.option(fc.subarray([0, 1, 2]), { nil: undefined, freq: 2 }),
      isDown: fc.boolean(),
      which: fc.nat(5),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async (steps) => {
        vi.useFakeTimers({ toFake: ['Date'], now: START_S * 1000 });
        const [one, other] = await Promise.all([
          startIdentityProvider(...keys),
          startIdentityProvider(...keys),
        ]);
        const timing: Partial<JwksTiming> = { pauseAfterFailureMs: 0 };
        const verifier = (url: string, maxCachedTokens?: number) =>
          makeVerifyToken({
            keys: known,
            external: { jwks: { kind: 'url', url }, issuer: ISSUER, audience: AUDIENCE, timing },
            clock: () => Date.now(),
            ...(maxCachedTokens !== undefined && { maxCachedTokens }),
          });
        const [cached, uncached] = [verifier(one.url), verifier(other.url, 0)];
        const tokens = await Promise.all(
          [600, 1800].flatMap((lastsS) =>
            keys.map((by) => sign(by, { exp: START_S + lastsS, jti: `${lastsS}` })),
          ),
        );
        for (const { waitMs, published, isDown, which } of steps) {
          vi.setSystemTime(Date.now() + waitMs);
          for (const provider of [one, other]) {
            if (published) provider.keys = published.flatMap((n) => keys[n] ?? []);
            provider.failure = isDown ? DOWN : undefined;
          }
          const token = tokens[which] ?? '';
          const said = await Promise.allSettled(
            [cached(token), uncached(token)].map(async (answer) => answer),
          );
          const [first, second] = said.map((answer) =>
            answer.status === 'fulfilled' ? answer.value : 'unavailable',
          );
          expect(first).toEqual(second);
          expect(one.fetches).toBe(other.fetches);
        }
      }),
      { numRuns: 20 },
    );
  });

  it('rejects every other signature, and a token in the second in which it expires', async () => {
    let now = START_S * 1000;
    const verify = makeVerifyToken({ keys: known, clock: () => now });
    const token = await issueToken(known, {
      userId: 'boss',
      tokenId: 'a',
      issuedAt: now,
      expiresAt: now + 60_000,
    });
    const [head, claims, signature = ''] = token.split('.');
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    for (let at = 0; at < signature.length; at += 1)
      for (const letter of alphabet) {
        const other = `${signature.slice(0, at)}${letter}${signature.slice(at + 1)}`;
        // The last two bits of the last letter are unused, but only one of the four spellings is accepted.
        const { kind } = await verify(`${head}.${claims}.${other}`);
        expect(kind, `letter ${at} as ${letter}`).toBe(other === signature ? 'valid' : 'invalid');
      }
    now += 59_999;
    expect(await verify(token)).toMatchObject({ kind: 'valid' });
    now += 1;
    expect(await verify(token)).toMatchObject({ kind: 'expired' });
  });
});
