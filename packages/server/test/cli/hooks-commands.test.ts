import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { Lead } from '@leadtap/contract/schemas';
import { Webhook } from 'standardwebhooks';
import { Errors } from 'typebox/value';
import { describe, expect, test } from 'vitest';
import { type ManualClock, manualClock } from '../../../testing/harness/manual-clock.ts';
import { keyFileOf, type TestService } from '../../../testing/harness/service.ts';
import { type Receiver, respondWith, startReceiver } from '../../../testing/integrations/hook-receiver.ts';
import type { Hook, HookProgress } from '../../src/hooks/store.ts';
import { startWith, storedHook, subscribe, ZAPIER_URL } from '../hooks/support/hooks.ts';
import { type RunOptions, terminal } from './terminal.ts';

/** A service that may send events to a receiver, and commands on its database, with its settings and its clock. */
async function installation() {
  const clock = manualClock();
  const receiver = await startReceiver();
  const service = await startWith(receiver, { clock });
  const shell = terminal();
  const run = (command: string | readonly string[], options: RunOptions = {}) => {
    const settings = {
      LEADTAP_HOOK_HOSTS: receiver.origin,
      LEADTAP_SIGNING_KEY_FILE: keyFileOf(service),
      LEADTAP_METRICS_ADDRESS: new URL(service.statusUrl).host,
    };
    const env = { ...service.database.env, ...settings, ...options.env };
    return shell.run(command, { ...options, env, parts: { clock, ...options.parts } });
  };
  return { clock, receiver, service, run };
}

const iso = (ms: number): string => new Date(ms).toISOString();

/** As after attempts of the service. */
async function change(service: TestService, id: string, changes: Partial<HookProgress>): Promise<void> {
  const claimed = await storedHook(service, id);
  await service.store.hooks.settle([{ claimed, progress: { ...claimed, ...changes } }]);
}

/** Without the time of the next examination, which the service sets. */
const progressOf = ({ checkAt: _, ...progress }: Hook) => progress;

const failing = (clock: ManualClock): Partial<HookProgress> => ({
  ...{ failures: 3, failingSince: clock() - 60_000, lastEventAt: clock() - 60_000, lastStatus: 500 },
  ...{ notBefore: clock() + 120_000, checkAt: clock() + 120_000 },
});

const disabled = (clock: ManualClock): Partial<HookProgress> => ({
  ...failing(clock),
  ...{ disabledAt: clock(), checkAt: null },
});

describe('leadtap hooks list', () => {
  test('shows state, last event and next attempt, and the host instead of the secret URL', async () => {
    const { clock, service, run } = await installation();
    const expiresAt = clock() + 90 * 86_400_000;
    const issued = { issuedAt: clock(), expiresAt, scopes: ['leads:read'] as const };
    await service.store.recordTokens([{ id: 'token-1', userId: 'boss', name: 'Zapier', ...issued }]);
    const boss = await service.token('boss', { tokenId: 'token-1' });
    const first = await subscribe(service, boss, ZAPIER_URL, '2026-03-01T00:00:00Z');
    const other = await service.token('rival', { tokenId: 'token-2' });
    const second = await subscribe(
      service,
      other,
      'https://hook.eu1.make.com/secret-of-make',
      undefined,
      'lead',
    );
    await change(service, first.id, failing(clock));
    const listed = await run('hooks list --json');
    expect(JSON.parse(listed.stdout)).toEqual(
      [
        {
          ...{ id: first.id, companyId: 'acme', userId: 'boss', tokenId: 'token-1', name: 'Zapier' },
          ...{
            host: 'hooks.zapier.com',
            send: 'event',
            state: 'failing',
            isPending: false,
            pendingReason: null,
          },
          createdAt: iso(clock()),
          ...{ announcedThrough: '2026-03-01T00:00:00.000Z', lastEventAt: iso(clock() - 60_000) },
          ...{ lastStatus: 500, failures: 3, failingSince: iso(clock() - 60_000) },
          retryAt: iso(clock() + 120_000),
        },
        {
          ...{ id: second.id, companyId: 'globex', userId: 'rival', tokenId: 'token-2', name: null },
          ...{
            host: 'hook.eu1.make.com',
            send: 'lead',
            state: 'active',
            isPending: false,
            pendingReason: null,
          },
          createdAt: iso(clock()),
          ...{ announcedThrough: second.since, lastEventAt: null, lastStatus: null },
          ...{ failures: 0, failingSince: null, retryAt: null },
        },
      ].sort((a, b) => (a.id < b.id ? -1 : 1)),
    );
    const { code, stdout, stderr } = await run('hooks list --user boss');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
      [
        ...['ID', 'STATE', 'STATUS', 'LEADS', 'HOST', 'RETRY', 'SEND', 'LAST EVENT'],
        ...['USER', 'NAME', 'COMPANY', 'ANNOUNCED THROUGH', 'FAILURES'],
      ],
      [
        ...[first.id, 'failing', '500', 'announced', 'hooks.zapier.com', 'in 2 min', 'event', '1 min ago'],
        ...['boss', 'Zapier', 'acme', '2026-03-01T00:00:00.000Z', '3'],
      ],
      [''],
    ]);
    for (const text of [listed.stdout, stdout]) expect(text).not.toMatch(/standard|secret-of-make|https:/);
    expect(JSON.parse((await run('hooks list --company globex --json')).stdout)).toMatchObject([
      { id: second.id },
    ]);
  });

  test('shows which of them have leads that were not announced', async () => {
    const { clock, service, run } = await installation();
    const hook = await subscribe(service, await service.token('boss'), ZAPIER_URL);
    await change(service, hook.id, disabled(clock));
    await service.add({});
    expect(JSON.parse((await run('hooks list --json')).stdout)).toMatchObject([
      { state: 'disabled', isPending: true, retryAt: null },
    ]);
    expect((await run('hooks list')).stdout).toMatch(/ {2}disabled +500 +pending {2}/);
  });

  test('a failing one of a user whose plan does not allow polls is not sent again', async () => {
    const { clock, service, run } = await installation();
    const hook = await subscribe(service, await service.token('boss'), ZAPIER_URL);
    await service.store.updateUser('boss', { plan: 'BASIC' });
    await service.add({});
    await change(service, hook.id, { ...failing(clock), notBefore: clock() - 1000, checkAt: null });
    expect(JSON.parse((await run('hooks list --json')).stdout)).toMatchObject([
      { state: 'failing', isPending: true, pendingReason: 'plan BASIC', retryAt: null },
    ]);
  });

  test.each([
    [
      { LEADTAP_METRICS_ADDRESS: '127.0.0.1:1' },
      'no service',
      'No service runs: none answers at 127.0.0.1:1',
    ],
    [{}, 'host not allowed', 'of the service that runs lacks n8n.example.com'],
  ])('has the reason beside leads that are pending: with %o it is %s', async (env, reason, message) => {
    const { service, run } = await installation();
    const hosts = { LEADTAP_HOOK_HOSTS: 'n8n.example.com', LEADTAP_PUBLIC_URL: service.url };
    const url = 'https://n8n.example.com/webhook/1';
    await run(`hooks add --user boss --url ${url}`, { env: hosts });
    expect((await run('hooks list')).stdout).toMatch(/ sent {2}/);
    await service.add({});
    const { stdout, stderr } = await run('hooks list', { env });
    expect(stdout).toContain(` pending: ${reason}  n8n.example.com `);
    expect(stderr).toContain(message);
  });

  test('says what to do if there is none, and that events are switched off', async () => {
    const { run } = await installation();
    const { code, stdout, stderr } = await run('hooks list');
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
    expect(stderr).toMatch(/^There is no webhook subscription\. `leadtap hooks add` creates one/);
    expect((await run('hooks list --json')).stdout).toBe('[]\n');
    const off = await run('hooks list', { env: { LEADTAP_HOOKS: 'off' } });
    expect(off.stderr).toContain('LEADTAP_HOOKS is off: no events are sent.');
  });
});

describe('leadtap hooks remove', () => {
  test('deletes a subscription, and says so if there is none', async () => {
    const { service, run } = await installation();
    const { id, since } = await subscribe(service, await service.token('boss'), ZAPIER_URL);
    const { code, stdout, stderr } = await run(`hooks remove ${id} --json`);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(JSON.parse(stdout)).toEqual({
      ...{ id, userId: 'boss', url: ZAPIER_URL, send: 'event', name: null, since },
    });
    expect(await service.store.hooks.find(id)).toBeUndefined();
    expect(await run(`hooks remove ${id}`)).toMatchObject({ code: 1 });
  });

  test('prints a command for a shell that goes on from its position', async () => {
    const { receiver, service, run } = await installation();
    await service.add({ id: 'before' });
    const url = `${receiver.url}?a=$(b)&c=d`;
    const name = String.raw`It's \ $HOME; leadtap x`;
    const { id, since } = JSON.parse(
      (await run(['hooks', 'add', '--user', 'boss', '--url', url, '--name', name, '--json'])).stdout,
    );
    receiver.respond = respondWith(503);
    await service.add({ id: 'after' });
    await receiver.event(1);
    const { stderr } = await run(`hooks remove ${id}`, { parts: { invocation: 'npx leadtap' } });
    const [, command = ''] =
      /^Deleted\. Nothing more is sent to 127\S+\.\nTo continue after \S+Z, run:\n {2}npx leadtap (.+)\n$/.exec(
        stderr,
      ) ?? [];
    const { stdout } = await promisify(execFile)('bash', ['-c', `printf '%s\\n' ${command}`]);
    const printed = stdout.trimEnd().split('\n');
    expect(printed).toEqual([
      ...['hooks', 'add', '--user', 'boss', '--url', url, '--name', name, '--since', since],
    ]);
    receiver.respond = respondWith(200);
    const events = receiver.events.length;
    expect((await run(printed)).code).toBe(0);
    expect(JSON.parse((await receiver.event(events + 1)).text)).toMatchObject({ id: 'after' });
  });
});

describe('leadtap hooks send-test', () => {
  const subscribed = async (service: TestService, { url }: Receiver) =>
    subscribe(service, await service.token('boss'), url);

  test('sends a signed event that announces no lead, and changes nothing of an active one', async () => {
    const { clock, service, receiver, run } = await installation();
    await service.add({});
    const hook = await subscribed(service, receiver);
    const before = await storedHook(service, hook.id);
    const { code, stderr } = await run(`hooks send-test ${hook.id}`);
    const { host } = new URL(receiver.url);
    expect({ code, stderr }).toEqual({ code: 0, stderr: `${host} accepted the event with status 200.\n` });
    const { event, text, headers } = await receiver.event(1);
    expect(event).toEqual({
      type: 'leads.available',
      timestamp: iso(clock()),
      data: {
        hookId: hook.id,
        ...{ since: hook.since, through: hook.since },
        poll: `${service.url}/automation/new-leads?since=${hook.since}&limit=100`,
      },
    });
    const signature = new Webhook(hook.secret).sign(String(headers['webhook-id']), new Date(clock()), text);
    expect(headers['webhook-signature']).toBe(signature);
    expect(await (await service.poll('boss', event.data.poll.split('?')[1])).json()).toEqual([]);
    expect(progressOf(await storedHook(service, hook.id))).toEqual(progressOf(before));
  });

  test('sends a test lead that is not stored to one that sends leads', async () => {
    const { service, receiver, run } = await installation();
    await service.add({});
    const token = await service.token('boss');
    const lead = await subscribe(service, token, receiver.url, undefined, 'lead');
    const { code, stderr } = await run(`hooks send-test ${lead.id}`);
    expect([code, stderr]).toEqual([0, expect.stringContaining(' accepted the test lead with status 200.')]);
    const { text } = await receiver.event(1);
    expect([...Errors(Lead, JSON.parse(text))]).toEqual([]);
    expect(JSON.parse(text)).toMatchObject({ id: expect.stringMatching(/^test-/), fullName: 'Test Lead' });
    expect((await storedHook(service, lead.id)).announcedThrough).toBe(Date.parse(lead.since));
    expect(await service.leads('boss', `since=${lead.since}`)).toEqual([]);
  });

  test.each(['failing', 'disabled'] as const)(
    'a %s one that accepts it is active again, and the service announces what is pending',
    async (state) => {
      const { clock, service, receiver, run } = await installation();
      const { id } = await subscribed(service, receiver);
      await change(service, id, state === 'failing' ? failing(clock) : disabled(clock));
      const [createdAt = 0] = await service.add({});
      const { code, stderr } = await run(`hooks send-test ${id}`);
      expect(code).toBe(0);
      expect(stderr).toContain(`The subscription was ${state} and is active again.`);
      expect((await receiver.event(2)).event.data.through).toBe(iso(createdAt));
      expect(await storedHook(service, id)).toMatchObject({
        failures: 0,
        failingSince: null,
        disabledAt: null,
      });
    },
  );

  test.each([
    [500, 'did not accept the test: it answered with status 500', 'is running and accepts the request'],
    [302, 'did not accept the test: it answered with status 302', 'Redirects are not followed.'],
    [
      401,
      'did not accept the test: it answered with status 401: No access.',
      'Set the authentication of its',
    ],
    [410, 'answered with status 410: the automation does not exist any more', 'leadtap hooks remove '],
  ])('says what a receiver that answers with %i means', async (status, message, fix) => {
    const { service, receiver, run } = await installation();
    const { id } = await subscribed(service, receiver);
    const before = await storedHook(service, id);
    receiver.respond = (response) =>
      response
        .writeHead(status, { location: `${receiver.origin}/other` })
        .end(status === 401 ? 'No access.' : '');
    const { code, stderr } = await run(`hooks send-test ${id}`);
    expect(code).toBe(1);
    expect(stderr).toContain(`leadtap: ${new URL(receiver.url).host} ${message}`);
    expect(stderr).toContain(fix);
    expect(receiver.events).toHaveLength(1);
    expect(await storedHook(service, id), 'a test is no failure of the subscription').toMatchObject(
      progressOf(before),
    );
  });

  test('says that a receiver is unreachable, that its host is not allowed, and that there is no such id', async () => {
    const { service, receiver, run } = await installation();
    const { id } = await subscribed(service, receiver);
    const forbidden = await run(`hooks send-test ${id}`, { env: { LEADTAP_HOOK_HOSTS: '' } });
    expect(forbidden.code).toBe(1);
    expect(forbidden.stderr).toContain('LEADTAP_HOOK_HOSTS');
    expect(receiver.events).toEqual([]);
    receiver.respond = (response) => response.destroy();
    const unreachable = await run(`hooks send-test ${id}`);
    expect(unreachable.code).toBe(1);
    expect(unreachable.stderr).toContain('cannot be reached');
    expect(await run('hooks send-test unknown')).toMatchObject({ code: 1 });
  });
});
