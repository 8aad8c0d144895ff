import { SubscribedHook, Hook as WireHook } from '@leadtap/contract/schemas';
import { Errors } from 'typebox/value';
import { describe, expect, it } from 'vitest';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { expectProblem } from '../../../testing/harness/problem.ts';
import { startService } from '../../../testing/harness/service.ts';
import { hooksRequest, postHook, readHook, storedHook, subscribe, ZAPIER_URL } from './support/hooks.ts';

const iso = (ms: number) => new Date(ms).toISOString();

describe('a subscription', () => {
  it('is 201 with its URL, a secret, and the newest lead that the user may see as its position', async () => {
    const service = await startService({ env: { LEADTAP_BASE_PATH: '/api' } });
    const [last = 0] = await service.add({});
    const token = await service.token('boss');
    const response = await postHook(service, token, { url: ZAPIER_URL, other: 'ignored' });
    expect(response.status).toBe(201);
    const hook = (await response.json()) as SubscribedHook;
    expect([...Errors(SubscribedHook, hook)]).toEqual([]);
    expect(hook).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{32}$/),
      url: ZAPIER_URL,
      name: null,
      send: 'event',
      secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
      since: iso(last),
      state: 'active',
    });
    expect(response.headers.get('location')).toBe(`${service.url}/automation/hooks/${hook.id}`);
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(response.headers.get('ratelimit')).toContain('"minute";r=99');
    expect(await storedHook(service, hook.id)).toMatchObject({ userId: 'boss', baseUrl: service.url });
  });

  it('that sends leads may begin some seconds ahead of our clock: that of the client may be', async () => {
    const clock = manualClock();
    const service = await startService({ clock });
    const token = await service.token('boss');
    const statusAt = async (aheadMs: number) => {
      const subscription = { url: ZAPIER_URL, since: iso(clock() + aheadMs), send: 'lead' };
      return (await postHook(service, token, JSON.stringify(subscription))).status;
    };
    expect([await statusAt(60_000), await statusAt(60_001)]).toEqual([201, 422]);
  });

  it('tells a user of a department nothing about leads of others', async () => {
    const service = await startService();
    const [visible = 0] = await service.add({ departmentId: 'sales' });
    await service.add({}, { departmentId: 'service' });
    const { since } = await subscribe(service, await service.token('seller'), ZAPIER_URL);
    expect(since).toBe(iso(visible));
  });

  it('is the same for the same token and URL, whatever its spelling, and enabled again', async () => {
    const service = await startService();
    const token = await service.token('boss');
    const first = await subscribe(service, token, ZAPIER_URL);
    const claimed = await storedHook(service, first.id);
    const failed = { ...claimed, failures: 9, failingSince: 1, disabledAt: 1 };
    await service.store.hooks.settle([{ claimed, progress: failed }]);
    expect(await readHook(service, token, first.id)).toMatchObject({ state: 'disabled', failures: 9 });
    const again = await postHook(service, token, { url: 'HTTPS://Hooks.Zapier.com:443/hooks/standard/1/a/' });
    expect([again.status, await again.json()]).toEqual([200, first]);
    expect(await readHook(service, token, first.id)).toMatchObject({ state: 'active', failures: 0 });
  });

  it('of another token, or another URL, is another one, with another secret', async () => {
    const service = await startService();
    const [one, other] = [await service.token('boss'), await service.token('boss')];
    const hooks = [
      await subscribe(service, one, ZAPIER_URL),
      await subscribe(service, other, ZAPIER_URL),
      await subscribe(service, one, `${ZAPIER_URL}b`),
    ];
    expect(new Set(hooks.map(({ id }) => id)).size).toBe(3);
    expect(new Set(hooks.map(({ secret }) => secret)).size).toBe(3);
  });

  it('is one when the same request comes many times at once', async () => {
    const service = await startService();
    const token = await service.token('boss');
    const responses = await Promise.all(
      Array.from({ length: 20 }, () => postHook(service, token, { url: ZAPIER_URL })),
    );
    const hooks = (await Promise.all(responses.map((response) => response.json()))) as SubscribedHook[];
    expect(new Set(hooks.map(({ id }) => id)).size).toBe(1);
    expect(responses.map(({ status }) => status).sort()).toEqual([...Array(19).fill(200), 201]);
  });

  it.each([
    ['2026-03-02T11:30:00+02:00', '2026-03-02T09:30:00.000Z'],
    ['2999-01-01', '2999-01-01T00:00:00.000Z'],
    ['0000-01-01', '0001-01-01T00:00:00.000Z'],
  ])('since %s is accepted', async (since, readAs) => {
    const service = await startService();
    expect(await subscribe(service, await service.token('boss'), ZAPIER_URL, since)).toMatchObject({
      since: readAs,
    });
  });

  it.each([
    ['no body', { method: 'POST' }],
    ['a body of another kind', { method: 'POST', body: 'a=b', headers: { 'content-type': 'text/plain' } }],
    [
      'JSON',
      {
        method: 'POST',
        body: '{"url":"https://evil.test"}',
        headers: { 'content-type': 'application/json' },
      },
    ],
  ])('takes its URL from x-ms-notification-url, with %s', async (_name, init: RequestInit) => {
    const service = await startService();
    const headers = { ...init.headers, 'x-ms-notification-url': 'https://prod-1.logic.azure.com/a?sig=b' };
    const response = await hooksRequest(service, await service.token('boss'), { ...init, headers });
    expect(response.status).toBe(201);
    expect(await response.json()).toMatchObject({ url: headers['x-ms-notification-url'] });
  });
});

describe('GET', () => {
  it('shows the state to the token that subscribed, and HEAD the same headers', async () => {
    const service = await startService();
    const token = await service.token('boss');
    const { id, since } = await subscribe(service, token, ZAPIER_URL);
    const response = await hooksRequest(service, token, { path: `/${id}` });
    const hook = await response.json();
    expect([...Errors(WireHook, hook)]).toEqual([]);
    expect(hook).toEqual({
      ...{ id, url: ZAPIER_URL, name: null, send: 'event', state: 'active', announcedThrough: since },
      ...{ lastEventAt: null, lastStatus: null, failures: 0 },
    });
    const head = await hooksRequest(service, token, { path: `/${id}`, method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([200, '']);
    expect(head.headers.get('content-length')).toBe(response.headers.get('content-length'));
  });

  it('is 404 for another token, another user, and an id that does not exist', async () => {
    const service = await startService();
    const { id } = await subscribe(service, await service.token('boss'), ZAPIER_URL);
    for (const user of ['boss', 'north-lead', 'rival'])
      await expectProblem(
        await hooksRequest(service, await service.token(user), { path: `/${id}` }),
        'no-such-resource',
      );
    const token = await service.token('boss');
    for (const path of [`/${'0'.repeat(32)}`, '/', '/x', `/${id}/x`, '/%00', `/${id.toUpperCase()}`])
      await expectProblem(await hooksRequest(service, token, { path }), 'no-such-resource');
  });
});

describe('DELETE', () => {
  it('is 204 always, without a token, with a bad one, and again', async () => {
    const service = await startService();
    const token = await service.token('boss');
    const remove = (id: string, bearer?: string) =>
      hooksRequest(service, bearer, { path: `/${id}`, method: 'DELETE' });
    for (const bearer of [undefined, 'nonsense', token, await service.token('removed')]) {
      const { id } = await subscribe(service, token, ZAPIER_URL);
      const first = await remove(id, bearer);
      expect([first.status, await first.text(), first.headers.get('cache-control')]).toEqual([
        204,
        '',
        'no-store',
      ]);
      expect(await service.store.hooks.find(id)).toBeUndefined();
      expect((await remove(id, bearer)).status).toBe(204);
    }
    for (const id of ['', 'x', '%00', '0'.repeat(32)]) expect((await remove(id)).status).toBe(204);
  });

  it('is 204 with a revoked token', async () => {
    const service = await startService();
    const token = await service.token('boss', { tokenId: 'revoked' });
    const { id } = await subscribe(service, token, ZAPIER_URL);
    await service.store.revokeToken('revoked');
    const response = await hooksRequest(service, token, { path: `/${id}`, method: 'DELETE' });
    expect(response.status).toBe(204);
    expect(await service.store.hooks.find(id)).toBeUndefined();
  });
});
