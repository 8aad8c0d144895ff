import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { leaveRequests, startService } from '../../../testing/harness/service.ts';
import { renderLeads } from '../../src/leads/render.ts';
import { toEndedPoll } from '../../src/poll/endpoint.ts';
import { isStuck, listedConsumerPages } from '../../src/status/consumer-states.ts';
import { client, iso, readConsumers } from './support/consumers.ts';

describe('a poll with since', () => {
  it('confirms its since, and delivers the newest lead of its page', async () => {
    const service = await startService();
    const [first = 0, second = 0, third = 0] = await service.add({}, {}, {});
    const { poll, position } = await client(service, 'boss', 'n8n');
    await poll(`since=${iso(first)}&limit=1`);
    expect(await position()).toMatchObject({
      userId: 'boss',
      polls: 1,
      lastStatus: 200,
      confirmedThrough: first,
      deliveredThrough: second,
      pendingLeads: 1,
      pendingSince: third,
    });
  });

  it('never moves a position back', async () => {
    const clock = manualClock();
    const service = await startService({ clock });
    const [first = 0, second = 0] = await service.add({}, {});
    // The second lead has a stamp of a millisecond that has not come yet.
    clock.advance(1000);
    const { poll, position } = await client(service, 'boss', 'n8n');
    await poll(`since=${iso(second)}`);
    await position();
    await poll(`since=${iso(first - 1)}&limit=1`);
    expect(await position()).toMatchObject({
      confirmedThrough: second,
      deliveredThrough: first,
      pendingLeads: 0,
    });
  });

  it('of the future confirms all leads that exist, and none that is added later', async () => {
    const service = await startService();
    const [before = 0] = await service.add({});
    const { poll, position } = await client(service, 'boss', 'n8n');
    await poll('since=2099-01-01');
    const { confirmedThrough } = await position();
    expect(confirmedThrough).toBeGreaterThanOrEqual(before);
    const [added = 0] = await service.add({});
    expect(added).toBeGreaterThan(confirmedThrough ?? 0);
    expect(await position()).toMatchObject({ confirmedThrough, pendingLeads: 1, pendingSince: added });
  });

  it('of the near future confirms no lead that is added before the poll is written, and none after', async () => {
    const clock = manualClock();
    const service = await startService({ clock });
    const { poll, position } = await client(service, 'boss', 'n8n');
    await poll(`since=${iso(clock() + 3000)}`);
    const [added = 0] = await service.add({});
    clock.advance(4000);
    await service.add({});
    expect(await position(clock())).toMatchObject({ pendingLeads: 2, pendingSince: added });
    clock.advance(4000);
    await service.add({});
    expect(await position(clock())).toMatchObject({ pendingLeads: 3, pendingSince: added });
  });

  it('at a stamp ahead of the clock confirms it once the clock is past it, or a later lead exists', async () => {
    const clock = manualClock();
    const service = await startService({ clock });
    const [first = 0] = await service.add({});
    clock.advance(-60_000);
    const { poll, position } = await client(service, 'boss', 'n8n');
    await poll(`since=${iso(first - 1)}`);
    await poll(`since=${iso(first)}`);
    expect(await position(clock())).toMatchObject({ deliveredThrough: first, pendingLeads: 0 });
    expect((await position(clock())).confirmedThrough).toBeLessThan(first);
    await service.add({});
    await poll(`since=${iso(first)}`);
    expect(await position(clock())).toMatchObject({ confirmedThrough: first });
    clock.advance(120_000);
    await poll(`since=${iso(first + 1)}`);
    expect(await position(clock())).toMatchObject({ confirmedThrough: first + 1 });
  });
});

describe('a poll without since', () => {
  it('delivers the newest leads and confirms none', async () => {
    const service = await startService();
    const stamps = await service.add({}, {}, {});
    const { poll, position } = await client(service, 'boss', 'zapier');
    await poll();
    expect(await position()).toMatchObject({
      confirmedThrough: null,
      deliveredThrough: stamps[2],
      pendingLeads: 0,
    });
  });
});

describe('a poll that sends no lead', () => {
  it('delivers nothing: HEAD, 304 for its tag, 400 and 403', async () => {
    const service = await startService();
    const [added = 0] = await service.add({});
    const since = `since=${iso(added - 1)}`;
    const head = await client(service, 'boss', 'head');
    const { status, headers } = await head.poll(since, { method: 'HEAD' });
    expect(status).toBe(200);
    expect(await head.position()).toMatchObject({ confirmedThrough: added - 1, deliveredThrough: null });
    const tag = { 'if-none-match': headers.get('etag') ?? '' };
    expect((await head.poll(since, { headers: tag })).status).toBe(304);
    expect(await head.position()).toMatchObject({
      ...{ lastStatus: 304, confirmedThrough: added - 1, deliveredThrough: null },
    });

    const wrong = await client(service, 'boss', 'wrong');
    await wrong.poll('limit=0');
    expect(await wrong.position()).toMatchObject({
      lastStatus: 400,
      confirmedThrough: null,
      deliveredThrough: null,
    });

    const refused = await client(service, 'starter', 'refused');
    await refused.poll(since);
    expect(await refused.position()).toMatchObject({ lastStatus: 403, confirmedThrough: null });
  });

  it('counts no one whose token is invalid, revoked and not issued here, or only sends leads, or whose user does not exist', async () => {
    const service = await startService();
    await service.poll('stranger');
    await fetch(`${service.url}/automation/new-leads`, { headers: { authorization: 'Bearer x' } });
    const { poll } = await client(service, 'boss', 'revoked');
    await service.store.revokeToken('revoked');
    expect((await poll()).status).toBe(401);
    const authorization = `Bearer ${await service.token('boss', { scopes: ['leads:write'] })}`;
    expect((await service.poll('boss', '', { headers: { authorization } })).status).toBe(403);
    await leaveRequests(service, 'boss', 0);
    expect((await service.poll('boss', '', { headers: { authorization } })).status).toBe(429);
    expect(await readConsumers(service)).toEqual([]);
  });
});

it('a page whose client disconnected before its end is not delivered', () => {
  const leads = { ...renderLeads([]), count: 1, first: 5, last: 5 };
  const scope = { level: 'COMPANY', companyId: 'acme' } as const;
  const page = { scope, leads, readAt: 10, locked: true, isOlderThanAccount: true };
  const payload = { status: 200, page, query: { since: 1, limit: 100 } };
  const request = Object.assign(new IncomingMessage(new Socket()), { method: 'GET' });
  const ended = (isComplete: boolean) => toEndedPoll({ status: 200, isComplete, request }, payload, 10);
  expect(ended(true).page).toMatchObject({ since: 1, isSent: true, isInterrupted: false });
  expect(ended(false).page).toMatchObject({ since: 1, isSent: false, isInterrupted: true });
  const before = toEndedPoll({ status: 499, isComplete: true, request }, payload, 10);
  expect(before.page).toMatchObject({ isSent: false, isInterrupted: true });
  // It has no body.
  const unchanged = toEndedPoll({ status: 304, isComplete: false, request }, { ...payload, status: 304 }, 10);
  expect(unchanged.page).toMatchObject({ isSent: false, isInterrupted: false });
});

it('a client that sends the same since for over an hour is stuck; one that sends a later or none is not', async () => {
  const clock = manualClock();
  const service = await startService({ clock });
  const [lead = 0] = await service.add({});
  clock.advance(1000);
  const queries: Readonly<Record<string, () => string>> = {
    'asks for the last day': () => `since=${iso(clock() - 86_400_000)}`,
    'asks without since': () => '',
    'has confirmed': () => `since=${iso(lead)}`,
    'sends the same since': () => `since=${iso(lead - 1)}`,
  };
  const issued = { userId: 'boss', name: null, issuedAt: 0, expiresAt: Date.UTC(2100, 0), scopes: [] };
  await service.store.recordTokens(Object.keys(queries).map((id) => ({ ...issued, id })));
  // A token of the tests expires after an hour.
  const poll = async (id: string, query: string) => {
    expect((await (await client(service, 'boss', id)).poll(query)).status).toBe(200);
    await service.service.recorder?.flush();
  };
  const stuck = async () => {
    const found: unknown[] = [];
    const sources = { consumers: service.store.consumers, hooks: service.store.hooks, hookHosts: [] };
    for await (const page of listedConsumerPages(sources, { now: clock(), maxPendingLeads: 1 }))
      found.push(...page.filter((listed) => isStuck(listed, clock())).map(({ tokenId }) => tokenId));
    return found;
  };
  const pollAll = async () => {
    for (const [id, query] of Object.entries(queries)) await poll(id, query());
  };
  // One that has tried a `since` once.
  await poll('asks without since', `since=${iso(lead - 1)}`);
  for (let polls = 0; polls < 7; polls += 1) {
    await pollAll();
    expect(await stuck()).toEqual([]);
    clock.advance(600_000);
  }
  await pollAll();
  expect(await stuck()).toEqual(['sends the same since']);
  // After a pause, one that had nothing to confirm gets old leads, and has its whole time to confirm them.
  const [old = 0] = await service.add({});
  clock.advance(7_200_000);
  await pollAll();
  expect(await stuck()).toEqual(['sends the same since']);
  await poll('sends the same since', `since=${iso(old)}`);
  expect(await stuck()).toEqual([]);
});

describe('pending leads', () => {
  it('are those that the access level includes', async () => {
    const service = await startService();
    const clients = await Promise.all(
      ['boss', 'north-lead', 'seller'].map((userId) => client(service, userId, `token of ${userId}`)),
    );
    const [start = 0] = await service.add({});
    for (const { poll } of clients) await poll(`since=${iso(start)}`);
    const added = await service.add(
      { branchId: 'south' },
      { branchId: 'north' },
      { departmentId: 'service' },
      { departmentId: 'sales' },
      { companyId: 'globex' },
    );
    const positions = await Promise.all(clients.map(({ position }) => position()));
    expect(positions.map(({ pendingLeads, pendingSince }) => ({ pendingLeads, pendingSince }))).toEqual([
      { pendingLeads: 4, pendingSince: added[0] },
      { pendingLeads: 3, pendingSince: added[1] },
      { pendingLeads: 1, pendingSince: added[3] },
    ]);
  });
});

it('a clock that was set back by an hour: the next poll is the last one', async () => {
  const clock = manualClock();
  const service = await startService({ clock });
  const { poll, position } = await client(service, 'boss', 'a');
  await poll();
  await position(clock());
  clock.advance(-3_600_000);
  await poll();
  expect(await position(clock())).toMatchObject({ polls: 2, lastPollAt: clock() });
});
