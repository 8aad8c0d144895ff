import { Consumers } from '@leadtap/contract/schemas';
import { Errors } from 'typebox/value';
import { describe, expect, it } from 'vitest';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { startService, type TestService } from '../../../testing/harness/service.ts';
import { issueToken } from '../../src/accounts/own-tokens.ts';
import { iso, readConsumers } from './support/consumers.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

type SigningKeys = Parameters<typeof issueToken>[0];
const UNKNOWN_KEY: SigningKeys = [{ id: 'unknown', secret: new Uint8Array(32).fill(7) }];

async function installation() {
  const clock = manualClock();
  const service = await startService({ clock });
  const issue = (id: string, keys: SigningKeys = service.service.keys, lifetimeMs = 3 * DAY_MS) =>
    issueToken(keys, { userId: 'boss', tokenId: id, issuedAt: clock(), expiresAt: clock() + lifetimeMs });
  const recordIssued = (id: string) =>
    service.store.recordTokens([
      {
        id,
        userId: 'boss',
        name: id,
        issuedAt: clock(),
        expiresAt: clock() + HOUR_MS,
        scopes: ['leads:read'],
      },
    ]);
  return { clock, service, issue, recordIssued };
}

const poll = async ({ url }: TestService, token: string, headers: Record<string, string> = {}) =>
  (await fetch(`${url}/automation/new-leads`, { headers: { authorization: `Bearer ${token}`, ...headers } }))
    .status;

describe('a token that is refused and still polls', () => {
  it('is listed with the reason until 24 hours after its last poll', async () => {
    const { clock, service, issue, recordIssued } = await installation();
    const tokens = {
      expired: await issue('expired', undefined, HOUR_MS),
      revoked: await issue('revoked'),
    };
    for (const id of Object.keys(tokens)) await recordIssued(id);
    expect(await poll(service, tokens.revoked)).toBe(200);
    await service.store.revokeToken('revoked');
    clock.advance(HOUR_MS);
    for (const token of Object.values(tokens)) expect(await poll(service, token)).toBe(401);
    const polledAt = clock();
    const headers = { authorization: `Bearer ${await service.token('boss', { tokenId: 'console' })}` };
    const body: unknown = await (await fetch(`${service.url}/automation/consumers`, { headers })).json();
    expect([...Errors(Consumers, body)]).toEqual([]);
    const listed = (tokenEnded: string) => ({
      ...{ tokenId: tokenEnded, name: tokenEnded, lastStatus: 401, lastPollAt: iso(polledAt), tokenEnded },
    });
    expect((body as Consumers).consumers).toMatchObject(Object.keys(tokens).map(listed));
    const ends = async (now: number) =>
      (await readConsumers(service, now)).map(({ tokenId, tokenEnded }) => [tokenId, tokenEnded]);
    expect(await ends(polledAt + DAY_MS)).toEqual([['expired', null]]);
  });

  it('changes no row if its signature is not valid', async () => {
    const { clock, service, issue, recordIssued } = await installation();
    const [valid, forged] = [await issue('a'), await issue('a', UNKNOWN_KEY, -HOUR_MS)];
    await recordIssued('a');
    expect(await poll(service, valid)).toBe(200);
    await service.service.recorder?.flush();
    const before = await readConsumers(service, clock());
    expect(before).toMatchObject([{ lastStatus: 200, tokenEnded: null }]);
    clock.advance(1000);
    expect(await poll(service, forged)).toBe(401);
    await service.service.recorder?.flush();
    expect(await readConsumers(service, clock())).toEqual(before);
  });

  it('is no consumer if it was not issued here for this user, may not read leads, or is that of the console', async () => {
    const { service, issue, recordIssued } = await installation();
    await recordIssued('console');
    await recordIssued('of-boss');
    await recordIssued('forged');
    const times = { issuedAt: 0, expiresAt: Date.UTC(2100, 0) };
    const sign = (grant: object) =>
      issueToken(UNKNOWN_KEY, { userId: 'boss', tokenId: 'x', ...times, ...grant });
    expect(await poll(service, await sign({ tokenId: 'made-up' }))).toBe(401);
    expect(await poll(service, await sign({ userId: 'seller', tokenId: 'of-boss' }))).toBe(401);
    expect(await poll(service, await sign({ tokenId: 'of-boss', scopes: ['leads:write'] }))).toBe(401);
    const header = { 'leadtap-client': 'console' };
    expect(await poll(service, await issue('console', UNKNOWN_KEY), header)).toBe(401);
    // It names a key that is known, so its signature is wrong.
    const [key] = service.service.keys;
    const forged = await issueToken([{ ...key, secret: new Uint8Array(32) }], {
      userId: 'boss',
      tokenId: 'forged',
      ...times,
    });
    expect(await poll(service, forged)).toBe(401);
    expect(await readConsumers(service)).toEqual([]);
  });
});
