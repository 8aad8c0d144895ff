import { describe, expect, inject, it, vi } from 'vitest';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { makeTestRedis } from '../../../testing/harness/redis.ts';
import { startService, type TestService } from '../../../testing/harness/service.ts';
import { VERSION } from '../../src/version.ts';
import { readStatus } from './support/status.ts';

/** The names of all values, with the types of those that are not null: the public shape. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return [...new Set(value.map((item) => JSON.stringify(shapeOf(item))))];
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, shapeOf(inner)]));
  return value === null ? null : typeof value;
}

const sum = (values: readonly (number | null)[]): number =>
  values.reduce<number>((total, value) => total + (value ?? 0), 0);

describe('/status.json', () => {
  it('has the documented names', async () => {
    const service = await startService();
    await service.add({});
    await service.poll('boss');
    await service.service.recorder?.flush();
    const history = {
      ...{ from: 'string', stepSeconds: 'number', pollsPerSecond: ['null', '"number"'] },
      ...{ p99Ms: ['null', '"number"'], rateLimited: ['null', '"number"'], rejected: ['null', '"number"'] },
      ...{ failed: ['null', '"number"'], leads: ['"number"'] },
    };
    const report = await readStatus(service);
    expect(shapeOf(report)).toMatchObject({
      ...{ generatedAt: 'string', healthy: 'boolean', summary: 'string', problems: [], version: 'string' },
      ...{ good: 'string', startedAt: 'string', uptimeSeconds: 'number', waitingRequests: 'number' },
      database: {
        ...{ address: 'string', reachable: 'boolean', engine: 'string', latestStamp: 'string' },
        ...{ stampsAheadSeconds: 'number', bytes: 'number' },
      },
      leads: { latestAt: 'string', usualPerHour: null, isSilent: 'boolean' },
      backup: inject('store') === 'sqlite' ? { lastAt: null } : null,
      redis: null,
      disk: inject('store') === 'sqlite' ? { freeBytes: 'number', totalBytes: 'number' } : null,
      consumers: {
        ...{ recorded: 'boolean', active: 'number', activeWithoutInterval: 'number' },
        ...{
          stale: 'number',
          inactive: 'number',
          subscribed: 'number',
          refused: 'number',
          limited: 'number',
        },
        ...{ limitedLong: 'number', waitingLong: 'number', ended: 'number', awaited: 'number' },
        ...{ skipping: 'number', expiring: 'number', behind: 'number', longestWaitSeconds: 'number' },
        downtime: null,
        listed: [
          JSON.stringify({
            ...{ tokenId: 'string', name: null, userId: 'string', companyId: 'string', state: 'string' },
            tokenExpiresAt: 'string',
            ...{ lastPollAt: 'string', lastStatus: 'number', usualIntervalSeconds: null },
            ...{ confirmedThrough: null, deliveredThrough: 'string', waiting: 'number', waitingSince: null },
            ...{ skipped: 'number', skippedSince: null, unconfirmedSince: null, isStuck: 'boolean' },
            ...{ tokenEnded: null, isAwaited: 'boolean', hook: null },
            ...{ problem: null, hasSkipped: 'boolean', tokenExpiresSoon: 'boolean' },
            pollsByHour: ['"number"'],
          }),
        ],
      },
      hooks: { active: 'number', failing: 'number', disabled: 'number', failingLong: 'number' },
      untrustedProxy: null,
      ...{ refusals: [], errors: [] },
      history: { hour: history, day: history },
    });
    expect(Object.keys(report)).toEqual([
      ...['generatedAt', 'healthy', 'summary', 'good', 'note', 'problems', 'version', 'startedAt'],
      ...['uptimeSeconds', 'waitingRequests', 'database', 'leads', 'backup', 'redis', 'disk', 'consumers'],
      ...['hooks', 'untrustedProxy', 'refusals', 'errors', 'history'],
    ]);
    expect(report.version).toBe(VERSION);
    expect(report.healthy).toBe(true);
    expect(report.database.engine).toMatch(inject('store') === 'sqlite' ? /^SQLite 3/ : /^PostgreSQL \d/);
  });

  it('has polls, refusals and p99 of this instance in steps of a minute and of 15 minutes', async () => {
    const clock = manualClock('2026-03-02T09:30:20.000Z');
    const service = await startService({ clock });
    for (let n = 0; n < 4; n += 1) await service.poll('boss');
    await service.poll('boss', 'limit=0');
    clock.advance(20_000);
    const { history } = await readStatus(service);
    expect(history.hour).toMatchObject({ from: '2026-03-02T08:31:00.000Z', stepSeconds: 60 });
    expect(history.day).toMatchObject({ from: '2026-03-01T09:45:00.000Z', stepSeconds: 900 });
    for (const steps of [history.hour, history.day]) {
      const length = steps === history.hour ? 60 : 96;
      for (const values of [steps.pollsPerSecond, steps.p99Ms, steps.rejected, steps.failed, steps.leads])
        expect(values).toHaveLength(length);
      // 5 polls in the 20 seconds since the start. Before the start nothing is known.
      expect(steps.pollsPerSecond.slice(-2)).toEqual([null, 0.25]);
      expect(steps.rejected.slice(-2)).toEqual([null, 1]);
      expect(steps.failed.slice(-2)).toEqual([null, 0]);
      expect(steps.p99Ms.at(-2)).toBeNull();
      expect(steps.p99Ms.at(-1)).toBeGreaterThan(0);
    }
    clock.advance(60_000);
    const later = (await readStatus(service)).history.hour;
    expect(later.pollsPerSecond.slice(-3)).toEqual([null, 0.125, 0]);
    expect(later.p99Ms.at(-1)).toBeNull();
  });

  it('has the leads of the last day, also those of other programs and from before the start', async () => {
    const clock = manualClock('2026-03-02T09:30:20.000Z');
    const first = await startService({ clock });
    await first.add({}, {});
    clock.advance(3_600_000);
    await first.add({ companyId: 'globex' });
    const other = await startService({ clock, beside: first });
    const leadsOf = async (service: TestService) => {
      const { hour, day } = (await readStatus(service)).history;
      return { hour: sum(hour.leads ?? []), day: sum(day.leads ?? []), now: hour.leads?.at(-1) };
    };
    expect(await leadsOf(other)).toEqual({ hour: 1, day: 3, now: 1 });
    await first.add({});
    expect(await leadsOf(other)).toEqual({ hour: 2, day: 4, now: 2 });
    clock.advance(120_000);
    await first.add({});
    expect(await leadsOf(other)).toEqual({ hour: 3, day: 5, now: 1 });
    clock.advance(24 * 3_600_000);
    expect(await leadsOf(other)).toEqual({ hour: 0, day: 0, now: 0 });
  });

  it('has stamps that are ahead of the clock, and says so when they are a minute ahead', async () => {
    const clock = manualClock();
    const service = await startService({ clock });
    await service.add(...Array.from({ length: 2000 }, () => ({})));
    const report = await readStatus(service);
    expect(report.database).toMatchObject({
      ...{ latestStamp: '2026-03-02T09:30:02.000Z', stampsAheadSeconds: 2 },
    });
    expect(report.problems).toEqual([]);
    clock.advance(-60_000);
    expect((await readStatus(service)).problems).toMatchObject([
      { kind: 'stamps-ahead', message: 'The newest lead is dated 1 min 2 s ahead of the clock.' },
    ]);
  });

  it('names a database that is unreachable, and has the rest', async () => {
    const service = await startService();
    await service.poll('boss');
    vi.spyOn(service.store, 'status').mockRejectedValueOnce(new Error('the disk is on fire'));
    const report = await readStatus(service);
    expect(report).toMatchObject({ healthy: false, consumers: null, version: VERSION });
    expect(report.database).toMatchObject({ reachable: false, engine: null, stampsAheadSeconds: null });
    expect(report.history.hour.leads).toBeNull();
    expect(sum(report.history.hour.pollsPerSecond)).toBeGreaterThan(0);
    expect(report.problems.map(({ kind }) => kind)).toEqual(['database-unreachable']);
    expect((await readStatus(service)).healthy).toBe(true);
  });

  it('has no leads if they cannot be counted, and the rest', async () => {
    const lines: string[] = [];
    const logTo = { write: (line: string) => void lines.push(line) };
    const prepare = ({ store }: { store: TestService['store'] }) =>
      void vi.spyOn(store, 'countLeadsByMinute').mockRejectedValue(new Error('canceled'));
    const service = await startService({ logTo, prepare });
    const report = await readStatus(service);
    expect(report.history.day.leads).toBeNull();
    expect(report.database.reachable).toBe(true);
    expect(lines.join('')).toContain('the number of leads could not be read');
  });

  it('names requests that failed in the last five minutes', async () => {
    const clock = manualClock();
    const service = await startService({ clock });
    const { changeTracking } = service.store;
    if (!changeTracking) throw new Error('no change tracking');
    vi.spyOn(changeTracking, 'revalidate').mockRejectedValueOnce(new Error('out of memory'));
    expect((await service.poll('boss')).status).toBe(500);
    const { problems } = await readStatus(service);
    expect(problems).toMatchObject([
      {
        kind: 'requests-failed',
        severity: 'error',
        message: '1 request was answered with a 5xx in the last 5 minutes.',
      },
    ]);
    clock.advance(5 * 60_000);
    expect((await readStatus(service)).problems).toEqual([]);
  });

  it('has the state of Redis', async () => {
    const redis = await makeTestRedis();
    const up = await startService({ env: redis.env });
    expect((await readStatus(up)).redis).toEqual({ reachable: true });
    const down = await startService({ env: { LEADTAP_REDIS_URL: 'redis://127.0.0.1:1' } });
    const report = await readStatus(down);
    expect(report.redis).toEqual({ reachable: false });
    expect(report.problems.map(({ kind }) => kind)).toEqual(['redis-unreachable']);
  });

  it('has no password of the database', async () => {
    const beside = await startService();
    const url = new URL(beside.database.url);
    if (inject('store') === 'postgres') url.password = 'top-secret';
    const service = await startService({ beside, env: { LEADTAP_DATABASE_URL: url.href } });
    const text = await (await fetch(`${service.statusUrl}.json`)).text();
    expect(text).toContain('"address":"');
    expect(text).not.toContain('top-secret');
  });
});
