import { describe, expect, inject, it, vi } from 'vitest';
import { sendLeads } from '../../../testing/harness/intake.ts';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { makeTestRedis } from '../../../testing/harness/redis.ts';
import { startService } from '../../../testing/harness/service.ts';
import { VERSION } from '../../src/lib/version.ts';
import { CONSUMER_PROBLEMS } from '../../src/status/report.ts';
import { client, iso } from '../consumers/support/consumers.ts';
import { readStatus } from './support/status.ts';

/** The names of all values, with the types of those that are not null: the public shape. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return [...new Set(value.map((item) => JSON.stringify(shapeOf(item))))];
  if (typeof value === 'object' && value !== null)
    return sorted(Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, shapeOf(inner)])));
  return value === null ? null : typeof value;
}

const sorted = (shape: object): object => Object.fromEntries(Object.entries(shape).sort());

describe('/status.json', () => {
  it('has the documented names', async () => {
    const service = await startService();
    await service.add({});
    await service.poll('boss');
    await service.service.recorder?.flush();
    const report = await readStatus(service);
    expect(shapeOf(report)).toMatchObject({
      ...{ generatedAt: 'string', healthy: 'boolean', summary: 'string', problems: [], version: 'string' },
      ...{ good: 'string', startedAt: 'string' },
      database: {
        ...{ address: 'string', reachable: 'boolean', isEmpty: 'boolean', engine: 'string' },
        ...{ stampsAheadSeconds: 'number', bytes: 'number' },
      },
      leads: { latestAt: 'string', isSilent: 'boolean' },
      backup: inject('store') === 'sqlite' ? { lastAt: null } : null,
      redis: null,
      disk: inject('store') === 'sqlite' ? { freeBytes: 'number', totalBytes: 'number' } : null,
      consumers: {
        ...{ recorded: 'boolean', active: 'number', activeWithoutInterval: 'number' },
        ...{ stale: 'number', inactive: 'number', removed: 'number', subscribed: 'number' },
        problems: Object.fromEntries(CONSUMER_PROBLEMS.map((problem) => [problem, 'number'])),
        ...{ behind: 'number', longestWaitSeconds: 'number' },
        downtime: null,
        coverage: {
          ...{ hasLeads: 'boolean', leads: 'number', since: 'string', waiting: 'number', waitingFor: [] },
          ...{
            skipped: 'number',
            beforeStart: 'number',
            unseen: 'number',
            unseenPlaces: [],
            ...{ hasMorePlaces: 'boolean', isPart: 'boolean' },
          },
        },
        listed: [
          JSON.stringify(
            sorted({
              ...{ id: 'string', level: 'string', problem: null, message: 'string', fix: null },
              ...{ tokenId: 'string', name: null, userId: 'string', companyId: 'string', state: 'string' },
              ...{ tokenExpiresAt: 'string', firstPollAt: 'string' },
              ...{ lastPollAt: 'string', lastStatus: 'number', usualIntervalSeconds: null },
              ...{
                confirmedThrough: null,
                deliveredThrough: 'string',
                waiting: 'number',
                waitingSince: null,
              },
              ...{ skipped: 'number', skippedSince: null, missedLeads: 'number', unconfirmedSince: null },
              ...{ isStuck: 'boolean', tokenEnded: null, isAwaited: 'boolean', isUnrecorded: 'boolean' },
              ...{ hook: null, problems: [], last24h: ['null', '{"failed":"number","leads":"number"}'] },
            }),
          ),
        ],
      },
      hooks: { active: 'number', failing: 'number', disabled: 'number', failingLong: 'number' },
      untrustedProxy: null,
      hookHosts: [],
      ...{ refusals: [], errors: [] },
    });
    expect(Object.keys(report)).toEqual([
      ...['generatedAt', 'healthy', 'summary', 'good', 'note', 'problems', 'version', 'startedAt'],
      ...['errors', 'untrustedProxy', 'database', 'leads', 'backup', 'redis', 'disk', 'consumers'],
      ...['senders', 'hooks', 'hookHosts', 'refusals', 'since', 'level', 'message', 'in', 'out', 'system'],
    ]);
    expect(report.version).toBe(VERSION);
    expect(report.healthy).toBe(true);
    expect(report.database.engine).toMatch(inject('store') === 'sqlite' ? /^SQLite 3/ : /^PostgreSQL \d/);
  });

  it('says in words what each consumer, sender and refusal needs, with commands to paste', async () => {
    const clock = manualClock();
    const service = await startService({ clock, invocation: 'npx leadtap' });
    const [start = 0] = await service.add({});
    const zapier = await client(service, 'boss', 'zapier');
    await zapier.poll(`since=${iso(start)}`);
    clock.advance(60_000);
    await zapier.poll('since=yesterday');
    await service.service.recorder?.flush();
    await sendLeads(service, { nick: 'Ada' }, { tokenId: 'web' });
    await service.service.senders?.flush();
    await service.service.refusedLeads.flush();
    clock.advance(60_000);
    const { consumers, senders, refusals, problems } = await readStatus(service);
    expect(consumers?.listed).toMatchObject([
      {
        ...{ level: 'warning', problem: 'consumers-refused' },
        message: 'polls, but is refused: the query is not valid (400 invalid-query)',
        fix: problems.find(({ kind }) => kind === 'consumers-refused')?.fix,
      },
    ]);
    expect(senders?.listed).toMatchObject([
      {
        ...{ level: 'error', message: '1 request was refused 1 min ago, with 422 invalid-lead: nick' },
        fix: expect.stringContaining('`npx leadtap leads refused accept --all --connection web'),
      },
    ]);
    expect(refusals.map(({ code, fix }) => [code, fix])).toEqual([
      ['invalid-query', expect.stringMatching(/^Tell the client: /)],
      ['invalid-lead', expect.stringMatching(/^`npx leadtap connections --in` says/)],
    ]);
  });

  it('says that a poll is held, as its user reads it', async () => {
    const service = await startService();
    const zapier = await client(service, 'boss', 'zapier');
    const held = zapier.poll(`since=${iso(Date.now())}`, { headers: { prefer: 'wait=50' } });
    await vi.waitFor(async () => {
      await service.service.recorder?.flush();
      expect((await readStatus(service)).consumers?.listed).toMatchObject([
        { level: 'good', message: 'at once: holds a poll' },
      ]);
    });
    await service.add({});
    await held;
  });

  it('has stamps that are ahead of the clock, and says so when they are a minute ahead', async () => {
    const clock = manualClock();
    const service = await startService({ clock });
    await service.add(...Array.from({ length: 2000 }, () => ({})));
    const report = await readStatus(service);
    expect(report.leads.latestAt).toBe('2026-03-02T09:30:02.000Z');
    expect(report.database.stampsAheadSeconds).toBe(2);
    expect(report.problems).toMatchObject([{ kind: 'leads-unseen' }]);
    clock.advance(-60_000);
    expect((await readStatus(service)).problems).toMatchObject([
      { kind: 'leads-unseen' },
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
    expect(report.problems.map(({ kind }) => kind)).toEqual(['database-unreachable']);
    expect((await readStatus(service)).healthy).toBe(true);
  });

  it('names requests that failed in the last five minutes', async () => {
    const clock = manualClock();
    const service = await startService({ clock });
    const { changeTracking } = service.store;
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
