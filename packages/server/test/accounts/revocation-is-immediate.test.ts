import { describe, expect, it, vi } from 'vitest';
import { runLeadtap } from '../../../testing/harness/leadtap-process.ts';
import { startService, type TestService } from '../../../testing/harness/service.ts';
import { untilChangesAreTracked } from '../cache/support/change-tracking.ts';
import { makeKey, sign, startIdentityProvider } from '../tokens/support/identity-provider.ts';
import { outcome, pollWith } from '../tokens/support/polling.ts';

/** A second instance beside the first, on the same database and key. */
const startBeside = (beside: TestService, env: Record<string, string> = {}): Promise<TestService> =>
  startService({ env, beside });

const revokeByCommand = (tokenId: string, env: Record<string, string>) =>
  runLeadtap(['token', 'revoke', tokenId, '--force'], env);

describe('a token that is revoked by the command line', () => {
  it('is rejected by the next request to every running instance, and no other token is', async () => {
    const first = await startService();
    const second = await startBeside(first);
    const [revoked, kept] = [await first.token('boss', { tokenId: 'revoked' }), await first.token('boss')];
    const issuedAt = Date.now();
    await first.store.recordTokens([
      {
        id: 'revoked',
        userId: 'boss',
        name: null,
        issuedAt,
        expiresAt: issuedAt + 60_000,
        scopes: ['leads:read'],
      },
    ]);
    const answers = async (token: string) => [
      await outcome(await pollWith(first.url, token)),
      await outcome(await pollWith(second.url, token)),
    ];
    expect(await answers(revoked)).toEqual(['200', '200']);
    expect(await answers(kept)).toEqual(['200', '200']);

    const { code } = await runLeadtap(['token', 'revoke', 'revoked'], first.database.env);
    expect(code).toBe(0);
    expect(await answers(revoked)).toEqual(['401 token-revoked', '401 token-revoked']);
    expect(await answers(kept)).toEqual(['200', '200']);
  });

  it.each([
    ['the service itself', async (test: TestService) => test.store.revokeToken('cached')],
    ['another process', ({ database }: TestService) => revokeByCommand('cached', database.env)],
  ] as const)('is rejected also if it is cached, and revoked by %s', async (_title, revoke) => {
    const test = await startService();
    await untilChangesAreTracked(test.store);
    const token = await test.token('boss', { tokenId: 'cached' });
    const poll = async () => outcome(await pollWith(test.url, token));
    // The first revalidation invalidates everything, the second one caches the token, and the third one uses it.
    for (let n = 0; n < 3; n += 1) expect(await poll()).toBe('200');
    const revalidate = vi.spyOn(test.store.changeTracking, 'revalidate');
    expect(await poll()).toBe('200');
    expect(revalidate.mock.calls).toMatchObject([[{ tokens: [] }, expect.anything()]]);
    await revoke(test);
    expect(await poll()).toBe('401 token-revoked');
    expect(await poll()).toBe('401 token-revoked');
  });

  it('may be one of the identity provider, identified by its `jti`', async () => {
    const key = await makeKey('ES256');
    const { env } = await startIdentityProvider(key);
    const first = await startService({ env });
    const second = await startBeside(first, env);
    const token = await sign(key, { jti: 'session-1' });
    expect(await outcome(await pollWith(second.url, token))).toBe('200');
    await revokeByCommand('session-1', first.database.env);
    expect(await outcome(await pollWith(second.url, token))).toBe('401 token-revoked');
    expect(await outcome(await pollWith(second.url, await sign(key, { jti: 'session-2' })))).toBe('200');
  });
});
