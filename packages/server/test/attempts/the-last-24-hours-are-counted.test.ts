import type { Consumers, HourCounts, Senders } from '@leadtap/contract';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { acknowledgementOf, sendLeads } from '../../../testing/harness/intake.ts';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { startService, type TestService } from '../../../testing/harness/service.ts';
import { respondWith, startReceiver } from '../../../testing/integrations/hook-receiver.ts';
import { addHours, HOUR_MS, type HourCounts as Hour, hourOf } from '../../src/attempts/hours.ts';
import { last24hOf } from '../../src/status/last-hours.ts';
import { client, iso } from '../consumers/support/consumers.ts';
import { startWith, subscribe } from '../hooks/support/hooks.ts';
import { readStatus } from '../status/support/status.ts';

const NOW = Date.parse('2026-03-02T09:30:00.000Z');

describe('the counts of two instances', () => {
  const hour = hourOf(NOW);
  const counted = fc.tuple(
    fc.integer({ min: hour - 40, max: hour }),
    fc.integer({ min: 0, max: 9 }),
    fc.integer({ min: 0, max: 9 }),
  );
  const writes = fc.array(fc.array(counted), { minLength: 1 });
  const write = (all: readonly (readonly Hour[])[]) =>
    all.reduce<string | null>((stored, added) => addHours(stored, added, NOW), null);

  it('are added up in any order, and those of the last 25 hours are kept', () => {
    fc.assert(
      fc.property(writes, (all) => {
        const stored = write(all);
        expect(JSON.parse(write(all.toReversed()) ?? '').slice(1)).toEqual(JSON.parse(stored ?? '').slice(1));
        expect(JSON.parse(stored ?? '').length).toBeLessThanOrEqual(26);
        const flat = all.flat();
        last24hOf([{ hours: stored, lastAt: NOW }], NOW, []).forEach((cell, index) => {
          const same = flat.filter(([one]) => one === hour - 23 + index);
          const [leads, failed] = [1, 2].map((at) => same.reduce((sum, one) => sum + (one[at] ?? 0), 0));
          expect(cell ?? { leads: 0, failed: 0 }).toEqual({ leads, failed });
        });
      }),
    );
  });

  it('are not lost when one writes later, and hours of a clock that was set back since are', () => {
    const later = addHours(null, [[hour, 1, 0]], NOW);
    const late = addHours(later, [[hour - 1, 2, 0]], NOW - HOUR_MS);
    // The instance whose clock is an hour behind takes it for a time of the future.
    expect(JSON.parse(late)).toEqual([hour - 1, [hour - 1, 2, 0]]);
    expect(JSON.parse(addHours(later, [[hour - 1, 2, 0]], NOW))).toEqual([
      hour - 1,
      [hour - 1, 2, 0],
      [hour, 1, 0],
    ]);
  });

  it('are written again only if something is added', () => {
    const stored = '[1,[2,3,0]]';
    expect(addHours(stored, [], NOW)).toBe(stored);
    expect(addHours(null, [], NOW)).toBe(`[${hour}]`);
  });
});

it('what an earlier version has not counted is not known', () => {
  const cells = last24hOf([{ hours: null, lastAt: NOW - 5 * HOUR_MS }], NOW, []);
  expect(cells.map((cell) => cell !== null)).toEqual([
    ...Array.from({ length: 19 }, () => false),
    ...Array.from({ length: 5 }, () => true),
  ]);
});

async function read<Body>(service: TestService, path: 'consumers' | 'senders'): Promise<Body> {
  const token = await service.token('boss', { tokenId: 'reader' });
  const headers = { authorization: `Bearer ${token}` };
  return (await fetch(`${service.url}/automation/${path}`, { headers })).json() as Promise<Body>;
}

/** `2/1`: 2 leads, 1 failure. `-`: nothing. `?`: not known. The unknown hours before the first are left out. */
const textOf = (cells: readonly (HourCounts | null)[] | undefined): string =>
  (cells ?? [])
    .map((cell) =>
      cell === null ? '?' : cell.leads + cell.failed === 0 ? '-' : `${cell.leads}/${cell.failed}`,
    )
    .join(' ')
    .replace(/^(?:\? )+/, '');

it('polls with leads and refused polls are counted, and hours of a downtime are not known', async () => {
  const clock = manualClock('2026-03-02T09:30:00.000Z');
  const first = await startService({ clock });
  const barOf = async (service: TestService) => {
    const { consumers } = await read<Consumers>(service, 'consumers');
    const cells = consumers.find(({ tokenId }) => tokenId === 'zapier')?.last24h;
    expect(cells).toHaveLength(24);
    const [listed] = (await readStatus(service)).consumers?.listed ?? [];
    expect(listed?.last24h).toEqual(cells);
    return textOf(cells);
  };
  const poll = async (service: TestService, query = '') => {
    await (await client(service, 'boss', 'zapier')).poll(query);
    await service.service.recorder?.flush();
  };
  await first.add({}, {});
  await poll(first);
  // The same leads are not new.
  await poll(first);
  expect(await barOf(first)).toBe('2/0');
  clock.advance(HOUR_MS);
  await poll(first, 'since=yesterday');
  await poll(first, 'since=yesterday');
  expect(await barOf(first)).toBe('2/0 0/2');
  clock.advance(HOUR_MS);
  const position = clock();
  await poll(first, `since=${iso(position)}`);
  expect(await barOf(first)).toBe('2/0 0/2 -');
  await first.stop();
  clock.advance(3 * HOUR_MS);
  const second = await startService({ clock, beside: first, organisation: { companies: [] } });
  expect(await barOf(second)).toBe('2/0 0/2 - ? ? -');
  await second.stop();
  clock.advance(60_000);
  // A second start, shortly after the first, does not make the hours before it known.
  const third = await startService({ clock, beside: first, organisation: { companies: [] } });
  await third.add({});
  await poll(third, `since=${iso(position)}`);
  expect(await barOf(third)).toBe('2/0 0/2 - ? ? 1/0');
  clock.advance(21 * HOUR_MS);
  expect(await barOf(third)).toBe(
    ['? ? 1/0', ...Array.from({ length: 21 }, () => '-')].join(' ').replace(/^(?:\? )+/, ''),
  );
});

/** Of the only consumer, whatever the hour is. */
async function totalOf(service: TestService) {
  const cells = (await readStatus(service)).consumers?.listed[0]?.last24h ?? [];
  const known = cells.filter((cell) => cell !== null);
  const sum = (name: keyof HourCounts) => known.reduce((total, cell) => total + cell[name], 0);
  return { leads: sum('leads'), hasFailed: sum('failed') > 0 };
}

it('leads that a webhook has accepted are counted, and requests that failed', async () => {
  const receiver = await startReceiver();
  const service = await startWith(receiver);
  await service.add({});
  await subscribe(service, await service.token('boss'), receiver.url, undefined, 'lead');
  expect(await totalOf(service)).toEqual({ leads: 0, hasFailed: false });
  await service.add({}, {}, {});
  await vi.waitFor(async () => expect(await totalOf(service)).toEqual({ leads: 3, hasFailed: false }));
  receiver.respond = respondWith(500);
  await service.add({});
  await vi.waitFor(async () => expect(await totalOf(service)).toEqual({ leads: 3, hasFailed: true }));
  const { consumers } = await read<Consumers>(service, 'consumers');
  expect(textOf(consumers[0]?.last24h)).toMatch(/3\/|\/[1-9]/);
});

it('failed events are counted, and leads only when they are polled', async () => {
  const receiver = await startReceiver();
  const service = await startWith(receiver);
  const [start = 0] = await service.add({});
  const token = await service.token('boss', { tokenId: 'zapier' });
  await subscribe(service, token, receiver.url);
  receiver.respond = respondWith(500);
  await service.add({});
  await vi.waitFor(async () => expect(await totalOf(service)).toEqual({ leads: 0, hasFailed: true }));
  await (await client(service, 'boss', 'zapier')).poll(`since=${iso(start)}`);
  await service.service.recorder?.flush();
  expect(await totalOf(service)).toEqual({ leads: 1, hasFailed: true });
});

it('leads that came in are counted, and requests that were refused', async () => {
  const clock = manualClock();
  const service = await startService({ clock });
  const bar = async () => {
    const cells = (await read<Senders>(service, 'senders')).senders[0]?.last24h;
    expect((await readStatus(service)).senders?.listed[0]?.last24h).toEqual(cells);
    return textOf(cells);
  };
  const send = async (leads: unknown) => sendLeads(service, leads, { tokenId: 'web' });
  const lead = { id: 'a', firstName: 'Ada' };
  expect((await acknowledgementOf(await send([lead, { firstName: 'Grace' }]))).leads).toHaveLength(2);
  await send([{ email: 'not an address' }]);
  expect(await bar()).toBe('2/1');
  clock.advance(2 * HOUR_MS);
  await send([{ email: 'not an address' }]);
  expect(await bar()).toBe('2/1 - 0/1');
});
