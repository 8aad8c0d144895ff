import { Consumers } from '@leadtap/contract/schemas';
import { Errors } from 'typebox/value';
import { expect, it, vi } from 'vitest';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { leaveRequests, startService, type TestService } from '../../../testing/harness/service.ts';
import { client, iso } from './support/consumers.ts';

const list = async (service: TestService, token: string, init: RequestInit = {}) =>
  fetch(`${service.url}/automation/consumers`, {
    ...init,
    headers: { authorization: `Bearer ${token}`, ...init.headers },
  });

const consumersOf = async (response: Response): Promise<Consumers['consumers']> => {
  const body: unknown = await response.json();
  expect([...Errors(Consumers, body)]).toEqual([]);
  return (body as Consumers).consumers;
};

it('a poll is listed at once, with its token and its positions, and only to its own user', async () => {
  const clock = manualClock();
  const service = await startService({ clock });
  const [first = 0, second = 0] = await service.add({}, {});
  const zapier = await client(service, 'boss', 'zapier');
  const firstPollAt = clock();
  await zapier.poll(`since=${iso(first)}&limit=1`);
  await service.service.recorder?.flush();
  clock.advance(120_000);
  const lastPollAt = clock();
  await zapier.poll(`since=${iso(first)}&limit=1`);
  await (await client(service, 'north-lead', 'other')).poll();
  const [third = 0] = await service.add({});
  const token = await service.token('boss', { tokenId: 'console' });
  const response = await list(service, token);
  expect(response.status).toBe(200);
  expect(response.headers.get('cache-control')).toBe('no-store');
  expect(await consumersOf(response)).toEqual([
    {
      name: null,
      tokenId: 'zapier',
      isThisToken: false,
      firstPollAt: iso(firstPollAt),
      lastPollAt: iso(lastPollAt),
      lastStatus: 200,
      usualIntervalS: 120,
      state: 'active',
      confirmedThrough: iso(first),
      deliveredThrough: iso(second),
      pendingLeads: 1,
      pendingSince: iso(third),
      // Its first `since` was that of the first lead.
      gaps: [{ after: null, through: iso(first), isBeforeStart: true }],
      ...{ skippedLeads: 0, skippedSince: null, tokenEnded: null, isAwaited: false },
      hook: null,
    },
  ]);
  const own = await consumersOf(await list(service, await service.token('boss', { tokenId: 'zapier' })));
  expect(own).toMatchObject([{ tokenId: 'zapier', isThisToken: true }]);
});

it('a list writes only the polls of its user, and delays no other write', async () => {
  const service = await startService({ consumerFlushMs: 60_000 });
  const { consumers } = service.store;
  if (!consumers) throw new Error('the store has no consumers');
  const record = vi.spyOn(consumers, 'record');
  await (await client(service, 'north-lead', 'n8n')).poll();
  await (await client(service, 'boss', 'zapier')).poll();
  await list(service, await service.token('boss'));
  expect(record.mock.calls.flatMap(([polls]) => polls.map(({ userId }) => userId))).toEqual(['boss']);
  await service.service.recorder?.flush();
  expect(record.mock.calls.flatMap(([polls]) => polls.map(({ userId }) => userId))).toEqual([
    'boss',
    'north-lead',
  ]);
});

it('a list uses one unit of the rate limit of polls', async () => {
  const service = await startService();
  const token = await service.token('north-lead');
  const remaining = async () =>
    Number(/"hour";r=(\d+)/.exec((await list(service, token)).headers.get('ratelimit') ?? '')?.[1]);
  expect(await remaining()).toBe(999);
  await service.poll('north-lead');
  expect(await remaining()).toBe(997);
  await leaveRequests(service, 'north-lead', 0);
  const refusals = async () => {
    const text = await (await fetch(service.metricsUrl)).text();
    return text.match(/^leadtap_rate_limit_refusals_total\{.*$/gm) ?? [];
  };
  const before = await refusals();
  const refused = await list(service, token);
  expect(await refusals(), 'counted by the metric').not.toEqual(before);
  expect([refused.status, Number(refused.headers.get('retry-after'))]).toEqual([429, expect.any(Number)]);
});
