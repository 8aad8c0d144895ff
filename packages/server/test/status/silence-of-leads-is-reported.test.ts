import { describe, expect, it, vi } from 'vitest';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { startService, type TestService } from '../../../testing/harness/service.ts';
import { readStatus } from './support/status.ts';

const MINUTE_MS = 60_000;
const WEEK_MS = 7 * 24 * 60 * MINUTE_MS;

/** Leads one week and two weeks ago, one in each of these minutes after this time of the week; then the last lead. */
async function start(weeks: readonly { readonly weeksAgo: number; readonly minutes: readonly number[] }[]) {
  const clock = manualClock('2026-03-16T09:30:00.000Z');
  const service = await startService({ clock });
  await addHistory(
    service,
    weeks.flatMap(({ weeksAgo, minutes }) =>
      minutes.map((minute, index) => clock() - weeksAgo * WEEK_MS + minute * MINUTE_MS + 1000 + index),
    ),
  );
  await service.add({});
  return { clock, service };
}

async function addHistory({ store }: TestService, times: readonly number[]): Promise<void> {
  const leads = times.map((createdAt) => ({ companyId: 'acme', createdAt, fields: { firstName: 'Ada' } }));
  const { results } = await store.writeLeads(leads, { historical: true });
  expect(results.every(({ kind }) => kind === 'added')).toBe(true);
}

/** Nothing polls here, which is another problem. */
const readProblems = async (service: TestService) => {
  const { problems, ...report } = await readStatus(service);
  return { ...report, problems: problems.filter(({ kind }) => kind !== 'leads-unseen') };
};

const everyMinute = (count: number): number[] => Array.from({ length: count }, (_, minute) => minute + 1);
const BOTH = [
  { weeksAgo: 1, minutes: everyMinute(40) },
  { weeksAgo: 2, minutes: everyMinute(20) },
];

describe('no new lead', () => {
  it('is a warning if the same time of both weeks before had leads in ten minutes', async () => {
    const { clock, service } = await start(BOTH);
    clock.advance(10 * MINUTE_MS);
    expect((await readProblems(service)).problems).toEqual([]);
    clock.advance(20 * MINUTE_MS);
    const { problems, leads, healthy } = await readProblems(service);
    expect(healthy).toBe(true);
    expect(leads).toMatchObject({ isSilent: true, latestAt: '2026-03-16T09:30:00.001Z' });
    expect(problems).toMatchObject([
      {
        ...{ kind: 'leads-silent', severity: 'warning', docs: '/docs#leads-silent' },
        message: 'No lead has come in for 30 min, which is unusual at this time of the week.',
      },
    ]);
    await service.add({});
    expect((await readProblems(service)).problems).toEqual([]);
  });

  it.each([
    ['was as quiet one week ago', [{ weeksAgo: 2, minutes: everyMinute(40) }]],
    ['was as quiet two weeks ago, or there was no service', [{ weeksAgo: 1, minutes: everyMinute(40) }]],
    [
      'had few leads',
      [
        { weeksAgo: 1, minutes: everyMinute(40) },
        { weeksAgo: 2, minutes: [2, 4, 6, 8, 10, 12, 14, 16, 18] },
      ],
    ],
    [
      'had imports, which come at other times today',
      [
        { weeksAgo: 1, minutes: Array.from({ length: 300 }, () => 5) },
        { weeksAgo: 2, minutes: Array.from({ length: 300 }, () => 7) },
      ],
    ],
  ])('is none if the time of the week %s', async (_, weeks) => {
    const { clock, service } = await start(weeks);
    clock.advance(60 * MINUTE_MS);
    const { problems, leads } = await readProblems(service);
    expect(problems).toEqual([]);
    expect(leads.isSilent).toBe(false);
  });

  it('for days is compared with the last day', async () => {
    const { clock, service } = await start(BOTH);
    clock.advance(3 * 24 * 60 * MINUTE_MS);
    expect((await readProblems(service)).problems).toEqual([]);
  });

  it('costs nothing while leads come', async () => {
    const { clock, service } = await start(BOTH);
    clock.advance(9 * MINUTE_MS);
    const count = vi.spyOn(service.store, 'countLeadsByMinute');
    await readStatus(service);
    expect(count).not.toHaveBeenCalled();
  });

  it('is counted once a minute, and only as far as it takes', async () => {
    const { clock, service } = await start(BOTH);
    clock.advance(5 * 60 * MINUTE_MS);
    const count = vi.spyOn(service.store, 'countLeadsByMinute');
    for (const _ of [1, 2]) expect((await readProblems(service)).leads.isSilent).toBe(true);
    expect(count).toHaveBeenCalledTimes(2);
    clock.advance(MINUTE_MS);
    await readStatus(service);
    expect(count).toHaveBeenCalledTimes(4);
  });

  it('is not known if the leads cannot be counted, and the rest is there', async () => {
    const { clock, service } = await start(BOTH);
    clock.advance(30 * MINUTE_MS);
    vi.spyOn(service.store, 'countLeadsByMinute').mockRejectedValue(new Error('canceled'));
    const { leads, database } = await readProblems(service);
    expect(leads).toEqual({ latestAt: '2026-03-16T09:30:00.001Z', isSilent: false });
    expect(database.reachable).toBe(true);
  });
});
