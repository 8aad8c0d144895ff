import { PROBLEMS } from '@leadtap/contract';
import { Consumers } from '@leadtap/contract/schemas';
import { Errors } from 'typebox/value';
import { expect, it, onTestFinished, vi } from 'vitest';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { leaveRequests, startService, type TestService } from '../../../testing/harness/service.ts';
import { subscribe, ZAPIER_URL } from '../hooks/support/hooks.ts';
import { client, iso, summary } from './support/consumers.ts';

const list = async (service: TestService, token: string, init: RequestInit = {}) =>
  fetch(`${service.url}/automation/consumers`, {
    ...init,
    headers: { authorization: `Bearer ${token}`, ...init.headers },
  });

const bodyOf = async (response: Response): Promise<Consumers> => {
  const body: unknown = await response.json();
  expect([...Errors(Consumers, body)]).toEqual([]);
  return body as Consumers;
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
  const { summary, consumers } = await bodyOf(response);
  expect(summary).toEqual({
    level: 'unknown',
    message:
      '1 of 2 leads since Monday that your automations may see reached one of them. 1 waits for token zapier. 1 came in before an automation was connected. No lead waits longer than usual. The only consumer polls as usual.',
  });
  expect(consumers).toEqual([
    {
      id: expect.any(String),
      name: null,
      tokenId: 'zapier',
      isThisToken: false,
      ...{ level: 'good', problem: null, message: '1 lead waits; polled 0 s ago', fix: null },
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
      receivedHistory: [],
      ...{ skippedLeads: 0, skippedSince: null, tokenEnded: null, isAwaited: false },
      hook: null,
      last24h: [...Array.from({ length: 23 }, () => null), { leads: 1, failed: 0 }],
    },
  ]);
  const own = await bodyOf(await list(service, await service.token('boss', { tokenId: 'zapier' })));
  expect(own.consumers).toMatchObject([{ tokenId: 'zapier', isThisToken: true }]);
});

it('each row says how it is and what its user can do, and the summary names the worst', async () => {
  const clock = manualClock();
  const service = await startService({ clock });
  const read = async () => {
    const { summary, consumers } = await bodyOf(await list(service, await service.token('boss')));
    const rows = consumers.map(({ tokenId, level, problem, message }) => [tokenId, level, problem, message]);
    return { summary, rows, fixes: consumers.map(({ fix }) => fix) };
  };
  expect(await read()).toEqual({
    summary: { level: 'unknown', message: 'Nothing polls yet with your tokens.' },
    ...{ rows: [], fixes: [] },
  });

  const long = { expiresInMs: 30 * 86_400_000 };
  await subscribe(service, await service.token('boss', { tokenId: 'hook', ...long }), ZAPIER_URL);
  expect(await read()).toMatchObject({
    summary: { level: 'unknown', message: 'Nothing polls yet with your tokens.' },
    rows: [['hook', 'unknown', null, 'has not polled yet']],
  });

  const zapier = await client(service, 'boss', 'zapier');
  for (let count = 0; count < 7; count += 1) {
    await zapier.poll();
    await service.service.recorder?.flush();
    clock.advance(120_000);
  }
  await (await client(service, 'boss', 'n8n')).poll('since=yesterday');
  const held = await client(service, 'boss', 'script');
  const disconnect = new AbortController();
  onTestFinished(() => disconnect.abort());
  const poll = held.poll(`since=${iso(clock())}`, {
    headers: { prefer: 'wait=50' },
    signal: disconnect.signal,
  });
  poll.catch(() => undefined);
  await vi.waitFor(async () =>
    expect((await read()).rows).toContainEqual(['script', 'good', null, 'at once: holds a poll']),
  );
  const refused = await read();
  expect(refused.summary).toEqual({
    level: 'warning',
    message: 'token n8n: polls, but is refused: the query is not valid (400 invalid-query).',
  });
  expect(refused.fixes).toContain(PROBLEMS['invalid-query'].integrator);
  clock.advance(20 * 60_000);
  const { summary, rows, fixes } = await read();
  expect(rows).toEqual([
    ['zapier', 'error', 'consumers-stale', 'has not polled for 22 min; it usually polls every 2 min'],
    ['n8n', 'inactive', null, 'last polled 20 min ago'],
    ['script', 'inactive', null, 'last polled 20 min ago'],
    ['hook', 'unknown', null, 'has not polled yet'],
  ]);
  expect(fixes[0]).toBe(
    'Look in its platform whether the automation is switched on and what its last run says. If the automation has a new token now, or was switched off for good, ask the operator to revoke the old token.',
  );
  expect(summary).toEqual({
    level: 'error',
    message: 'token zapier: has not polled for 22 min; it usually polls every 2 min.',
  });
});

it('a list writes only the polls of its user, and delays no other write', async () => {
  const service = await startService({ consumerFlushMs: 60_000 });
  const { consumers } = service.store;
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

it('of many consumers, those that have stopped are first, and those not known yet need no attention', async () => {
  const clock = manualClock();
  const service = await startService({ clock });
  const { consumers } = service.store;
  const tokens = Array.from({ length: 30 }, (_, n) => `token-${n + 10}`);
  const record = (polling: readonly string[]) =>
    consumers.record(polling.map((tokenId) => summary('boss', tokenId, { lastPollAt: clock() })));
  for (let round = 0; round < 7; round += 1) {
    clock.advance(2 * 60_000);
    await record(tokens);
  }
  for (let round = 0; round < 3; round += 1) {
    clock.advance(2 * 60_000);
    await record(tokens.slice(0, -2));
  }
  const unavailableSince = clock();
  clock.advance(10 * 60_000);
  await consumers.recordDowntime(clock(), unavailableSince);
  const listed = await bodyOf(await list(service, await service.token('boss')));
  expect(listed.consumers.map(({ level }) => level)).toEqual([
    ...['error', 'error'],
    ...Array.from({ length: 28 }, () => 'unknown'),
  ]);
  expect(listed.consumers.slice(0, 2).map(({ tokenId }) => tokenId)).toEqual(['token-38', 'token-39']);
  expect(listed.summary.message).toMatch(
    /^token token-38: has not polled for .+\. 1 more needs attention\.$/,
  );
});
