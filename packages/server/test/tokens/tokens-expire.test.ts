import { expect, it } from 'vitest';
import { startService } from '../../../testing/harness/service.ts';
import { makeKey, sign, startIdentityProvider } from './support/identity-provider.ts';
import { outcome, pollWith } from './support/polling.ts';

const START = Date.UTC(2026, 2, 2, 9, 30);

/** Also when it is cached. */
it('an own token is accepted up to its last second', async () => {
  let now = START;
  const { url, token } = await startService({ clock: () => now });
  const mine = await token('boss', { expiresInMs: 60_000 });
  now = START + 59_999;
  expect(await outcome(await pollWith(url, mine))).toBe('200');
  now = START + 60_000;
  expect(await outcome(await pollWith(url, mine))).toBe('401 token-expired');
});

it('a token of the identity provider is accepted for 5 s more, for clocks that differ', async () => {
  let now = START;
  const key = await makeKey('ES256');
  const { url } = await startService({ clock: () => now, env: (await startIdentityProvider(key)).env });
  const theirs = await sign(key, { exp: START / 1000 + 60 });
  now = START + 64_999;
  expect(await outcome(await pollWith(url, theirs))).toBe('200');
  now = START + 65_000;
  expect(await outcome(await pollWith(url, theirs))).toBe('401 token-expired');
});

it('an expired token with a wrong signature is invalid, not expired', async () => {
  const { url, token } = await startService();
  const expired = await token('boss', { expiresInMs: -60_000 });
  expect(await outcome(await pollWith(url, `${expired.slice(0, -4)}AAAA`))).toBe('401 token-invalid');
});
