import { Webhook } from 'standardwebhooks';
import { describe, expect, test } from 'vitest';
import { isRevoked } from '../../../store-conformance/src/sample.ts';
import { keyFileOf } from '../../../testing/harness/service.ts';
import { startReceiver } from '../../../testing/integrations/hook-receiver.ts';
import { hooksRequest, startWith, subscribe } from '../hooks/support/hooks.ts';
import { NOW, type RunOptions, terminal, terminalWithUsers } from './terminal.ts';

const CATCH_HOOK = 'https://hooks.zapier.com/hooks/catch/1/a';

interface Added {
  readonly id: string;
  readonly send: string;
  readonly since: string;
  readonly secret: string;
  readonly tokenId: string;
  readonly token?: string;
}

/** A service that may send to a receiver, and commands on its database. */
async function installation() {
  const receiver = await startReceiver();
  const service = await startWith(receiver);
  const shell = terminal();
  const run = (command: string, options: RunOptions = {}) =>
    shell.run(command, {
      ...options,
      env: {
        ...service.database.env,
        LEADTAP_HOOK_HOSTS: receiver.origin,
        LEADTAP_SIGNING_KEY_FILE: keyFileOf(service),
        LEADTAP_PUBLIC_URL: service.url,
        LEADTAP_METRICS_ADDRESS: new URL(service.statusUrl).host,
        ...options.env,
      },
      parts: { clock: Date.now, ...options.parts },
    });
  const add = async (options: string): Promise<Added> =>
    JSON.parse((await run(`hooks add --user boss --url ${receiver.url} --json${options}`)).stdout);
  return { receiver, service, run, add };
}

describe('leadtap hooks add', () => {
  test('a service that runs sends each new lead, signed, and `hooks remove` ends it with its token', async () => {
    const { receiver, service, run, add } = await installation();
    await service.add({ id: 'before' });
    const { id, secret, tokenId } = await add('');
    await service.add({ id: 'after' });
    const { headers, text } = await receiver.event(1);
    const lead = new Webhook(secret).verify(text, headers as Record<string, string>);
    expect(lead).toEqual((await service.leads('boss', 'limit=1'))[0]);
    expect(lead).toMatchObject({ id: 'after' });
    const removed = await run(`hooks remove ${id}`);
    expect(removed.code).toBe(0);
    expect(await service.store.hooks.find(id)).toBeUndefined();
    expect(await isRevoked(service.store, tokenId)).toBe(true);
  });

  test('a request with any token of its user ends it with its token, too', async () => {
    const { service, add } = await installation();
    const { id, tokenId } = await add('');
    const token = await service.token('boss', { tokenId: 'other' });
    expect((await hooksRequest(service, token, { path: `/${id}`, method: 'DELETE' })).status).toBe(204);
    expect(await service.store.hooks.find(id)).toBeUndefined();
    expect(await isRevoked(service.store, tokenId)).toBe(true);
  });

  test('--since sends earlier leads, too', async () => {
    const { receiver, service, add } = await installation();
    for (const id of ['a', 'b']) await service.add({ id });
    expect(await add(' --since 1d')).toMatchObject({ send: 'lead' });
    await receiver.event(2);
    expect(receiver.events.map(({ text }) => JSON.parse(text).id)).toEqual(['a', 'b']);
  });

  test('--send event also prints the token that the receiver polls with', async () => {
    const { receiver, service, add } = await installation();
    const { token = '', id } = await add(' --send event');
    await service.add({ id: 'a' });
    const { event } = await receiver.event(1);
    expect(event).toMatchObject({ type: 'leads.available', data: { hookId: id } });
    expect(event.data.poll.startsWith(`${service.url}/automation/new-leads?since=`)).toBe(true);
    const polled = await fetch(event.data.poll, { headers: { authorization: `Bearer ${token}` } });
    expect(await polled.json()).toMatchObject([{ id: 'a' }]);
  });

  test('the same again is the same subscription; another user, URL or --send is another', async () => {
    const { run } = await terminalWithUsers();
    const add = async (options: string): Promise<Added> =>
      JSON.parse((await run(`hooks add --json ${options}`)).stdout);
    const first = await add(`--user boss --url ${CATCH_HOOK}`);
    expect(await add(`--user boss --url ${CATCH_HOOK} --since 2020-01-01`)).toEqual(first);
    const others = [
      await add(`--user boss --url ${CATCH_HOOK}b`),
      await add(`--user boss --url ${CATCH_HOOK} --send event`),
      await add(`--user rival --url ${CATCH_HOOK}`),
    ];
    expect(new Set([first, ...others].map(({ id }) => id)).size).toBe(4);
  });

  test('--since of one that exists is not used, and the commands that replay are printed', async () => {
    const { service, receiver, run, add } = await installation();
    for (const id of ['a', 'b']) await service.add({ id });
    const { id, since } = await add('');
    const replay = `hooks add --user boss --url ${receiver.url} --since 2026-03-01T00:00:00.000Z`;
    for (const json of ['', ' --json']) {
      const same = await run(`hooks add --user boss --url ${receiver.url} --since 2026-03-01${json}`);
      expect(same.stdout).toMatch(new RegExp(`\\bsince"?:? +"?${since}`));
      expect(same.stderr).toContain(`  leadtap hooks remove ${id}\n  leadtap ${replay}\n`);
    }
    expect(receiver.events).toHaveLength(0);
    await run(`hooks remove ${id}`);
    await run(replay);
    await receiver.event(2);
    expect(receiver.events.map(({ text }) => JSON.parse(text).id)).toEqual(['a', 'b']);
  });

  test('the same twice at once is one subscription, with one token', async () => {
    const { service, add } = await installation();
    const [one, other] = await Promise.all([add(' --send event'), add(' --send event')]);
    expect(one?.id).toBe(other?.id);
    expect([one?.token, other?.token].filter(Boolean)).toHaveLength(1);
    expect(await service.store.hooks.list({ now: 0, limit: 9 })).toHaveLength(1);
  });

  test('it prints what to keep, and the commands to see a lead arrive and to end it', async () => {
    const { run } = await terminalWithUsers();
    const { code, stdout, stderr } = await run(
      `hooks add --user boss --url ${CATCH_HOOK} --since 2026-03-01`,
      {
        parts: { invocation: 'npx leadtap' },
      },
    );
    expect(code).toBe(0);
    const [, id] =
      /^id {6}([0-9a-f]{32})\nsince {3}2026-03-01T00:00:00\.000Z\nsecret {2}whsec_\S+\n$/.exec(stdout) ?? [];
    expect(stderr).toContain('is sent to hooks.zapier.com.\n');
    expect(stderr).toContain(`  npx leadtap hooks send-test ${id}\n`);
    expect(stderr).toContain(`  npx leadtap hooks remove ${id}\n`);
    const tokens = JSON.parse((await run('token list --user boss --json')).stdout);
    const expiresAt = new Date(Math.floor(NOW / 1000) * 1000 + 3650 * 86_400_000).toISOString();
    expect(tokens).toMatchObject([{ name: 'hooks.zapier.com', scopes: ['leads:read'], expiresAt }]);
    await run(`hooks add --user boss --url ${CATCH_HOOK}b --name Catch`);
    expect((await run('hooks list')).stdout).toMatch(/ Catch /);
  });

  test('the same URL with another name is the same subscription, renamed', async () => {
    const { run } = await terminalWithUsers();
    const add = async (options = '') =>
      JSON.parse((await run(`hooks add --json --user boss --url ${CATCH_HOOK}${options}`)).stdout);
    const nameAndId = async () =>
      JSON.parse((await run('hooks list --json')).stdout).map(({ id, name }: Record<string, string>) => [
        id,
        name,
      ]);
    const { id } = await add();
    expect(await nameAndId()).toEqual([[id, 'hooks.zapier.com']]);
    await add(' --name Sales');
    await add();
    expect(await nameAndId()).toEqual([[id, 'Sales']]);
    expect(await run(`hooks add --user boss --url ${CATCH_HOOK} --name ${'x'.repeat(101)}`)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--name must have at most 100 characters, not 101'),
    });
  });

  test.each([
    ['--user unknown', CATCH_HOOK, {}, 1, 'there is no user unknown'],
    ['--user boss', CATCH_HOOK, { LEADTAP_HOOKS: 'off' }, 1, 'webhooks are switched off'],
    ['--user boss', `${CATCH_HOOK}#x`, {}, 1, 'contains a fragment'],
    ['--user boss', 'ftp://hooks.zapier.com/a', {}, 1, 'does not begin with https://'],
    ['--user boss', 'http://hooks.zapier.com/hooks/catch/1/a', {}, 1, 'Write https://hooks.zapier.com'],
    ['--user boss', 'nonsense', {}, 1, 'is not a URL'],
    ['--user boss --send leads', CATCH_HOOK, {}, 2, 'event, lead'],
    ['--user boss --since 2099-01-01', CATCH_HOOK, {}, 2, 'is in the future'],
    ['--user boss --since never', CATCH_HOOK, {}, 2, 'Write a time'],
    ['--user boss', 'https://crm.example.com/in', {}, 1, '\n  LEADTAP_HOOK_HOSTS=crm.example.com\n'],
    [
      '--user boss',
      'http://127.0.0.1:9999/in',
      { LEADTAP_HOOK_HOSTS: 'n8n.example.com' },
      1,
      '\n  LEADTAP_HOOK_HOSTS=n8n.example.com,http://127.0.0.1:9999\n',
    ],
    ['--user boss', 'https://[::1]:8443/in', {}, 1, '\n  LEADTAP_HOOK_HOSTS=https://[::1]:8443\n'],
  ])('%s --url %s with %o is refused', async (options, url, env, code, message) => {
    const { run } = await terminalWithUsers();
    const ran = await run(`hooks add ${options} --url ${url}`, { env });
    expect(ran).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(message) });
    const [, setting] = /LEADTAP_HOOK_HOSTS=(\S+)/.exec(ran.stderr) ?? [];
    if (setting === undefined) return;
    const again = await run(`hooks add ${options} --url ${url}`, { env: { LEADTAP_HOOK_HOSTS: setting } });
    expect(again.code).toBe(0);
  });

  test('at most 20 of a user; a plan without polls is said', async () => {
    const { run } = await terminalWithUsers();
    for (let number = 1; number <= 20; number += 1)
      expect((await run(`hooks add --user boss --url ${CATCH_HOOK}${number}`)).code).toBe(0);
    expect(await run(`hooks add --user boss --url ${CATCH_HOOK}`)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('user boss has 20 webhook subscriptions'),
    });
    await run('user set rival --plan BASIC');
    expect((await run(`hooks add --user rival --url ${CATCH_HOOK}`)).stderr).toContain(
      'The plan of rival is BASIC, so nothing is sent.',
    );
  });
});

describe('a command says at once what keeps the service that runs from it', () => {
  const OTHER_HOSTS = { LEADTAP_HOOK_HOSTS: 'n8n.example.com' };
  test.each([
    ['nothing', {}, /^(?!.*The service that runs|.*No service runs)/s],
    [
      'no service',
      { LEADTAP_METRICS_ADDRESS: '127.0.0.1:1' },
      /^No service runs: none answers at 127\.0\.0\.1:1 .+`leadtap serve`/m,
    ],
    [
      'its hosts',
      OTHER_HOSTS,
      /^LEADTAP_HOOK_HOSTS of the service that runs lacks n8n\.example\.com\..+restart/m,
    ],
  ])('%s', async (_name, env, message) => {
    const { receiver, run } = await installation();
    const url = env === OTHER_HOSTS ? 'https://n8n.example.com/a' : receiver.url;
    const added = await run(`hooks add --user boss --url ${url}`, { env });
    expect(added).toMatchObject({ code: 0, stderr: expect.stringMatching(message) });
    if (env === OTHER_HOSTS) return;
    for (const command of ['leads send-test --company acme', 'open --user boss'])
      expect(await run(command, { env })).toMatchObject({ code: 0, stderr: expect.stringMatching(message) });
  });

  test('another database', async () => {
    const { service } = await installation();
    const { run } = await terminalWithUsers();
    const env = { LEADTAP_METRICS_ADDRESS: new URL(service.statusUrl).host };
    for (const command of [
      `hooks add --user boss --url ${CATCH_HOOK}`,
      'leads send-test --company acme',
      'open --user boss',
    ])
      expect((await run(command, { env })).stderr).toContain('The service that runs uses another database: ');
  });
});

test('one of another token is not taken for it, and keeps its token when it is removed', async () => {
  const { service, receiver, run, add } = await installation();
  const token = await service.token('boss', { tokenId: 'token-1' });
  const { id, since } = await subscribe(service, token, receiver.url);
  const refused = await run(`hooks add --user boss --url ${receiver.url} --send event`);
  expect(refused).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`the command that it prints:\n    leadtap hooks remove ${id}\n`),
  });
  expect(await run(`hooks remove ${id}`)).toMatchObject({
    code: 0,
    stderr: expect.stringContaining(`--send event --since ${since}\n`),
  });
  // It works: 404 for the hook, not 401.
  expect((await hooksRequest(service, token, { path: `/${id}` })).status).toBe(404);
  expect(await add(` --send event --since ${since}`)).toMatchObject({ since });
});
