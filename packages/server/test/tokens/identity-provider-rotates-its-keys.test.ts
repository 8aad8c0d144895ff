import { afterEach, describe, expect, it, vi } from 'vitest';
import { makeKey, sign, startIdentityProvider } from './support/identity-provider.ts';
import { outcome, startEndpoint } from './support/polling.ts';

const SECOND = 1_000;

/** Only the clock: sockets and their timers go on as ever. */
function stopClock() {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.UTC(2026, 2, 2) });
  return { advance: (ms: number) => vi.setSystemTime(Date.now() + ms) };
}

afterEach(() => void vi.useRealTimers());

describe('a key that the identity provider adds', () => {
  it('is fetched with the first token that uses it, after the cooldown of 30 s', async () => {
    const clock = stopClock();
    const [old, next] = [await makeKey('ES256'), await makeKey('ES256')];
    const provider = await startIdentityProvider(old);
    const { poll } = await startEndpoint(provider);
    expect(await outcome(await poll(await sign(old)))).toBe('200');
    provider.keys = [old, next];
    clock.advance(29 * SECOND);
    expect(await outcome(await poll(await sign(next)))).toBe('401 token-invalid');
    expect(provider.fetches).toBe(1);
    clock.advance(SECOND);
    expect(await outcome(await poll(await sign(next)))).toBe('200');
    expect(provider.fetches).toBe(2);
  });
});

describe('a key that it withdraws', () => {
  it('is accepted for at most ten more minutes', async () => {
    const clock = stopClock();
    const [old, next] = [await makeKey('ES256'), await makeKey('ES256')];
    const provider = await startIdentityProvider(old);
    const { poll } = await startEndpoint(provider);
    const token = await sign(old);
    expect(await outcome(await poll(token))).toBe('200');
    provider.keys = [next];
    clock.advance(599 * SECOND);
    expect(await outcome(await poll(token))).toBe('200');
    clock.advance(SECOND);
    expect(await outcome(await poll(token))).toBe('401 token-invalid');
  });
});

describe('many tokens with unknown keys', () => {
  it('cause one fetch in each cooldown', async () => {
    const clock = stopClock();
    const [key, madeUp] = [await makeKey('ES256'), await makeKey('ES256')];
    const provider = await startIdentityProvider(key);
    const { poll } = await startEndpoint(provider);
    const flood = async () => {
      const tokens = await Promise.all(
        Array.from({ length: 20 }, (_, i) => sign({ ...madeUp, kid: `${i}` })),
      );
      const responses = await Promise.all(tokens.map((token) => poll(token)));
      expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([401]));
    };
    for (const fetches of [1, 2, 3]) {
      await flood();
      expect(provider.fetches).toBe(fetches);
      clock.advance(30 * SECOND);
    }
  });
});
