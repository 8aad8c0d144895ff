import { poll } from '@leadtap/client';
import { type Lead, USER_WINDOWS } from '@leadtap/contract';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { manualClock } from '../../testing/harness/manual-clock.ts';
import { startService } from '../../testing/harness/service.ts';
import { shareService } from '../../testing/harness/shared-service.ts';
import { NEXT_LINK, serving } from './answering.ts';

const BEGIN = '2020-01-01T00:00:00.000Z';

async function startWithLeads(count: number) {
  const service = await startService();
  const times = await service.add(...Array.from({ length: count }, (_, n) => ({ id: `lead-${n}` })));
  const created = times.map((ms) => new Date(ms).toISOString());
  return { ...service, created, options: { baseUrl: service.url, token: await service.token('boss') } };
}

const idsOf = ({ leads }: { leads: readonly { id: string }[] }) => leads.map(({ id }) => id);

describe('poll', () => {
  it('gives the leads after since, oldest first, and where to go on', async () => {
    const { options, created } = await startWithLeads(5);
    const first = await poll({ ...options, since: BEGIN, limit: 3 });
    expect(idsOf(first)).toEqual(['lead-0', 'lead-1', 'lead-2']);
    expect(first).toMatchObject({ nextSince: created[2], isFull: true, isUnchanged: false });
    const second = await poll({ ...options, since: first.nextSince, limit: 3 });
    expect(idsOf(second)).toEqual(['lead-3', 'lead-4']);
    expect(second).toMatchObject({ nextSince: created[4], isFull: false });
    expect(await poll({ ...options, since: second.nextSince })).toMatchObject({
      leads: [],
      nextSince: created[4],
      isFull: false,
    });
  });

  it('gives the newest leads, newest first, without since, and the newest of them to go on from', async () => {
    const { options, created } = await startWithLeads(3);
    const page = await poll({ ...options, limit: 2 });
    expect(idsOf(page)).toEqual(['lead-2', 'lead-1']);
    expect(page.nextSince).toBe(created[2]);
  });

  it('goes on from 1970 where there has never been a lead: no clock decides', async () => {
    const { options } = await startWithLeads(0);
    expect((await poll(options)).nextSince).toBe('1970-01-01T00:00:00.000Z');
  });

  it('takes a Date, in which nothing is lost', async () => {
    const { options, created } = await startWithLeads(2);
    const page = await poll({ ...options, since: new Date(created[0] ?? '') });
    expect(idsOf(page)).toEqual(['lead-1']);
  });

  it('tells by the etag that nothing has changed', async () => {
    const { options, add } = await startWithLeads(1);
    const { etag } = await poll({ ...options, since: BEGIN });
    const same = await poll({ ...options, since: BEGIN, etag });
    expect(same).toMatchObject({ leads: [], isUnchanged: true, isFull: false, etag });
    await add({});
    expect(await poll({ ...options, since: BEGIN, etag })).toMatchObject({ isUnchanged: false });
  });

  it('gives all fields of a lead as the contract names them', async () => {
    const { options, leads } = await startWithLeads(1);
    const page = await poll({ ...options, since: BEGIN });
    expect(page.leads).toEqual(await leads('boss', `since=${BEGIN}`));
    expectTypeOf<Lead>().toExtend<(typeof page.leads)[number]>();
    expectTypeOf<keyof (typeof page.leads)[number]>().toEqualTypeOf<keyof Lead>();
  });

  it('tells what the limits leave', async () => {
    const service = await startService({ clock: manualClock() });
    const options = { baseUrl: service.url, token: await service.token('boss') };
    await poll(options);
    const { rateLimits } = await poll(options);
    expect(rateLimits).toEqual(
      USER_WINDOWS.map(({ name, quota, windowS }) => ({
        ...{ name, quota },
        remaining: quota - 2,
        resetMs: windowS * 1000,
      })),
    );
  });

  it('can be aborted', async () => {
    const { url } = await serving(() => 'never');
    const stop = new AbortController();
    const polling = poll({ baseUrl: url, token: 'any', signal: stop.signal });
    stop.abort(new Error('no more'));
    await expect(polling).rejects.toThrow('no more');
    await expect(poll({ baseUrl: url, token: 'any', signal: stop.signal })).rejects.toThrow('no more');
  });
});

describe('the base address', () => {
  const service = shareService({ env: { LEADTAP_BASE_PATH: '/api' } });

  it.each(['', '/', '//', '/automation/new-leads', '/automation/new-leads/', '?limit=3#top'])(
    'may end in %j',
    async (end) => {
      const [baseUrl, token] = [service().url + end, await service().token('boss')];
      expect(await poll({ baseUrl, token })).toMatchObject({ leads: [] });
      expect(await poll({ baseUrl: new URL(baseUrl), token })).toMatchObject({ leads: [] });
    },
  );
});

describe('a request', () => {
  const page = { status: 200, headers: { link: NEXT_LINK }, body: '[]' };

  it('carries the token that is given or asked for, and nothing else that tells about you', async () => {
    const seen: (string | undefined)[] = [];
    const { url: baseUrl } = await serving(({ headers }) => {
      seen.push(headers.authorization);
      return page;
    });
    await poll({ baseUrl, token: 'one' });
    await poll({ baseUrl, token: ' two\n' });
    await poll({ baseUrl, token: async () => 'three' });
    expect(seen).toEqual(['Bearer one', 'Bearer two', 'Bearer three']);
  });

  it.each([
    ['as the draft has it', '"m";r=1;t=2', [{ name: 'm', remaining: 1, resetMs: 2000 }]],
    ['with spaces and more', ' "m" ; pk=9 ; t=2 ; r=1', [{ name: 'm', remaining: 1, resetMs: 2000 }]],
    ['with nothing left', '"m";r=0;t=0', [{ name: 'm', remaining: 0, resetMs: 0 }]],
    ['without the time that is left', '"m";r=1', []],
    ['that is nonsense', 'r=1;t=2', []],
  ])('reads a limit %s', async (_, ratelimit, expected) => {
    const { url: baseUrl } = await serving(() => ({ ...page, headers: { ...page.headers, ratelimit } }));
    expect((await poll({ baseUrl, token: 'any' })).rateLimits).toEqual(expected);
  });
});
