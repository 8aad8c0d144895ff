import { expect, it, vi } from 'vitest';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { startService, type TestService } from '../../../testing/harness/service.ts';
import { StoreUnavailableError } from '../../src/sql/errors.ts';
import type { ConsumerHook } from '../../src/status/consumer-hooks.ts';
import { isAwaited, listedConsumerPages, silenceOf } from '../../src/status/consumer-states.ts';
import { terminal } from '../cli/terminal.ts';
import { client, iso, summary } from './support/consumers.ts';

const MINUTE_MS = 60_000;

/** As after 20 minutes in which it polled every two. */
const recordPolls = ({ store }: TestService, tokenId: string, now: number) =>
  store.consumers.record(
    Array.from({ length: 11 }, (_, index) =>
      summary('boss', tokenId, { lastPollAt: now - (10 - index) * 2 * MINUTE_MS }),
    ),
  );

const states = async (service: TestService, clock: () => number) => {
  await service.service.recorder?.flush();
  const { stdout } = await terminal().run('consumers --json', {
    env: service.database.env,
    parts: { clock },
  });
  return JSON.parse(stdout).map(
    ({ tokenId, state, isAwaited: awaited }: { tokenId: string; state: string; isAwaited: boolean }) =>
      `${tokenId} ${state}${awaited ? ', awaited' : ''}`,
  );
};

it('after a stop and a start, consumers are awaited for 1.5 intervals; those that were stale before stay stale', async () => {
  const clock = manualClock();
  const first = await startService({ clock });
  await recordPolls(first, 'polls', clock());
  await recordPolls(first, 'stops', clock());
  await recordPolls(first, 'stale', clock() - 10 * MINUTE_MS);
  await first.stop();
  clock.advance(30 * MINUTE_MS);
  const second = await startService({ clock, beside: first, organisation: { companies: [] } });
  expect(await states(second, clock)).toEqual([
    'polls active, awaited',
    'stale stale',
    'stops active, awaited',
  ]);
  clock.advance(3 * MINUTE_MS);
  await (await client(second, 'boss', 'polls')).poll(`since=${iso(clock())}`);
  expect(await states(second, clock)).toEqual(['polls active', 'stale stale', 'stops active, awaited']);
  clock.advance(1);
  expect(await states(second, clock)).toEqual(['polls active', 'stale stale', 'stops stale']);
});

it('a restart does not hide that the only consumer had stopped before', async () => {
  const clock = manualClock();
  const first = await startService({ clock });
  clock.advance(60 * MINUTE_MS);
  await recordPolls(first, 'stale', clock() - 10 * MINUTE_MS);
  await first.stop();
  clock.advance(MINUTE_MS);
  const second = await startService({ clock, beside: first, organisation: { companies: [] } });
  expect(await states(second, clock)).toEqual(['stale stale']);
});

it('a consumer whose last poll is of the future, because the clock was set back, is awaited until it polls', async () => {
  const clock = manualClock();
  const service = await startService({ clock });
  await recordPolls(service, 'stops', clock() + 1440 * MINUTE_MS);
  await recordPolls(service, 'polls', clock() + 1440 * MINUTE_MS);
  expect(await states(service, clock)).toEqual(['polls active, awaited', 'stops active, awaited']);
  await (await client(service, 'boss', 'polls')).poll();
  expect(await states(service, clock)).toEqual(['polls active', 'stops active, awaited']);
});

it('the start of a second instance is no downtime', async () => {
  const clock = manualClock();
  const first = await startService({ clock });
  await recordPolls(first, 'late', clock() - 2 * MINUTE_MS);
  await recordPolls(first, 'polls', clock());
  clock.advance(5000);
  const second = await startService({ clock, beside: first, organisation: { companies: [] } });
  clock.advance(2 * MINUTE_MS);
  expect(await states(second, clock)).toEqual(['late stale', 'polls active']);
});

it('after the database was unreachable, consumers are awaited', async () => {
  const clock = manualClock();
  const service = await startService({ clock });
  await recordPolls(service, 'a', clock());
  const { consumers, changeTracking } = service.store;
  const fail = async () => Promise.reject(new StoreUnavailableError('the database is unreachable'));
  const failing = [
    vi.spyOn(consumers, 'list').mockImplementation(fail),
    vi.spyOn(consumers, 'recordDowntime').mockImplementation(fail),
    vi.spyOn(changeTracking, 'revalidate').mockImplementation(fail),
  ];
  const { poll } = await client(service, 'boss', 'b');
  expect((await poll()).status).toBe(503);
  const unavailableSince = clock();
  clock.advance(30 * MINUTE_MS);
  for (const spy of failing) spy.mockRestore();
  const recordDowntime = vi.spyOn(consumers, 'recordDowntime');
  await vi.waitFor(() => expect(recordDowntime).toHaveBeenCalledWith(clock(), unavailableSince), {
    timeout: 30_000,
  });
  await recordDowntime.mock.results[0]?.value;
  expect(await states(service, clock)).toEqual(['a active, awaited']);
});

it('a single poll that fails is no downtime', async () => {
  const clock = manualClock();
  const service = await startService({ clock });
  await recordPolls(service, 'a', clock());
  clock.advance(5 * MINUTE_MS);
  const { consumers, changeTracking } = service.store;
  const list = vi.spyOn(consumers, 'list');
  vi.spyOn(changeTracking, 'revalidate').mockRejectedValueOnce(new StoreUnavailableError('a timeout'));
  const { poll } = await client(service, 'boss', 'b');
  expect((await poll()).status).toBe(503);
  await vi.waitFor(() => expect(list).toHaveBeenCalled(), { timeout: 30_000 });
  clock.advance(30 * MINUTE_MS);
  expect(await states(service, clock)).toEqual(['a stale']);
});

const HOOK: ConsumerHook = {
  ...{ userId: 'boss', tokenId: 'a', name: null, tokenName: null, companyId: 'acme' },
  ...{ state: 'active', count: 1, recorded: [] },
  ...{ createdAt: 0, announcedThrough: 0, lastEventAt: null, lastStatus: null, failures: 0 },
  ...{
    id: '1',
    host: 'hooks.zapier.com',
    send: 'event',
    keyId: null,
    connectionId: null,
    tokenExpiresAt: null,
    isAllowed: true,
    failingSince: null,
    scopes: null,
  },
  ...{
    announcedSince: null,
    attemptedThrough: null,
    disabledAt: null,
    notBefore: 0,
    checkAt: null,
    remindAt: null,
  },
};

it('a consumer with a webhook whose user may not poll now is not late', async () => {
  const clock = manualClock();
  const service = await startService({ clock });
  await recordPolls(service, 'a', clock());
  await service.add({});
  clock.advance(60 * MINUTE_MS);
  const listed = async () => {
    const query = { now: clock(), maxPendingLeads: 1 };
    const { consumers, hooks } = service.store;
    for await (const [found] of listedConsumerPages({ consumers, hooks, hookHosts: [] }, query))
      if (found) return { ...found, hook: HOOK };
    throw new Error('there is no consumer');
  };
  expect(silenceOf(await listed(), clock())).toBeGreaterThan(50 * MINUTE_MS);
  await service.store.updateUser('boss', { plan: 'STARTER' });
  expect(silenceOf(await listed(), clock())).toBe(0);
  expect(isAwaited(await listed(), clock())).toBe(false);
});
