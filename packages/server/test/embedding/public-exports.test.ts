import {
  ConnectionRecorder,
  type ExternalTokens,
  issueToken,
  type JwksLocation,
  type JwksTiming,
  JwksUnavailableError,
  loadSigningKeys,
  makeVerifyToken,
  type PollHandlerOptions,
  type PollRecorder,
  type SigningKey,
  SigningKeyError,
  type SigningKeySource,
  type SigningKeys,
  type TokenGrant,
  type TokenSources,
  TokenVerificationUnavailableError,
} from 'leadtap';
import { expect, expectTypeOf, it } from 'vitest';

it('every type that an option or a function of the surface names', () => {
  expectTypeOf<PollHandlerOptions['recorder']>().toEqualTypeOf<PollRecorder | undefined>();
  expectTypeOf(ConnectionRecorder).instance.toExtend<PollRecorder>();
  expectTypeOf(issueToken).parameter(1).toEqualTypeOf<TokenGrant>();
  expectTypeOf(loadSigningKeys).parameter(0).toEqualTypeOf<SigningKeySource>();
  expectTypeOf(makeVerifyToken).parameter(0).toEqualTypeOf<TokenSources>();
  expectTypeOf<SigningKeys[number]>().toEqualTypeOf<SigningKey>();
  expectTypeOf<ExternalTokens['jwks']>().toEqualTypeOf<JwksLocation>();
  expectTypeOf<ExternalTokens['timing']>().toEqualTypeOf<Partial<JwksTiming> | undefined>();
});

it('every error that a function of the surface throws', async () => {
  await expect(loadSigningKeys({ secrets: ['short'] })).rejects.toThrow(SigningKeyError);
  const keys = await loadSigningKeys({ secrets: [Buffer.alloc(32).toString('base64')] });
  const external = {
    jwks: { kind: 'file', file: '/nowhere/jwks.json' },
    issuer: 'https://id.example.com',
    audience: 'leads',
  } as const;
  const make = () => makeVerifyToken({ keys, external, clock: () => 0 });
  expect(make).toThrow(JwksUnavailableError);
  expect(make).toThrow(TokenVerificationUnavailableError);
});
