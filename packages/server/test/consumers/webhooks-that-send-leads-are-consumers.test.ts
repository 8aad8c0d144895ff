import { Consumers } from '@leadtap/contract/schemas';
import { Errors } from 'typebox/value';
import { expect, it } from 'vitest';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { keyFileOf, startService } from '../../../testing/harness/service.ts';
import type { HookProgress } from '../../src/hooks/store.ts';
import { terminal } from '../cli/terminal.ts';
import { storedHook } from '../hooks/support/hooks.ts';
import { addClient, readStatus, writePolls } from '../status/support/status.ts';
import { iso } from './support/consumers.ts';

const ID = '1'.repeat(32);
/** The service makes no attempt during the test. */
const LATER = { notBefore: Date.UTC(2100, 0), checkAt: null };

async function installation() {
  const clock = manualClock();
  const service = await startService({ clock });
  const shell = terminal();
  const run = async (command: string) => {
    await writePolls(service);
    const env = { ...service.database.env, LEADTAP_SIGNING_KEY_FILE: keyFileOf(service) };
    return shell.run(command, { env, parts: { clock } });
  };
  const list = async (userId = 'boss'): Promise<Consumers> => {
    const headers = { authorization: `Bearer ${await service.token(userId)}` };
    const body: unknown = await (await fetch(`${service.url}/automation/consumers`, { headers })).json();
    expect([...Errors(Consumers, body)]).toEqual([]);
    return body as Consumers;
  };
  const change = async (progress: Partial<HookProgress>, id = ID) => {
    const claimed = await storedHook(service, id);
    await service.store.hooks.settle([{ claimed, progress: { ...claimed, ...LATER, ...progress } }]);
  };
  const subscribe = async (
    since?: number,
    id = ID,
    host = 'hooks.zapier.com',
    tokenExpiresAt: number | null = null,
  ) => {
    const url = `https://${host}/hooks/catch/1/secret/`;
    await service.store.hooks.subscribe(
      {
        ...{ id, userId: 'boss', tokenId: 'token-1', url, send: 'lead', baseUrl: service.url, since },
        tokenExpiresAt,
      },
      20,
    );
    await change({}, id);
  };
  return { clock, service, run, list, change, subscribe };
}

it('a webhook that sends leads is listed beside the polls of its token, with its own position', async () => {
  const { clock, service, run, list, change, subscribe } = await installation();
  const poll = await addClient(service, 'boss', 'token-1', 'Zapier');
  const [first = 0] = await service.add({ id: 'first' });
  clock.advance(1000);
  const createdAt = clock();
  await subscribe();
  clock.advance(1000);
  const [second = 0] = await service.add({ id: 'second' });
  const [third = 0] = await service.add({ id: 'third' });
  clock.advance(1000);
  await poll(`since=${iso(second)}`);

  const rows = async () => (await list()).consumers;
  expect((await rows())[1]).toMatchObject({ level: 'unknown', message: '2 leads wait; nothing sent yet' });
  await change({ announcedThrough: second, lastEventAt: clock(), lastStatus: 200 });
  clock.advance(3000);
  const hook = {
    ...{ count: 1, send: 'lead', host: 'hooks.zapier.com', state: 'active' },
    ...{ announcedThrough: iso(second), lastEventAt: iso(clock() - 3000), lastStatus: 200 },
    ...{ failures: 0, failingSince: null, isAllowed: true, isAccepted: true },
  };
  expect(await rows()).toMatchObject([
    { tokenId: 'token-1', name: 'Zapier', pendingLeads: 0, hook: null, message: 'polled 3 s ago' },
    {
      ...{ tokenId: 'token-1', name: 'Zapier', state: 'active', lastPollAt: null, lastStatus: null },
      hook: { ...hook, id: ID },
      ...{ level: 'good', problem: null, message: '1 lead waits; sent 3 s ago', fix: null },
      ...{ confirmedThrough: iso(second), deliveredThrough: iso(second) },
      ...{ pendingLeads: 1, pendingSince: iso(third), firstPollAt: iso(createdAt) },
      gaps: [{ after: null, through: iso(first), isBeforeStart: true }],
    },
  ]);
  expect((await list('rival')).consumers, 'only to its own user').toEqual([]);

  const listed = JSON.parse((await run('consumers --json')).stdout);
  expect(listed).toMatchObject([{ hook: null }, { state: 'active', waiting: 1, hook }]);
  expect((await run('consumers')).stdout).toMatch(
    new RegExp(` active +1 +- +- +- +${iso(second)} +active, leads to hooks\\.zapier\\.com 3 s ago `),
  );
  const report = await readStatus(service);
  expect(report.consumers).toMatchObject({ active: 2, activeByWebhook: 1, behind: 1 });
  expect(report.consumers?.listed).toContainEqual(
    expect.objectContaining({ name: 'Zapier', message: expect.stringContaining('sent 3 s ago') }),
  );
  expect(JSON.stringify(report)).not.toContain('secret');

  const has = async (lead: string) => {
    const { consumers } = JSON.parse((await run(`leads show ${lead} --json`)).stdout);
    return consumers.map(({ state }: { state: string }) => state);
  };
  expect(await has('first'), 'from before the subscription').toEqual(['skipped']);
  expect([await has('second'), await has('third')]).toEqual([
    ['skipped', 'confirmed'],
    ['delivered', 'waiting'],
  ]);
  expect((await run('leads show second')).stdout).toContain(
    'Zapier (user boss): confirmed; webhook to hooks.zapier.com, active, last sent 3 s ago',
  );
});

it('history that is imported behind the position of a webhook is not said to be accepted', async () => {
  const { clock, service, run, change, subscribe } = await installation();
  await subscribe(1);
  clock.advance(1000);
  const [newest = 0] = await service.add({});
  await change({ announcedThrough: newest, lastEventAt: clock() });
  clock.advance(1000);
  const old = { companyId: 'acme', id: 'old', createdAt: newest - 86_400_000, fields: {} };
  await service.store.writeLeads([old], { historical: true });
  const { consumers } = JSON.parse((await run('leads show old --json')).stdout);
  expect(consumers).toMatchObject([{ state: 'skipped' }]);
});

it('a webhook has no position before the first lead of its company', async () => {
  const { service, run, list, subscribe } = await installation();
  await subscribe();
  expect((await list()).consumers).toMatchObject([{ confirmedThrough: null, deliveredThrough: null }]);
  for (const text of [
    (await readStatus(service)).consumers?.listed.map((one) => `${one.hook?.host}: ${one.message}`).join(),
    (await run('hooks list')).stdout,
    (await run('consumers')).stdout,
  ]) {
    expect(text).toContain('hooks.zapier.com');
    expect(text).not.toContain('1970');
  }
});

it('two webhooks of a token are two consumers: one that fails hides neither itself nor the other', async () => {
  const { clock, service, run, list, change, subscribe } = await installation();
  const other = '2'.repeat(32);
  await subscribe();
  await subscribe(undefined, other, 'hook.eu1.make.com');
  clock.advance(1000);
  const [lead = 0] = await service.add({});
  await change({ announcedThrough: lead, lastEventAt: clock(), lastStatus: 200 });
  await change({ failures: 1, failingSince: clock(), lastEventAt: clock(), lastStatus: 503 }, other);
  clock.advance(20_000);
  const { summary, consumers } = await list();
  expect(consumers.map(({ level, problem, message }) => [level, problem, message])).toEqual([
    [
      ...['warning', 'hooks-failing'],
      'its webhook does not accept leads: it answered with 503; 1 lead waits',
    ],
    ['good', null, 'sent 20 s ago'],
  ]);
  expect(consumers[0]?.fix).toContain('Leads wait, and are sent again by themselves: nothing is lost.');
  expect(summary).toEqual({
    level: 'warning',
    message:
      'token token-1 → hook.eu1.make.com: its webhook does not accept leads: it answered with 503; 1 lead waits.',
  });
  expect((await readStatus(service)).good).toBeNull();
  clock.advance(20 * 60_000);
  expect((await list()).summary.level).toBe('error');
  const stale = JSON.parse((await run('consumers --stale 15m --json')).stdout);
  expect(stale).toMatchObject([{ hook: { host: 'hook.eu1.make.com' } }]);
});

it('a new webhook says that nothing was sent yet', async () => {
  const { list, subscribe } = await installation();
  await subscribe();
  expect(await list()).toMatchObject({
    summary: { level: 'unknown', message: 'Your webhooks have accepted no lead yet.' },
    consumers: [{ level: 'unknown', state: 'subscribed', message: 'nothing sent yet' }],
  });
});

it('a webhook whose token has expired stays listed, as expired, with the leads that wait for it', async () => {
  const { clock, service, run, list, change, subscribe } = await installation();
  const expiresAt = clock() + 60_000;
  await subscribe(undefined, ID, undefined, expiresAt);
  clock.advance(1000);
  const [first = 0] = await service.add({ id: 'first' });
  await change({ announcedThrough: first, lastEventAt: clock(), lastStatus: 200 });
  clock.advance(60_000);
  const expired = `its token expired on ${iso(expiresAt).slice(0, 10)}`;
  expect(await list()).toMatchObject({
    summary: { level: 'unknown', message: 'Nothing polls at present with your tokens.' },
    consumers: [{ level: 'inactive', state: 'inactive', message: expired, tokenEnded: 'expired' }],
  });
  await service.add({ id: 'second' });
  const message = `${expired}: 1 lead waits, and none is sent`;
  const { summary, consumers } = await list();
  expect(summary).toEqual({ level: 'error', message: `token token-1 → hooks.zapier.com: ${message}.` });
  expect(consumers).toMatchObject([
    { level: 'error', problem: 'token-revoked-in-use', message, hook: { state: 'expired' } },
  ]);
  expect(consumers[0]?.fix).toContain(`with a new token, and with \`since\` \`${iso(first)}\``);
  expect((await readStatus(service)).problems[0]?.fix).toContain('run the command that this prints');
  expect((await run('hooks list')).stdout).toMatch(/ expired +\S+ +pending\b.* hooks\.zapier\.com /);
  expect(JSON.parse((await run('consumers --stale --json')).stdout)).toMatchObject([{ waiting: 1 }]);
  const { stdout: shown } = await run('leads show second');
  expect(shown).toContain('token token-1 (user boss): waiting since');
  expect(shown).toContain('; webhook to hooks.zapier.com, expired, last sent 1 min ago');
  const { stderr } = await run(`hooks remove ${ID}`);
  const [, printed = ''] = /\n {2}leadtap (hooks add .+)\n/.exec(stderr) ?? [];
  expect(printed).toContain(` --since ${iso(first)}`);
  expect((await run(printed)).code).toBe(0);
  expect(JSON.parse((await run('hooks list --json')).stdout)).toMatchObject([{ state: 'active' }]);
});

it('an attempt that was not accepted, or is not known to be, is not said to be sent', async () => {
  const { clock, service, run, list, change, subscribe } = await installation();
  await subscribe();
  clock.advance(1000);
  const [first = 0] = await service.add({ id: 'first' }, {});
  await change({ announcedThrough: first, lastEventAt: clock(), lastStatus: null });
  clock.advance(3000);
  expect((await list()).consumers).toMatchObject([{ message: '1 lead waits; last tried 3 s ago' }]);
  expect((await run('consumers')).stdout).toContain('active, leads to hooks.zapier.com tried 3 s ago');
  expect((await run('leads show first')).stdout).toContain(
    'confirmed; webhook to hooks.zapier.com, active, last tried 3 s ago',
  );
  expect((await readStatus(service)).consumers?.listed[0]?.message).toContain('last tried 3 s ago');
  clock.advance(3 * 60_000);
  expect((await readStatus(service)).summary).toContain('; the last attempt was 3 min 3 s ago.');
});

it('a webhook with a name is called by it, and its host, wherever it is shown', async () => {
  const { clock, service, run, list, subscribe } = await installation();
  await addClient(service, 'boss', 'token-1', 'console');
  await subscribe();
  const { stderr } = await run(`hooks rename ${ID} Slack-sales`);
  expect(stderr).toBe('The subscription of hooks.zapier.com is now called Slack-sales.\n');
  await service.add({ id: 'first' });
  clock.advance(10 * 60_000);
  const { summary, consumers } = await list();
  expect(consumers).toMatchObject([{ name: 'Slack-sales' }]);
  expect(summary.message).toMatch(/^Slack-sales → hooks\.zapier\.com: /);
  const status = await readStatus(service);
  expect(status.problems[0]?.message).toContain('Slack-sales → hooks.zapier.com (user boss)');
  expect((await run('consumers')).stdout).toContain('Slack-sales');
  expect((await run('leads show first')).stdout).toContain('Slack-sales');
  expect(JSON.parse((await run('hooks list --json')).stdout)).toMatchObject([{ name: 'Slack-sales' }]);
  expect(await run(`hooks rename ${ID} ${'x'.repeat(101)}`)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('the name must have at most 100 characters'),
  });
  expect(await run(`hooks rename ${'0'.repeat(32)} Sales`)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('there is no webhook subscription'),
  });
});
