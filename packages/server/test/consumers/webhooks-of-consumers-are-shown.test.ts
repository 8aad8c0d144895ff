import { Consumers } from '@leadtap/contract/schemas';
import { Errors } from 'typebox/value';
import { describe, expect, it } from 'vitest';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { type ServiceOptions, startService, type TestService } from '../../../testing/harness/service.ts';
import type { HookProgress } from '../../src/hooks/store.ts';
import { terminal } from '../cli/terminal.ts';
import { storedHook, subscribe, ZAPIER_URL } from '../hooks/support/hooks.ts';
import { addClient, readStatus, readSystem, writePolls } from '../status/support/status.ts';
import { iso } from './support/consumers.ts';

const MINUTE_MS = 60_000;

async function installation(options: ServiceOptions = {}) {
  const clock = manualClock();
  const service = await startService({ clock, ...options });
  const shell = terminal();
  const run = async (command: string) => {
    await writePolls(service);
    return shell.run(command, { env: { ...service.database.env, ...options.env }, parts: { clock } });
  };
  const list = async (userId: string): Promise<Consumers['consumers']> => {
    const headers = { authorization: `Bearer ${await service.token(userId)}` };
    const body: unknown = await (await fetch(`${service.url}/automation/consumers`, { headers })).json();
    expect([...Errors(Consumers, body)]).toEqual([]);
    return (body as Consumers).consumers;
  };
  const status = async () => {
    await writePolls(service);
    return readStatus(service);
  };
  /** Subscribes with a token that does not expire during the test. */
  const subscribeAs = async (userId: string, tokenId: string, url = ZAPIER_URL) =>
    subscribe(service, await service.token(userId, { tokenId, expiresInMs: 30 * 86_400_000 }), url);
  return { clock, service, run, list, status, subscribeAs };
}

/** As after attempts of the service. */
async function change(service: TestService, id: string, changes: Partial<HookProgress>): Promise<void> {
  const claimed = await storedHook(service, id);
  await service.store.hooks.settle([{ claimed, progress: { ...claimed, ...changes } }]);
}

/** It is not examined during the test. */
const FAILING = { failures: 2, lastStatus: 500, notBefore: Date.UTC(2100, 0) };

const DISABLED = {
  failures: 30,
  failingSince: 1,
  disabledAt: 2,
  lastEventAt: Date.UTC(2026, 2, 2),
  lastStatus: 502,
};

describe('a consumer with a webhook subscription', () => {
  it('is called like its webhook, and like its token if it has several', async () => {
    const { service, list, subscribeAs } = await installation();
    const poll = await addClient(service, 'boss', 'token-1', 'Zapier');
    await poll();
    const { id } = await subscribeAs('boss', 'token-1');
    expect(await list('boss')).toMatchObject([{ name: 'Zapier' }]);
    await service.store.hooks.rename(id, 'Sales');
    expect(await list('boss')).toMatchObject([{ name: 'Sales' }]);
    await subscribeAs('boss', 'token-1', `${ZAPIER_URL}b`);
    expect(await list('boss')).toMatchObject([{ name: 'Zapier', hook: { count: 2 } }]);
  });

  it('has its state and last event over HTTP, in the command and on the status page', async () => {
    const { clock, service, run, list, status, subscribeAs } = await installation();
    const poll = await addClient(service, 'boss', 'token-1', 'Zapier');
    await poll();
    const { id, since } = await subscribeAs('boss', 'token-1');
    await change(service, id, { lastEventAt: clock() - 3 * MINUTE_MS, lastStatus: 200 });
    const hook = {
      ...{ count: 1, state: 'active', announcedThrough: since },
      ...{ lastEventAt: iso(clock() - 3 * MINUTE_MS), lastStatus: 200, failures: 0 },
      ...{ failingSince: null, send: 'event', host: null, isAllowed: true, isAccepted: true },
    };
    expect(await list('boss')).toEqual([
      expect.objectContaining({ tokenId: 'token-1', state: 'active', hook: { ...hook, id: null } }),
    ]);
    expect(await list('rival'), 'only to its own user').toEqual([]);
    expect(JSON.parse((await run('consumers --json')).stdout)).toMatchObject([{ tokenId: 'token-1', hook }]);
    expect((await run('consumers')).stdout).toMatch(/ WEBHOOK .+\n.+ active, event 3 min ago .+\n$/);
    const report = await status();
    expect(report.hooks).toMatchObject({ active: 1, failing: 0, disabled: 0 });
    expect(report.problems).toEqual([]);
    expect(report.consumers?.listed).toMatchObject([{ tokenId: 'token-1', hook }]);
  });

  it('that has several shows their number and the worst of them', async () => {
    const { service, list, subscribeAs } = await installation();
    await (await addClient(service, 'boss', 'token-1', 'Zapier'))();
    for (const path of ['a', 'b', 'c']) await subscribeAs('boss', 'token-1', `${ZAPIER_URL}${path}`);
    const ids = (await service.store.hooks.list({ now: 0, limit: 9 }))?.map(({ hook }) => hook.id) ?? [];
    await change(service, ids[0] ?? '', FAILING);
    await change(service, ids[1] ?? '', DISABLED);
    expect(await list('boss')).toMatchObject([
      { hook: { count: 3, state: 'disabled', lastStatus: 502, failures: 30 } },
    ]);
  });

  it('has it where webhook subscriptions are switched off, and nothing may be sent', async () => {
    const { service, run, list, status, subscribeAs } = await installation();
    await subscribeAs('boss', 'token-1');
    const off = await installation({ beside: service, env: { LEADTAP_HOOKS: 'off' } });
    expect(await list('boss')).toHaveLength(1);
    const hook = { state: 'active', isAllowed: false };
    expect(await off.list('boss')).toMatchObject([{ state: 'subscribed', hook }]);
    expect(await off.status()).toMatchObject({
      ...{ hookHosts: null, hooks: { active: 1 } },
      consumers: { subscribed: 1, listed: [{ hook }] },
    });
    expect((await readSystem(off.service))['Webhooks']).toBe('1 active, switched off (LEADTAP_HOOKS)');
    expect((await run('consumers --json')).stdout).toContain('"subscribed"');
    expect(JSON.parse((await off.run('consumers --json')).stdout)).toMatchObject([{ hook }]);
    expect(await status()).toMatchObject({ consumers: { subscribed: 1 } });
  });
});

it('a token that has subscribed and has never polled is listed', async () => {
  const { service, run, list, status, subscribeAs } = await installation();
  const issued = { issuedAt: 0, expiresAt: Date.UTC(2100, 0), scopes: ['leads:read'] as const };
  await service.store.recordTokens([{ id: 'token-1', userId: 'boss', name: 'Make', ...issued }]);
  await subscribeAs('boss', 'token-1');
  const never = { tokenId: 'token-1', name: 'Make', state: 'subscribed', lastPollAt: null, lastStatus: null };
  expect(await list('boss')).toMatchObject([{ ...never, pendingLeads: 0, hook: { state: 'active' } }]);
  expect(JSON.parse((await run('consumers --json')).stdout)).toMatchObject([
    { ...never, userId: 'boss', companyId: 'acme', polls: 0, hook: { state: 'active', lastEventAt: null } },
  ]);
  expect((await run('consumers')).stdout).toMatch(/ subscribed .+ never .+ active, no event yet .+\n$/);
  expect((await run('consumers --stale 1s')).code).toBe(0);
  const report = await status();
  expect(report.consumers).toMatchObject({ active: 0, stale: 0, subscribed: 1, listed: [never] });
  expect(report.consumers?.listed).toMatchObject([{ level: 'unknown', message: 'has not polled yet' }]);
});

it('leads that wait for a token that has never polled are counted alike everywhere', async () => {
  const { clock, service, run, list, status, subscribeAs } = await installation();
  await service.add({ id: 'before' });
  clock.advance(1000);
  await subscribeAs('north-lead', 'token-1');
  clock.advance(1000);
  const north = { branchId: 'north' };
  const [first = 0] = await service.add({ id: 'first', ...north }, { ...north }, { id: 'elsewhere' });
  clock.advance(46_000);
  const waiting = { waiting: 2, waitingSince: iso(first) };
  expect(await list('north-lead')).toMatchObject([{ pendingLeads: 2, pendingSince: iso(first) }]);
  expect(JSON.parse((await run('consumers --json')).stdout)).toMatchObject([waiting]);
  expect((await run('consumers')).stdout).toMatch(/ 2 +never .+ (active|failing), /);
  expect((await status()).consumers).toMatchObject({ behind: 1, listed: [waiting] });
  const shown = async (lead: string) => JSON.parse((await run(`leads show ${lead} --json`)).stdout).consumers;
  expect(await shown('first')).toEqual([
    { tokenId: 'token-1', name: null, userId: 'north-lead', state: 'waiting' },
  ]);
  expect([await shown('before'), await shown('elsewhere')]).toEqual([[], []]);
  expect((await run('leads show first')).stdout).toContain(
    `token token-1 (user north-lead): waiting since ${iso(first)}; it has a webhook subscription and has never polled`,
  );
});

it('a consumer with a webhook is stale only if it does not poll although there are leads', async () => {
  const { clock, service, run, list, subscribeAs } = await installation();
  const clients = [
    await addClient(service, 'boss', 'with-hook', 'Zapier'),
    await addClient(service, 'boss', 'without-hook', 'script'),
  ];
  await service.add({});
  for (let round = 0; round < 6; round += 1) {
    clock.advance(2 * MINUTE_MS);
    for (const poll of clients) expect(await poll()).toBe(200);
    await writePolls(service);
  }
  await subscribeAs('boss', 'with-hook');
  const states = async () => (await list('boss')).map(({ tokenId, state }) => `${tokenId} ${state}`);
  const stale = async (option: string) =>
    JSON.parse((await run(`consumers ${option} --json`)).stdout).map(({ name }: { name: string }) => name);
  const staleInMetrics = async () =>
    /^leadtap_consumers\{state="stale"\} (\d+)$/m.exec(await (await fetch(service.metricsUrl)).text())?.[1];
  clock.advance(15 * MINUTE_MS);
  expect(await states()).toEqual(['without-hook stale', 'with-hook active']);
  expect([await stale('--stale'), await stale('--stale 10m')]).toEqual([['script'], ['script']]);
  expect(await staleInMetrics()).toBe('1');
  await service.add({});
  expect(await states(), 'it was only now asked to poll').toEqual(['without-hook stale', 'with-hook active']);
  clock.advance(15 * MINUTE_MS);
  expect(await states()).toEqual(['with-hook stale', 'without-hook stale']);
  expect((await stale('--stale 10m')).sort()).toEqual(['Zapier', 'script']);
  expect(await staleInMetrics()).toBe('2');
});

describe('the status page', () => {
  it('names disabled and failing webhooks, with the commands that help, and lists them first', async () => {
    const { service, status, subscribeAs } = await installation();
    for (const name of ['A', 'B', 'C']) await (await addClient(service, 'boss', name, name))();
    await change(service, (await subscribeAs('boss', 'C')).id, DISABLED);
    await change(service, (await subscribeAs('boss', 'B')).id, { ...FAILING, failures: 1, lastStatus: null });
    const { problems, healthy, hooks, consumers } = await status();
    expect({ healthy, hooks }).toEqual({
      healthy: false,
      hooks: { active: 0, failing: 1, disabled: 1, failingLong: 0 },
    });
    expect(problems).toMatchObject([
      {
        ...{ kind: 'hooks-disabled', severity: 'error', docs: '/docs#hooks-disabled' },
        message:
          'C (user boss): its webhook is disabled: it accepted no event for 3 days, and answered with 502.',
        fix: expect.stringContaining('`leadtap hooks send-test ID` enables it'),
      },
      {
        ...{ kind: 'hooks-failing', severity: 'warning', docs: '/docs#hooks-failing' },
        message: 'B (user boss): its webhook does not accept events: it did not answer.',
        fix: expect.stringContaining('`leadtap hooks list --user boss` shows the id'),
      },
    ]);
    expect(consumers?.listed.map(({ name }) => name)).toEqual(['B', 'C', 'A']);
  });

  it('reports them also if consumers are not recorded', async () => {
    const { service, status, subscribeAs } = await installation({ env: { LEADTAP_CONSUMERS: 'off' } });
    await change(service, (await subscribeAs('boss', 'token-1')).id, DISABLED);
    expect((await status()).problems).toMatchObject([
      { kind: 'hooks-disabled', message: expect.stringMatching(/with 410\.$/) },
    ]);
  });
});
