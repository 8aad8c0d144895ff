import { describe, expect, it, vi } from 'vitest';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { startService, type TestService } from '../../../testing/harness/service.ts';
import { summary } from '../consumers/support/consumers.ts';
import { addClient, readStatus, writePolls } from './support/status.ts';

const INTERVAL_MS = 120_000;

/** Often enough for a consumer that can be stale. */
async function pollOften(
  service: TestService,
  advance: (ms: number) => void,
  ...polls: (() => Promise<unknown>)[]
) {
  for (let round = 0; round < 6; round += 1) {
    if (round > 0) advance(INTERVAL_MS);
    for (const poll of polls) await poll();
    await writePolls(service);
  }
}

describe('consumers', () => {
  it('one of three stops: it alone is stale, and first on the page', async () => {
    const clock = manualClock();
    const service = await startService({ clock });
    const [first, second, last] = [
      await addClient(service, 'boss', 'token-1', 'first'),
      await addClient(service, 'north-lead', 'token-2', 'second'),
      await addClient(service, 'seller', 'token-3', 'last'),
    ];
    await pollOften(service, clock.advance, first, second, last);
    expect((await readStatus(service)).summary).toBe('No lead yet. All 3 consumers poll as usual.');
    clock.advance(2 * INTERVAL_MS);
    await Promise.all([first(), second()]);
    await writePolls(service);
    const { consumers } = await readStatus(service);
    expect(consumers).toMatchObject({
      active: 2,
      stale: 1,
      listed: [{ name: 'last', state: 'stale' }, {}, {}],
    });
    expect((await readStatus(service)).consumers?.listed.map(({ level }) => level)).toEqual([
      ...['error', 'good', 'good'],
    ]);
  });

  it('that have just begun to poll are not said to poll as usual', async () => {
    const clock = manualClock();
    const service = await startService({ clock });
    const summaryOf = async () => (await readStatus(service)).summary;
    const first = await addClient(service, 'boss', 'token-1', 'first');
    await first();
    await writePolls(service);
    expect(await summaryOf()).toBe(
      'No lead yet. The only consumer is new: its usual interval is not known yet.',
    );
    await (await addClient(service, 'boss', 'token-2', 'second'))();
    await writePolls(service);
    expect(await summaryOf()).toBe(
      'No lead yet. All 2 consumers are new: their usual intervals are not known yet.',
    );
    clock.advance(INTERVAL_MS);
    await first();
    await writePolls(service);
    expect(await summaryOf()).toBe(
      'No lead yet. 1 of 2 consumers polls as usual. The usual interval of the other one is not known yet.',
    );
  });

  it('are said to have polled within the time that the operator has chosen', async () => {
    const clock = manualClock();
    const service = await startService({ clock, env: { LEADTAP_SILENT_AFTER: '1h' } });
    const poll = await addClient(service, 'boss', 'token-1', 'first');
    await pollOften(service, clock.advance, poll);
    clock.advance(20 * 60_000);
    expect((await readStatus(service)).summary).toBe(
      'No lead yet. The only consumer polled within the last 1 h.',
    );
  });

  it('without a name is reported by the id of its token, or by its user', async () => {
    const clock = manualClock();
    const service = await startService({ clock });
    const token = await service.token('boss', { tokenId: 'token-1' });
    const headers = { authorization: `Bearer ${token}` };
    await pollOften(service, clock.advance, () => fetch(`${service.url}/automation/new-leads`, { headers }));
    clock.advance(2 * INTERVAL_MS);
    expect((await readStatus(service)).summary).toMatch(
      /^Token token-1 \(user boss\) has not polled for 4 min;/,
    );
  });

  it('several that stopped are named, at most five of them', async () => {
    const clock = manualClock();
    const service = await startService({ clock });
    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
    const polls = await Promise.all(names.map((name) => addClient(service, 'boss', `token-${name}`, name)));
    await pollOften(service, clock.advance, ...polls);
    clock.advance(3 * INTERVAL_MS);
    const { summary } = await readStatus(service);
    expect(summary).toBe(
      'a (user boss) has not polled for 6 min; it usually polls every 2 min. 6 more have the same problem: b (user boss), c (user boss), d (user boss), e (user boss), f (user boss) and 1 more.',
    );
  });

  it('that no longer count are not behind: every lead was picked up by the others', async () => {
    const clock = manualClock();
    const service = await startService({ clock });
    await (await addClient(service, 'boss', 'token-1', 'tried once'))(
      `since=${new Date(clock()).toISOString()}`,
    );
    await writePolls(service);
    clock.advance(40 * 86_400_000);
    const [added = 0] = await service.add({});
    clock.advance(2 * 86_400_000);
    const poll = await addClient(service, 'boss', 'token-2', 'zapier');
    await pollOften(service, clock.advance, () => poll(`since=${new Date(added - 1).toISOString()}`));
    const { consumers, summary } = await readStatus(service);
    expect(consumers).toMatchObject({ active: 1, inactive: 1, behind: 0, longestWaitSeconds: 0 });
    expect(summary).toBe(
      'The only lead since Saturday reached an automation. The only consumer polls as usual.',
    );
  });

  it('have their position, waiting leads and interval', async () => {
    const clock = manualClock();
    const service = await startService({ clock });
    const [first = 0] = await service.add({}, {}, {});
    const poll = await addClient(service, 'boss', 'token-1', 'zapier');
    const since = `since=${new Date(first - 1).toISOString()}&limit=2`;
    clock.advance(3_600_000);
    await poll(since);
    await writePolls(service);
    clock.advance(3_600_000);
    await poll(since);
    await poll(since);
    await writePolls(service);
    clock.advance(30_000);
    const { consumers } = await readStatus(service);
    expect(consumers).toMatchObject({
      ...{ recorded: true, active: 1, activeWithoutInterval: 0, stale: 0, inactive: 0, subscribed: 0 },
      ...{ behind: 1, longestWaitSeconds: (clock() - first - 2) / 1000 },
    });
    expect(consumers?.listed).toMatchObject([
      {
        ...{ tokenId: 'token-1', name: 'zapier', userId: 'boss', companyId: 'acme', state: 'active' },
        ...{ tokenExpiresAt: '2026-04-01T09:30:00.000Z', tokenEnded: null },
        firstPollAt: '2026-03-02T10:30:00.000Z',
        ...{ lastPollAt: '2026-03-02T11:30:00.000Z', lastStatus: 200, usualIntervalSeconds: 3600 },
        confirmedThrough: new Date(first - 1).toISOString(),
        deliveredThrough: new Date(first + 1).toISOString(),
        ...{ waiting: 1, waitingSince: new Date(first + 2).toISOString() },
        ...{ skipped: 0, skippedSince: null, isAwaited: false, isUnrecorded: false, problems: [] },
        ...{ missedLeads: 0, unconfirmedSince: new Date(first).toISOString(), isStuck: false },
        hook: null,
        ...{ id: expect.any(String), level: 'good', fix: null },
        message: '1 lead waits; polled 30 s ago',
      },
    ]);
  });

  it('that were refused last show the status', async () => {
    const service = await startService();
    const poll = await addClient(service, 'starter', 'token-1', 'make');
    expect(await poll()).toBe(403);
    await writePolls(service);
    expect((await readStatus(service)).consumers?.listed[0]?.message).toContain('403');
  });

  it('that stopped long ago are inactive and not a problem', async () => {
    const clock = manualClock();
    const service = await startService({ clock });
    const poll = await addClient(service, 'boss', 'token-1', 'old test');
    await pollOften(service, clock.advance, poll);
    clock.advance(20 * 86_400_000);
    const report = await readStatus(service);
    expect(report.consumers).toMatchObject({ active: 0, stale: 0, inactive: 1 });
    expect(report.summary).toBe('No problem was found. No consumer polls at present.');
    expect(report.consumers?.listed).toMatchObject([
      { level: 'inactive', message: 'last polled 20 days ago' },
    ]);
  });

  it('are at most 200 in the list, with the stale ones first and a hint at the rest', async () => {
    const clock = manualClock();
    const service = await startService({ clock });
    const record = (tokens: readonly string[]) =>
      service.store.consumers.record(
        tokens.map((tokenId, n) =>
          summary(['boss', 'north-lead', 'seller'][n % 3] ?? '', tokenId, { lastPollAt: clock() }),
        ),
      );
    const tokens = Array.from({ length: 250 }, (_, n) => `token-${String(n).padStart(3, '0')}`);
    for (let round = 0; round < 6; round += 1) {
      await record(tokens);
      clock.advance(INTERVAL_MS);
    }
    await record(tokens.slice(0, -2));
    clock.advance(INTERVAL_MS);
    const { consumers } = await readStatus(service);
    expect(consumers).toMatchObject({ active: 248, stale: 2 });
    expect(consumers?.listed).toHaveLength(200);
    expect(consumers?.listed.slice(0, 3).map(({ tokenId }) => tokenId)).toEqual([
      ...['token-248', 'token-249', 'token-000'],
    ]);
    expect(consumers?.hint).toBe('50 more: `leadtap connections` lists all of them.');
  });

  it('are not recorded if that is switched off, and the page says so', async () => {
    const service = await startService({ env: { LEADTAP_CONSUMERS: 'off' } });
    await service.poll('boss');
    const { consumers, summary } = await readStatus(service);
    expect(consumers).toMatchObject({ recorded: false, active: 0, stale: 0, listed: [] });
    expect(summary).toBe('No problem was found. Consumers are not recorded (LEADTAP_CONSUMERS=off).');
    expect(consumers?.hint).toContain('`LEADTAP_CONSUMERS=off`');
  });

  it('that cannot be read are a problem, and the rest is there', async () => {
    const service = await startService();
    const { consumers } = service.store;
    vi.spyOn(consumers, 'list').mockRejectedValue(new Error('canceled'));
    const report = await readStatus(service);
    expect(report).toMatchObject({ healthy: false, consumers: null, database: { reachable: true } });
    expect(report.problems.map(({ kind }) => kind)).toEqual(['consumers-unknown']);
  });
});
