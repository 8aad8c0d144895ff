import { randomUUID } from 'node:crypto';
import { describe, expect, it, vi } from 'vitest';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { issuedToken } from '../../../testing/harness/organisation.ts';
import { scheduleTimeout } from '../../src/poll/long-polls.ts';
import { appliedOf, idsOf, startWaitingService, type WaitingService } from './support/long-polls-service.ts';

const QUERY = 'since=2026-01-01';

/** A wait of `north-lead` with a token of the test's own. */
async function waitWithToken(service: WaitingService, options: { expiresInMs?: number } = {}) {
  const tokenId = randomUUID();
  const token = await service.token('north-lead', { tokenId, ...options });
  return { tokenId, ...(await waitWith(service, token)) };
}

async function waitWith(service: WaitingService, token: string) {
  const answer = service.wait('north-lead', QUERY, { headers: { authorization: `Bearer ${token}` } });
  await service.untilWaiting(1);
  return { answer };
}

describe('a wait ends', () => {
  it('with 401 when the token is revoked', async () => {
    const service = await startWaitingService();
    const tokenId = randomUUID();
    const token = await service.token('north-lead', { tokenId });
    const headers = { authorization: `Bearer ${token}` };
    const poll = async () => (await service.poll('north-lead', QUERY, { headers })).status;
    // Often enough that the account comes from the cache, if it is cached.
    expect([await poll(), await poll(), await poll()]).toEqual([200, 200, 200]);
    const { answer } = await waitWith(service, token);
    await service.store.revokeToken(tokenId);
    const response = await answer;
    expect(response.status).toBe(401);
    expect(await response.json()).toMatchObject({ code: 'token-revoked' });
    expect(response.headers.get('www-authenticate')).toContain('invalid_token');
    expect(appliedOf(response)).toBeNull();
    await service.untilWaiting(0);
    expect([await poll(), await poll(), await poll()]).toEqual([401, 401, 401]);
  });

  it('with 401 when the token expires', async () => {
    const clock = manualClock();
    const service = await startWaitingService({ clock });
    const { answer } = await waitWithToken(service, { expiresInMs: 1000 });
    clock.advance(1000);
    // The token expires, and the 50 s of the wait are not over.
    await service.passTime(2000);
    await vi.waitFor(() => expect(service.waiting()).toBe(0));
    const response = await answer;
    expect(response.status).toBe(401);
    expect(await response.json()).toMatchObject({ code: 'token-expired' });
  });

  it('with 401 when the token expires by timers of Node', async () => {
    // The clock runs from the moment at which the poll is held, so that the token has not expired before.
    let heldAt: number | undefined;
    // Tokens expire at whole seconds.
    const startedAt = Date.UTC(2026, 2, 2);
    const waits: number[] = [];
    const service = await startWaitingService({
      clock: () => startedAt + (heldAt === undefined ? 0 : performance.now() - heldAt),
      schedule: (callback, delayMs) => {
        if (delayMs >= 1000) waits.push(delayMs);
        return scheduleTimeout(callback, delayMs);
      },
      prepare: ({ metrics }) => {
        const { observeWaiting } = metrics;
        metrics.observeWaiting = (count) => {
          heldAt ??= performance.now();
          observeWaiting?.(count);
        };
      },
    });
    const { answer } = await waitWithToken(service, { expiresInMs: 1000 });
    // Not the 50 s of the wait, after which the answer would be the same.
    expect(Math.max(...waits)).toBeLessThan(2000);
    const response = await answer;
    expect(await response.json()).toMatchObject({ code: 'token-expired' });
  });

  it('with 403 when the user loses the plan', async () => {
    const service = await startWaitingService();
    const { answer } = await waitWithToken(service);
    await service.store.updateUser('north-lead', { plan: 'STARTER' });
    const response = await answer;
    expect(response.status).toBe(403);
    expect(await response.json()).toMatchObject({ code: 'professional-plan-required' });
    expect(response.headers.get('ratelimit')).toContain('"minute";r=99');
  });

  it('with 404 when the user is removed', async () => {
    const service = await startWaitingService();
    const { tokenId, answer } = await waitWithToken(service);
    await service.store.recordTokens([issuedToken('north-lead', tokenId)]);
    await service.store.removeUser('north-lead');
    const response = await answer;
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ code: 'user-not-found' });
  });

  it('with leads that a new access level shows', async () => {
    const service = await startWaitingService();
    await service.add({ id: 'in the south', branchId: 'south' });
    const { answer } = await waitWithToken(service);
    await service.store.updateUser('north-lead', { accessLevel: 'COMPANY' });
    const response = await answer;
    expect(response.status).toBe(200);
    expect(await idsOf(response)).toEqual(['in the south']);
  });
});

describe('a wait does not end', () => {
  it('when another token of the user is revoked, or another user is changed', async () => {
    const service = await startWaitingService();
    const { answer } = await waitWithToken(service);
    await service.store.revokeToken(randomUUID());
    await service.store.updateUser('boss', { plan: 'STARTER' });
    await service.store.updateUser('north-lead', { name: 'Renamed' });
    await service.add({ id: 'seen', branchId: 'north' });
    expect(await idsOf(await answer)).toEqual(['seen']);
  });

  it('when the user is moved to another branch, whose next lead ends it', async () => {
    const service = await startWaitingService();
    const { answer } = await waitWithToken(service);
    await service.store.updateUser('north-lead', { branchId: 'south' });
    await service.add({ id: 'in the north', branchId: 'north' }, { id: 'in the south', branchId: 'south' });
    expect(await idsOf(await answer)).toEqual(['in the south']);
  });
});

it('a failed check uses no further unit of the rate limit', async () => {
  const service = await startWaitingService({ clock: manualClock() });
  const { answer } = await waitWithToken(service);
  for (const branchId of ['south', 'north']) await service.add({ branchId });
  expect((await answer).headers.get('ratelimit')).toContain('"minute";r=99');
  expect((await service.poll('north-lead')).headers.get('ratelimit')).toContain('"minute";r=98');
});
