import { expect, it, vi } from 'vitest';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { startService, type TestService } from '../../../testing/harness/service.ts';
import { STATUS_TIMEOUTS } from '../../src/status/read-status.ts';
import { client, iso } from './support/consumers.ts';

async function scrape({ metricsUrl, service }: TestService) {
  await service.recorder?.flush();
  const text = await (await fetch(metricsUrl)).text();
  const value = (name: string) => {
    const line = text.split('\n').find((found) => found.startsWith(`${name} `));
    return line === undefined ? undefined : Number(line.slice(name.length));
  };
  return {
    active: value('leadtap_consumers{state="active"}'),
    stale: value('leadtap_consumers{state="stale"}'),
    longestWaitS: value('leadtap_longest_lead_wait_seconds'),
  };
}

it('counts active and stale consumers, and has the longest wait of a lead', async () => {
  const clock = manualClock();
  const service = await startService({ clock });
  expect(await scrape(service)).toEqual({ active: 0, stale: 0, longestWaitS: 0 });
  const boss = await client(service, 'boss', 'a');
  const seller = await client(service, 'seller', 'b');
  for (let count = 0; count < 11; count += 1) {
    for (const { poll, position } of [boss, seller]) {
      await poll(`since=${iso(clock())}`);
      await position(clock());
    }
    clock.advance(60_000);
  }
  // The seller does not see this lead.
  const [added = 0] = await service.add({});
  clock.advance(25_000);
  expect(await scrape(service)).toEqual({
    active: 2,
    stale: 0,
    longestWaitS: (clock() - added) / 1000,
  });
  clock.advance(60_000);
  await boss.poll(`since=${iso(added - 1)}`);
  expect(await scrape(service)).toEqual({ active: 1, stale: 1, longestWaitS: 0 });
});

it.each(['a consumer', 'a webhook'])('has the wait of a lead for %s whose user has no plan', async (kind) => {
  const clock = manualClock();
  const service = await startService({ clock });
  if (kind === 'a consumer') await (await client(service, 'boss', 'a')).poll(`since=${iso(clock())}`);
  else {
    const hook = { id: '1'.repeat(32), userId: 'boss', tokenId: 'a', url: 'https://hooks.example.com/' };
    const options = { send: 'lead', baseUrl: service.url, since: undefined, tokenExpiresAt: null } as const;
    await service.store.hooks.subscribe({ ...hook, ...options }, 20);
  }
  clock.advance(1000);
  const [added = 0] = await service.add({});
  for (const plan of ['PROFESSIONAL', 'STARTER']) {
    await service.store.updateUser('boss', { plan });
    clock.advance(5000);
    expect((await scrape(service)).longestWaitS, plan).toBe((clock() - added) / 1000);
  }
});

it('reads the consumers once for scrapes at the same time', async () => {
  const service = await startService();
  const { consumers } = service.store;
  const list = vi.spyOn(consumers, 'list');
  await Promise.all([scrape(service), scrape(service)]);
  expect(list.mock.calls.length).toBeLessThan(3);
});

it('is NaN while the consumers cannot be read, and fails no scrape', async () => {
  const service = await startService();
  const { consumers } = service.store;
  vi.spyOn(consumers, 'list').mockRejectedValue(new Error('the disk is on fire'));
  expect(await scrape(service)).toEqual({ active: Number.NaN, stale: Number.NaN, longestWaitS: Number.NaN });
});

it('has the numbers of the last read if a read takes longer than 2 seconds, and fails no scrape', async () => {
  const clock = manualClock();
  const service = await startService({ clock, statusTimeouts: STATUS_TIMEOUTS });
  const { consumers } = service.store;
  const { poll } = await client(service, 'boss', 'a');
  await poll(`since=${iso(clock())}`);
  // The first read may take longer as well, on a slow machine.
  await vi.waitFor(async () => expect(await scrape(service)).toMatchObject({ active: 1 }));
  vi.spyOn(consumers, 'list').mockReturnValue(new Promise(() => undefined));
  clock.advance(3_600_000);
  expect(await scrape(service)).toMatchObject({ active: 1 });
});
