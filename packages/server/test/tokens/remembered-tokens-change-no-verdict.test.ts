import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { errors, jwtVerify, SignJWT } from 'jose';
import { issueToken, loadSigningKeys, makeVerifyToken, type SigningKey, type Verification } from 'leadtap';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { JwksTiming } from '../../src/accounts/external-tokens.ts';
import { AUDIENCE, DOWN, ISSUER, makeKey, sign, startIdentityProvider } from './identity-provider.ts';

const START_S = Date.UTC(2026, 2, 2) / 1000;
const secret = () => randomBytes(32).toString('base64');
const known = await loadSigningKeys({ secrets: [secret(), secret()] });
const [stranger] = await loadSigningKeys({ secrets: [secret()] });

/** What the library alone says of an own token, which has one spelling. */
async function reference(token: string, nowMs: number): Promise<Verification> {
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
      const { sub, jti } = payload;
      if (typeof sub !== 'string' || sub === '') return { kind: 'invalid' };
      return {
        kind: 'valid',
        token: { userId: sub, tokenId: typeof jti === 'string' && jti !== '' ? jti : undefined },
      };
    } catch (error) {
      if (error instanceof errors.JWTExpired) return { kind: 'expired' };
    }
  return { kind: 'invalid' };
}

/** Claims as we write them, and for each what somebody with the key might write instead. */
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
  },
  { requiredKeys: [] },
);
const name = fc.constantFrom('iss', 'aud', 'sub', 'jti', 'iat', 'exp', 'nbf');
/** Good but for one or two of them. */
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

describe('a verifier that remembers', () => {
  it('says of own tokens what the library says, wherever the clock goes', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(ownToken, { minLength: 1, maxLength: 4 }),
        fc.array(fc.tuple(wait, fc.nat(3)), { maxLength: 25 }),
        async (specimens, steps) => {
          const tokens = await Promise.all(specimens.map(write));
          let now = START_S * 1000;
          const verify = makeVerifyToken({ keys: known, clock: () => now });
          for (const [waitMs, which] of steps) {
            now += waitMs;
            const token = tokens[which % tokens.length] ?? '';
            expect(await verify(token)).toEqual(await reference(token, now));
          }
        },
      ),
      { numRuns: 300 },
    );
  });

  it('says of tokens of an identity provider what one says that does not, whichever keys it publishes when', async () => {
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
        const verifier = (url: string, mostRemembered?: number) =>
          makeVerifyToken({
            keys: known,
            external: { jwks: { kind: 'url', url }, issuer: ISSUER, audience: AUDIENCE, timing },
            clock: () => Date.now(),
            ...(mostRemembered !== undefined && { mostRemembered }),
          });
        const [remembering, plain] = [verifier(one.url), verifier(other.url, 0)];
        const tokens = await Promise.all(
          [600, 1800].flatMap((lastsS) =>
            keys.map((by) => sign(by, { exp: START_S + lastsS, jti: `${lastsS}` })),
          ),
        );
        for (const { waitMs, published, isDown, which } of steps) {
          vi.setSystemTime(Date.now() + waitMs);
          for (const provider of [one, other]) {
            if (published) provider.keys = published.flatMap((n) => keys[n] ?? []);
            provider.trouble = isDown ? DOWN : undefined;
          }
          const token = tokens[which] ?? '';
          const said = await Promise.allSettled(
            [remembering(token), plain(token)].map(async (answer) => answer),
          );
          const [first, second] = said.map((answer) =>
            answer.status === 'fulfilled' ? answer.value : 'unavailable',
          );
          expect(first).toEqual(second);
          expect(one.fetches).toBe(other.fetches);
        }
      }),
      { numRuns: 60 },
    );
  });

  it('says it at once: of own tokens always, of others from the second time on', async () => {
    const signer = await makeKey('ES256');
    const { url } = await startIdentityProvider(signer);
    const external = { jwks: { kind: 'url', url } as const, issuer: ISSUER, audience: AUDIENCE };
    const verify = makeVerifyToken({ keys: known, external, clock: Date.now });
    const now = Date.now();
    const own = await issueToken(known, {
      userId: 'boss',
      tokenId: 'a',
      issuedAt: now,
      expiresAt: now + 60_000,
    });
    const valid = { kind: 'valid', token: { userId: 'boss', tokenId: 'a' } };
    expect(verify(own)).toEqual(valid);
    expect(verify(own)).toEqual(valid);

    const theirs = await sign(signer, { jti: 'a' });
    const first = verify(theirs);
    expect(first).toBeInstanceOf(Promise);
    expect(await first).toEqual(valid);
    // The first one brought the keys. This one is bound to them.
    expect(await verify(theirs)).toEqual(valid);
    expect(verify(theirs)).toEqual(valid);
  });

  it('takes no other signature, however little it differs, and no token in the second it expires, also at first sight', async () => {
    let now = START_S * 1000;
    const verify = () => makeVerifyToken({ keys: known, clock: () => now });
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
        // Two bits of the last letter mean nothing, and yet one of its four spellings is the token.
        const { kind } = await verify()(`${head}.${claims}.${other}`);
        expect(kind, `letter ${at} as ${letter}`).toBe(other === signature ? 'valid' : 'invalid');
      }
    now += 59_999;
    expect(await verify()(token)).toMatchObject({ kind: 'valid' });
    now += 1;
    expect(await verify()(token)).toEqual({ kind: 'expired' });
  });

  it('remembers nothing of what it refused', async () => {
    const now = START_S * 1000;
    const verify = makeVerifyToken({ keys: known, clock: () => now });
    const expired = await issueToken(known, {
      userId: 'boss',
      tokenId: 'a',
      issuedAt: now - 2000,
      expiresAt: now - 1000,
    });
    for (const token of [expired, 'e30.e30.e30', ''])
      for (const _again of [1, 2]) expect(verify(token)).toBeInstanceOf(Promise);
  });
});
