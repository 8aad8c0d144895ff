import { describe, expect, test } from 'vitest';
import { type ManualClock, manualClock } from '../../../testing/harness/manual-clock.ts';
import { startService, type TestService } from '../../../testing/harness/service.ts';
import { type RunOptions, terminal } from './terminal.ts';

/** A service and commands on the same database, with the same clock. */
async function installation() {
  const clock = manualClock();
  const service = await startService({ clock });
  const shell = terminal();
  const run = async (command: string, options: RunOptions = {}) => {
    await service.service.recorder?.flush();
    const env = { ...service.database.env, ...options.env };
    return shell.run(command, { ...options, env, parts: { clock, ...options.parts } });
  };
  return { clock, service, run, ...clients(service, clock) };
}

function clients({ url, store, token }: TestService, clock: ManualClock) {
  /** A token as `leadtap token issue` records it. */
  const issue = async (userId: string, tokenId: string, name: string | null = null) => {
    const issuedAt = clock();
    const expiresAt = issuedAt + 90 * 86_400_000;
    await store.recordTokens([{ id: tokenId, userId, name, issuedAt, expiresAt, scopes: ['leads:read'] }]);
    const authorization = `Bearer ${await token(userId, { tokenId, expiresInMs: 90 * 86_400_000 })}`;
    return (query = '') =>
      fetch(`${url}/automation/new-leads${query && `?${query}`}`, { headers: { authorization } });
  };
  return { issue };
}

const iso = (ms: number): string => new Date(ms).toISOString();

describe('leadtap consumers', () => {
  test('lists who polls, with position and waiting leads', async () => {
    const { clock, service, run, issue } = await installation();
    const poll = await issue('boss', 'token-1', 'n8n, sales');
    const [first = 0] = await service.add({});
    await poll(`since=${iso(first - 1)}`);
    const polledAt = clock();
    const [second = 0] = await service.add({}, {});
    clock.advance(30_000);
    const { code, stdout, stderr } = await run('consumers');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout.split('\n')).toEqual([
      'TOKEN    NAME        USER  STATE   WAITING  LAST POLL  STATUS  INTERVAL  POSITION                  WEBHOOK  COMPANY',
      `token-1  n8n, sales  boss  active  2        30 s ago   200     -         ${iso(first)}  -        acme`,
      '',
    ]);
    expect(JSON.parse((await run('consumers --json')).stdout)).toEqual([
      {
        id: expect.stringMatching(/^[\w-]{16}$/),
        tokenId: 'token-1',
        name: 'n8n, sales',
        userId: 'boss',
        companyId: 'acme',
        state: 'active',
        tokenExpiresAt: iso(polledAt + 90 * 86_400_000),
        lastPollAt: iso(polledAt),
        lastStatus: 200,
        polls: 1,
        usualIntervalSeconds: null,
        confirmedThrough: iso(first - 1),
        deliveredThrough: iso(first),
        waiting: 2,
        waitingSince: iso(second),
        ...{
          skipped: 0,
          skippedSince: null,
          tokenEnded: null,
          isAwaited: false,
          isUnrecorded: false,
          gaps: [],
        },
        ...{ missedLeads: 0, unconfirmedSince: iso(first), isStuck: false },
        firstPollAt: iso(polledAt),
        hook: null,
        last24h: [...Array.from({ length: 23 }, () => null), { leads: 1, failed: 0 }],
      },
    ]);
  });

  test('lists those of one company', async () => {
    const { run, issue } = await installation();
    await (await issue('boss', 'token-1'))();
    expect(JSON.parse((await run('consumers --company acme --json')).stdout)).toHaveLength(1);
    expect((await run('consumers --company globex --json')).stdout).toBe('[]\n');
    expect((await run('consumers --company globex')).stderr).toBe('There is no consumer.\n');
  });

  test('says that positions are switched off', async () => {
    const { run } = await installation();
    const { code, stderr } = await run('consumers', { env: { LEADTAP_CONSUMERS: 'off' } });
    expect(code).toBe(2);
    expect(stderr).toContain('LEADTAP_CONSUMERS is off');
  });

  test.each(['--stale 0m', '--stale soon', '--stale 15'])('%s is refused', async (option) => {
    const { code, stderr } = await terminal().run(`consumers ${option}`);
    expect(code).toBe(2);
    expect(stderr).toContain('Write 90s, 15m, 2h or 1d.');
  });
});

describe('consumers that no longer count', () => {
  test('a revoked token and a removed user are not listed; an expired token of an identity provider is, until it is replaced', async () => {
    const { clock, service, run, issue } = await installation();
    await (await issue('boss', 'revoked'))();
    await (await issue('north-lead', 'removed'))();
    await (await issue('seller', 'kept'))();
    await service.poll('boss');
    const ids = async () =>
      JSON.parse((await run('consumers --json')).stdout).map(({ tokenId }: { tokenId: string }) => tokenId);
    expect(await ids()).toHaveLength(4);
    await service.store.revokeToken('revoked');
    await service.store.removeUser('north-lead');
    clock.advance(2 * 3_600_000);
    const [expired, ...others] = await ids();
    expect(others).toEqual(['kept']);
    await service.poll('boss');
    const [replacement, ...same] = await ids();
    expect(same).toEqual(['kept']);
    expect(replacement).not.toBe(expired);
  });
});

const INTERVAL_MS = 120_000;
const METRIC = /^leadtap_consumers\{state="stale"\} (\d+)$/m;

test('one of 50 pollers stops: command and metric report it within two intervals, and no other', async () => {
  const { clock, service, run, issue } = await installation();
  const userIds = ['boss', 'north-lead', 'seller'];
  const pollers = await Promise.all(
    Array.from({ length: 50 }, async (_, index) => ({
      tokenId: `token-${String(index).padStart(2, '0')}`,
      poll: await issue(userIds[index % 3] ?? '', `token-${String(index).padStart(2, '0')}`),
    })),
  );
  const staleInMetrics = async () => Number(METRIC.exec(await (await fetch(service.metricsUrl)).text())?.[1]);
  /** One after the other, spread over the interval. */
  const pollOnce = async (isStopped: (index: number) => boolean = () => false, end = pollers.length) => {
    for (const [index, { poll }] of pollers.slice(0, end).entries()) {
      if (!isStopped(index)) await poll();
      clock.advance(INTERVAL_MS / pollers.length);
    }
    await service.service.recorder?.flush();
  };
  for (let round = 0; round < 6; round += 1) await pollOnce();
  expect((await run('consumers --stale')).code).toBe(0);
  expect(await staleInMetrics()).toBe(0);

  const stopped = 17;
  await pollOnce((index) => index === stopped);
  await pollOnce((index) => index === stopped, stopped);
  for (const option of ['--stale', '--stale 3m']) {
    const { code, stdout } = await run(`consumers ${option} --json`);
    const ids = JSON.parse(stdout).map(({ tokenId }: { tokenId: string }) => tokenId);
    expect({ code, ids }).toEqual({ code: 1, ids: [`token-${stopped}`] });
  }
  expect(await staleInMetrics()).toBe(1);
  const { code, stderr } = await run('consumers --stale 10m');
  expect({ code, stderr }).toEqual({ code: 0, stderr: 'No consumer is stale.\n' });
});

test('leadtap consumers forget says what it does not delete', async () => {
  const { clock, service, run, issue } = await installation();
  const hook = { userId: 'boss', tokenExpiresAt: null, createdAt: clock(), since: undefined };
  const subscribe = (id: string, tokenId: string, send: 'event' | 'lead') => {
    const url = `https://hooks.zapier.com/${tokenId}`;
    return service.store.hooks.subscribe(
      { ...hook, id: id.repeat(32), tokenId, send, url, baseUrl: service.url },
      20,
    );
  };
  await (await issue('boss', 'polls', 'Zapier'))();
  await subscribe('1', 'polls', 'event');
  await subscribe('2', 'sends', 'lead');
  expect(await run('consumers forget polls --user seller')).toMatchObject({ code: 1, stdout: '' });
  expect(await run('consumers forget polls --user boss')).toEqual({
    code: 0,
    stdout: 'Forgot Zapier (user boss): it last polled 0 s ago, and no lead waits.\n',
    stderr:
      'Its webhook subscription remains. To delete it: `leadtap hooks remove ID` (`leadtap hooks list --user boss` shows the id).\n',
  });
  expect(await run('consumers forget sends')).toMatchObject({
    ...{ code: 1, stdout: '' },
    stderr: expect.stringContaining(
      'its webhook is sent leads\n  Delete the webhook: `leadtap hooks remove ID`',
    ),
  });
  expect(await run('consumers forget')).toMatchObject({
    ...{ code: 2, stdout: '' },
    stderr: expect.stringContaining('name the token of the consumer, or the user'),
  });
  await service.poll('boss', '', {
    headers: { authorization: `Bearer ${await service.token('boss', { tokenId: '' })}` },
  });
  expect(await run('consumers forget --user boss')).toMatchObject({
    stdout: expect.stringMatching(/^Forgot tokens without an id \(user boss\): /),
  });
});
