import { describe, expect, inject, it, vi } from 'vitest';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { makeTestRedis } from '../../../testing/harness/redis.ts';
import { startService } from '../../../testing/harness/service.ts';
import { VERSION } from '../../src/lib/version.ts';
import { addAutomations, readStatus } from './support/status.ts';

describe('/status.json', () => {
  it('has the documented names', async () => {
    const service = await startService();
    await service.add({});
    await service.poll('boss');
    await service.service.connections.flush();
    const report = await readStatus(service);
    const isSqlite = inject('store') === 'sqlite';
    expect(report).toMatchObject({
      ...{ generatedAt: expect.any(String), version: VERSION, startedAt: expect.any(String) },
      database: {
        ...{ address: expect.any(String), reachable: true, isEmpty: false },
        engine: expect.stringMatching(isSqlite ? /^SQLite 3/ : /^PostgreSQL \d/),
        ...{ stampsAheadSeconds: expect.any(Number), bytes: expect.any(Number) },
      },
      latestLeadAt: expect.any(String),
      backup: isSqlite ? { lastAt: null } : null,
      disk: isSqlite ? { freeBytes: expect.any(Number), totalBytes: expect.any(Number) } : null,
      ...{ redis: null, untrustedProxy: null, alertFailure: null, hookHosts: [] },
      ...{ problems: [], refusals: [], errors: [] },
      ...{ since: expect.any(String), level: 'unknown', message: expect.stringMatching(/^1 lead since /) },
      ...{ in: [], out: [{ state: 'new', userId: 'boss' }] },
    });
    expect(Object.keys(report).sort()).toEqual([
      ...['alertFailure', 'backup', 'database', 'disk', 'errors', 'generatedAt', 'hookHosts', 'in'],
      ...['latestLeadAt', 'level', 'message', 'out', 'problems', 'redis', 'refusals', 'since', 'startedAt'],
      ...['system', 'untrustedProxy', 'version'],
    ]);
  });

  it('has the level of the worst, with commands to paste', async () => {
    const clock = manualClock();
    const service = await startService({ clock, invocation: 'npx leadtap' });
    const [poll] = await addAutomations(service, clock, ['CRM']);
    expect(await readStatus(service)).toMatchObject({ level: 'good', out: [{ level: 'good' }] });
    await service.add(...Array.from({ length: 2000 }, () => ({})));
    await poll?.();
    clock.advance(-62_000);
    const ahead = await readStatus(service);
    expect(ahead.latestLeadAt).toBe(new Date(clock() + 64_000).toISOString());
    expect(ahead).toMatchObject({
      level: 'warning',
      problems: [{ kind: 'stamps-ahead', level: 'warning', docs: '/docs#stamps-ahead' }],
    });
    clock.advance(3 * 3_600_000);
    await service.service.connections.audit();
    expect((await readStatus(service)).out[0]?.fix).toMatch(/`npx leadtap connections /);
  });

  it('names a database that is unreachable, and has the rest', async () => {
    const service = await startService();
    vi.spyOn(service.store, 'status').mockRejectedValueOnce(new Error('the disk is on fire'));
    const report = await readStatus(service);
    expect(report).toMatchObject({ level: 'error', in: [], out: [], version: VERSION });
    expect(report.database).toMatchObject({ reachable: false, engine: null, stampsAheadSeconds: null });
    expect(report.problems.map(({ kind }) => kind)).toEqual(['database-unreachable']);
    expect((await readStatus(service)).level).toBe('unknown');
  });

  it('names connections that cannot be read, and has the rest', async () => {
    const service = await startService();
    vi.spyOn(service.store.connections, 'list').mockRejectedValueOnce(new Error('canceled'));
    const report = await readStatus(service);
    expect(report).toMatchObject({ level: 'error', message: 'It is not known what was sent.', out: [] });
    expect(report.problems.map(({ kind }) => kind)).toEqual(['connections-unknown']);
  });

  it('names requests that failed in the last five minutes', async () => {
    const clock = manualClock();
    const service = await startService({ clock });
    const { changeTracking } = service.store;
    vi.spyOn(changeTracking, 'revalidate').mockRejectedValueOnce(new Error('out of memory'));
    expect((await service.poll('boss')).status).toBe(500);
    expect((await readStatus(service)).problems).toMatchObject([
      {
        ...{ kind: 'requests-failed', level: 'error' },
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
