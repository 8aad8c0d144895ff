import {
  type Checkpoint,
  type Lead,
  memoryCheckpoint,
  type NewLeadsOptions,
  newLeads,
  poll,
} from '@leadtap/client';
import { expect, it, onTestFinished } from 'vitest';
import { eventually } from '../../server/test/faults/eventually.ts';
import { untilHeld } from '../../testing/harness/long-polls.ts';
import { startService, type TestService } from '../../testing/harness/service.ts';
import { serving } from './answering.ts';

/** Takes leads in the background. Its own clock stands still while it sleeps, so nothing here waits for a schedule. */
function follow(options: NewLeadsOptions, route = (url: string) => url) {
  const stop = new AbortController();
  const ids: string[] = [];
  const prefers: (string | undefined)[] = [];
  let now = 0;
  const environment: NewLeadsOptions['environment'] = {
    now: () => now,
    sleep: async (ms) => {
      now += ms;
    },
    random: () => 0.5,
    fetch: (url, init) => {
      prefers.push(init.headers['prefer']);
      return fetch(route(url), init);
    },
  };
  const run = async () => {
    const leads = newLeads({ ...options, instant: true, signal: stop.signal, environment });
    for await (const { id } of leads) ids.push(id);
  };
  const ended = run();
  ended.catch(() => undefined);
  onTestFinished(() => stop.abort());
  return { ids, prefers, stop, ended };
}

async function connection(service: TestService) {
  return { baseUrl: service.url, token: await service.token('boss') };
}

it('a lead that arrives while the request is held ends it', async () => {
  const service = await startService();
  await service.add({ id: 'before' });
  const client = follow(await connection(service));
  for (const id of ['a', 'b', 'c']) {
    await untilHeld(service);
    await service.add({ id });
    await eventually(() => expect(client.ids.at(-1)).toBe(id));
  }
  expect(client.ids).toEqual(['a', 'b', 'c']);
  // The first request asks where the feed is now.
  expect(client.prefers).toEqual([undefined, ...Array(4).fill('wait=50')].slice(0, client.prefers.length));
});

it('the signal ends a held request at once, without an error', async () => {
  const service = await startService();
  const client = follow(await connection(service));
  await untilHeld(service);
  client.stop.abort();
  await client.ended;
  await untilHeld(service, 0);
});

it('a new run continues after the last lead that was taken', async () => {
  const service = await startService();
  const checkpoint = memoryCheckpoint();
  const options = { ...(await connection(service)), checkpoint };
  const first = follow(options);
  await untilHeld(service);
  await service.add({ id: 'a' });
  await eventually(() => expect(first.ids).toEqual(['a']));
  await eventually(async () =>
    expect((await checkpoint.load()) as Checkpoint).toMatchObject({ triggerIds: [expect.any(String)] }),
  );
  first.stop.abort();
  await first.ended;
  await service.add({ id: 'b' }, { id: 'c' });
  const second = follow(options);
  await eventually(() => expect(second.ids).toEqual(['b', 'c']));
});

it('a service that stops ends the request, and the client continues when it is back', async () => {
  const service = await startService();
  let origin = service.url;
  const errors: string[] = [];
  const client = follow(
    { ...(await connection(service)), onRetry: ({ code }) => void errors.push(code) },
    (url) => url.replace(service.url, origin),
  );
  await untilHeld(service);
  await service.stop();
  await eventually(() => expect(errors).toContain('connection-failed'));
  const again = await startService({ beside: service });
  await again.add({ id: 'a' });
  origin = again.url;
  await eventually(() => expect(client.ids).toEqual(['a']));
  await untilHeld(again);
});

it('a revoked token ends the loop with its error, also while the request is held', async () => {
  const service = await startService();
  const token = await service.token('boss', { tokenId: 'mine' });
  const client = follow({ baseUrl: service.url, token });
  await untilHeld(service);
  await service.store.revokeToken('mine');
  await expect(client.ended).rejects.toMatchObject({ code: 'token-revoked', status: 401 });
});

it('a request that is not answered in time fails after the wait and timeoutMs', async () => {
  const { url: baseUrl } = await serving(() => 'never');
  const limits: number[] = [];
  const timeLimit = (ms: number) => {
    limits.push(ms);
    return AbortSignal.abort();
  };
  const options = { baseUrl, token: 'any', since: '2026-03-02', timeoutMs: 1000, environment: { timeLimit } };
  await expect(poll({ ...options, waitS: 50 })).rejects.toThrow('did not answer within 51000 ms');
  await expect(poll(options)).rejects.toThrow('did not answer within 1000 ms');
  expect(limits).toEqual([51_000, 1000]);
});

it('poll() with waitS gives the lead that ends the wait, and says whether the service waits', async () => {
  const service = await startService();
  const options = { ...(await connection(service)), since: '2020-01-01T00:00:00.000Z' };
  const polling = poll({ ...options, waitS: 50 });
  await untilHeld(service);
  await service.add({ id: 'a' });
  const page = await polling;
  expect(page.leads.map(({ id }: Lead) => id)).toEqual(['a']);
  expect(page.isWaitApplied).toBe(true);
  expect(await poll(options)).toMatchObject({ isWaitApplied: false });
});

it('a service in which too many requests wait is polled as usual', async () => {
  const service = await startService({ env: { LEADTAP_MAX_LONG_POLLS: '0' } });
  const page = await poll({ ...(await connection(service)), since: '2020-01-01', waitS: 50 });
  expect(page).toMatchObject({ leads: [], isWaitApplied: false });
});
