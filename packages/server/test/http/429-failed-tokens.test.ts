import { NEW_LEADS_PATH } from '@leadtap/contract';
import { FAILED_TOKEN_POLICIES, type Policy } from 'leadtap';
import { describe, expect, it } from 'vitest';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { expectProblem } from '../../../testing/harness/problem.ts';
import { startService } from '../../../testing/harness/service.ts';

interface Request {
  readonly token?: string;
  readonly remoteAddress?: string;
  readonly headers?: Record<string, string>;
}

/** A small limit, so that tests need not send hundreds of requests. The first test covers the default. */
const QUOTA = 6;
const FEW: readonly Policy[] = [{ name: 'failed-tokens', quota: QUOTA, windowS: 60 }];

async function startGuarded(env: Record<string, string> = {}, failedTokenPolicies = FEW) {
  const clock = manualClock();
  const test = await startService({ clock, env, limits: { failedTokenPolicies } });
  const ask = ({ token = 'guess', remoteAddress = '203.0.113.7', headers = {} }: Request = {}) =>
    test.inject({
      url: NEW_LEADS_PATH,
      remoteAddress,
      headers: { ...(token !== '' && { authorization: `Bearer ${token}` }), ...headers },
    });
  const fail = async (count: number, request: Request = {}) => {
    for (let i = 0; i < count; i += 1) expect((await ask(request)).statusCode).toBe(401);
  };
  return { ...test, clock, ask, fail };
}

describe('429: an address with failed tokens', () => {
  it('may send 600 of them a minute', async () => {
    const { ask, fail, clock } = await startGuarded({}, FAILED_TOKEN_POLICIES);
    await fail(600);
    clock.advance(20_500);
    const answer = await ask();
    const { violatedPolicies } = await expectProblem(answer, 'rate-limit-exceeded');
    expect(violatedPolicies).toEqual(['failed-tokens']);
    expect(answer.headers['retry-after']).toBe('40');
    expect(Object.keys(answer.headers).filter((name) => name.startsWith('ratelimit'))).toEqual([]);
    expect(answer.headers['www-authenticate']).toBeUndefined();

    clock.advance(39_500);
    await fail(600);
    expect((await ask()).statusCode).toBe(429);
  });

  it('may still poll with a valid token', async () => {
    const { ask, fail, token } = await startGuarded();
    const good = await token('boss');
    await fail(QUOTA);
    expect((await ask()).statusCode).toBe(429);
    const answer = await ask({ token: good });
    expect(answer.statusCode).toBe(200);
    expect(answer.headers['ratelimit']).toContain('"minute";r=99');
  });

  it('is charged for expired and revoked tokens too', async () => {
    const { ask, token, clock, store, fail } = await startGuarded();
    const expired = await token('boss', { expiresInMs: 1000 });
    const revoked = await token('boss', { tokenId: 'token-1' });
    await store.revokeToken('token-1');
    clock.advance(2000);
    await fail(QUOTA / 2, { token: expired });
    await fail(QUOTA / 2, { token: revoked });
    expect((await ask({ token: expired })).statusCode).toBe(429);
  });

  it('is not charged for requests without a token', async () => {
    const { ask, fail } = await startGuarded();
    await fail(QUOTA + 1, { token: '' });
    await fail(QUOTA);
    expect((await ask()).statusCode).toBe(429);
    expect((await ask({ token: '' })).statusCode).toBe(401);
  });

  it('is not charged for valid tokens of users who fail a later check', async () => {
    const { ask, fail, token } = await startGuarded();
    const unknown = await token('unknown');
    for (let i = 0; i < QUOTA + 1; i += 1) await ask({ token: unknown });
    await fail(QUOTA);
  });

  it('does not affect other addresses', async () => {
    const { ask, fail } = await startGuarded();
    await fail(QUOTA);
    expect((await ask({ remoteAddress: '203.0.113.8' })).statusCode).toBe(401);
    expect((await ask({ remoteAddress: '2001:db8::1' })).statusCode).toBe(401);
  });

  it('is the /64 network with IPv6', async () => {
    const { ask, fail } = await startGuarded();
    for (let host = 0; host < QUOTA; host += 1)
      await fail(1, { remoteAddress: `2001:db8:1:2::${host.toString(16)}` });
    expect((await ask({ remoteAddress: '2001:db8:1:2:ffff:ffff:ffff:ffff' })).statusCode).toBe(429);
    expect((await ask({ remoteAddress: '2001:db8:1:3::1' })).statusCode).toBe(401);
  });

  it('is the same if it is IPv4-mapped IPv6', async () => {
    const { ask, fail } = await startGuarded();
    await fail(QUOTA, { remoteAddress: '::ffff:203.0.113.7' });
    expect((await ask()).statusCode).toBe(429);
  });
});

describe('429: the address behind a proxy', () => {
  const forwarded = (value: string, remoteAddress = '10.0.0.1'): Request => ({
    remoteAddress,
    headers: { 'x-forwarded-for': value },
  });

  it('LEADTAP_TRUST_PROXY off: X-Forwarded-For is ignored', async () => {
    const { ask, fail } = await startGuarded();
    for (let i = 0; i < QUOTA; i += 1) await fail(1, forwarded(`198.51.100.${i}`));
    expect((await ask(forwarded('198.51.100.251'))).statusCode).toBe(429);
    expect((await ask(forwarded('198.51.100.251', '10.0.0.2'))).statusCode).toBe(401);
  });

  it('LEADTAP_TRUST_PROXY=1: the entry of the proxy counts, forged ones before it do not', async () => {
    const { ask, fail } = await startGuarded({ LEADTAP_TRUST_PROXY: '1' });
    for (let i = 0; i < QUOTA; i += 1) await fail(1, forwarded(`198.51.100.${i}, 192.0.2.66`));
    expect((await ask(forwarded('8.8.8.8, 192.0.2.66'))).statusCode).toBe(429);
    expect((await ask(forwarded('192.0.2.66'))).statusCode).toBe(429);
    expect((await ask(forwarded('192.0.2.66, 192.0.2.67'))).statusCode).toBe(401);
  });

  it('LEADTAP_TRUST_PROXY=1: two headers are one list', async () => {
    const { fail, inject } = await startGuarded({ LEADTAP_TRUST_PROXY: '1' });
    await fail(QUOTA, forwarded('192.0.2.66'));
    const answer = await inject({
      url: NEW_LEADS_PATH,
      remoteAddress: '10.0.0.1',
      headers: { authorization: 'Bearer guess', 'x-forwarded-for': ['8.8.8.8', '192.0.2.66'] },
    });
    expect(answer.statusCode).toBe(429);
  });

  it('LEADTAP_TRUST_PROXY=2: the second entry from the right counts', async () => {
    const { ask, fail } = await startGuarded({ LEADTAP_TRUST_PROXY: '2' });
    await fail(QUOTA, forwarded('8.8.8.8, 192.0.2.66, 10.0.0.2'));
    expect((await ask(forwarded('9.9.9.9, 192.0.2.66, 10.0.0.3'))).statusCode).toBe(429);
  });

  it('a list of addresses: only these proxies are trusted', async () => {
    const { ask, fail } = await startGuarded({ LEADTAP_TRUST_PROXY: '10.0.0.0/24, loopback' });
    await fail(QUOTA, forwarded('8.8.8.8, 192.0.2.66, 10.0.0.9'));
    expect((await ask(forwarded('9.9.9.9, 192.0.2.66'))).statusCode).toBe(429);
    // A peer that is not on the list is the client itself.
    expect((await ask(forwarded('192.0.2.66', '198.51.100.1'))).statusCode).toBe(401);
    await fail(QUOTA - 1, forwarded('7.7.7.7', '198.51.100.1'));
    expect((await ask(forwarded('6.6.6.6', '198.51.100.1'))).statusCode).toBe(429);
  });

  it('a port in the entry is ignored', async () => {
    const { ask, fail } = await startGuarded({ LEADTAP_TRUST_PROXY: '1' });
    for (let i = 0; i < QUOTA; i += 1) await fail(1, forwarded(`192.0.2.66:${40_000 + i}`));
    expect((await ask(forwarded('192.0.2.66:1'))).statusCode).toBe(429);
  });
});
