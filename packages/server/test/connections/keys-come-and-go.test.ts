import type { Lead } from '@leadtap/contract';
import { expect, it } from 'vitest';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { keyFileOf, startService } from '../../../testing/harness/service.ts';
import { terminal } from '../cli/terminal.ts';

const MINUTE_MS = 60_000;

interface Issued {
  readonly token: string;
  readonly tokenId: string;
}

/** A service, and commands on its database. */
async function installation() {
  const clock = manualClock();
  const service = await startService({ clock });
  const env = { ...service.database.env, LEADTAP_SIGNING_KEY_FILE: keyFileOf(service) };
  const shell = terminal();
  const run = async (command: string, isTTY = false) => {
    await service.service.connections.flush();
    return shell.run(command, { env, parts: { clock }, isTTY });
  };
  const issue = async (command: string): Promise<Issued> => {
    const { stdout, stderr } = await run(`${command} --json`);
    if (stdout === '') throw new Error(stderr);
    return JSON.parse(stdout);
  };
  const rows = async () => {
    const { stdout } = await run('connections --json');
    const listed: readonly Record<string, unknown>[] = JSON.parse(stdout);
    return listed.map(({ name, state, message, waiting }) => ({ name, state, message, waiting }));
  };
  /** A poller that follows `Link`. */
  const poller = () => {
    let link = `${service.url}/automation/new-leads?since=2000-01-01`;
    return async ({ token }: Pick<Issued, 'token'>) => {
      clock.advance(MINUTE_MS);
      const response = await fetch(link, { headers: { authorization: `Bearer ${token}` } });
      link = /<(.*)>/.exec(response.headers.get('link') ?? '')?.[1] ?? link;
      const leads = response.ok ? ((await response.json()) as Lead[]) : [];
      return `${response.status} ${leads.map(({ id }) => id).join()}`;
    };
  };
  const send = async ({ token }: Issued, fullName: string) => {
    const response = await fetch(`${service.url}/leads`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ fullName }),
    });
    return response.status;
  };
  return { clock, service, run, issue, rows, poller, send };
}

async function workingPoller(flags = ' --name CRM') {
  const world = await installation();
  const old = await world.issue(`token issue --user boss${flags}`);
  const poll = world.poller();
  for (let number = 0; number < 4; number += 1) {
    await world.service.add({ id: `l${number}` });
    await poll(old);
  }
  return { ...world, old, poll };
}

it('a token that polls ends when the new one is first used, and its connection goes on', async () => {
  const { service, issue, rows, poll, old } = await workingPoller();
  const renewed = await issue('token renew CRM');
  await service.add({ id: 'between' });
  expect(await poll(old)).toBe('200 between');
  await service.add({ id: 'after' });
  expect(await poll(renewed)).toBe('200 after');
  await service.service.connections.flush();
  expect(await poll(old)).toBe('401 ');
  expect(await rows()).toMatchObject([{ name: 'CRM', state: 'working', message: '6 sent', waiting: 0 }]);
});

it('a new token that is never used changes nothing', async () => {
  const { service, issue, rows, poll, old } = await workingPoller();
  await issue('token renew CRM');
  await service.add({ id: 'more' });
  for (const expected of ['200 more', '200 ', '200 ']) expect(await poll(old)).toBe(expected);
  expect(await rows()).toMatchObject([{ name: 'CRM', state: 'working', message: '5 sent' }]);
});

it('a token without a name keeps its connection, too', async () => {
  const { rows, issue, poll, service, run } = await workingPoller('');
  const [before] = await rows();
  const { stdout } = await run('token list --user boss --json');
  const [{ tokenId }] = JSON.parse(stdout);
  const renewed = await issue(`token renew ${tokenId}`);
  await service.add({ id: 'more' });
  expect(await poll(renewed)).toBe('200 more');
  expect(await rows()).toMatchObject([{ name: before?.name, message: '5 sent' }]);
});

it('a token that sends leads works until it is revoked, and its row says that it is still used', async () => {
  const { clock, issue, send, rows, run, poller } = await installation();
  const old = await issue('token issue --user boss --name form --scope leads:write --scope leads:read');
  expect(await send(old, 'Ada')).toBe(201);
  const renewed = await issue('token renew form');
  expect(await send(renewed, 'Bo')).toBe(201);
  expect(await poller()(renewed)).toMatch(/^200 /);
  expect(await send(old, 'Cy')).toBe(201);
  await rows();
  clock.advance(40_000);
  const said = expect.objectContaining({ name: 'form', message: '3 new, the old key was used 40 s ago' });
  expect(await rows()).toContainEqual(said);
  await run(`token revoke ${old.tokenId}`);
  expect(await send(old, 'Di')).toBe(401);
  expect(await send(renewed, 'Ed')).toBe(201);
});

it('a token of a name that is used already is one more key, and this is said', async () => {
  const { run } = await workingPoller();
  expect((await run('token issue --user boss --name CRM')).stderr).toContain(
    'CRM has a token already: this is one more, and nothing else changes.',
  );
  expect((await run('token issue --user boss --name Slack')).stderr).toBe('');
});

it('renew refuses what is not clear', async () => {
  const { run, issue } = await workingPoller();
  expect(await run('token renew Unknown')).toMatchObject({ code: 1 });
  await issue('token issue --user north-lead --name CRM');
  expect((await run('token renew CRM')).stderr).toContain('Give --user.');
  await issue('token issue --user boss --name CRM --scope leads:write');
  expect((await run('token renew CRM --user boss')).stderr).toContain('with different rights');
});

it('what waits for a token that is revoked is said, and stays owed unless it is handled', async () => {
  const { service, run, rows, old } = await workingPoller();
  await service.add({ id: 'w1' }, { id: 'w2' });
  const { stderr } = await run(`token revoke ${old.tokenId}`);
  expect(stderr).toContain('CRM: stopped on Monday, 2 wait, safe: its key was revoked.');
  expect(stderr).toContain('leadtap leads export --owed CRM');
  expect(await rows()).toMatchObject([{ name: 'CRM', state: 'ended', waiting: 2 }]);
});

it('a new token of the same name after the end may ask otherwise: what it is sent is sent', async () => {
  const { service, clock, run, rows, issue, old } = await workingPoller();
  await service.add({ id: 'w1' }, { id: 'w2' });
  await run(`token revoke ${old.tokenId}`);
  const { token } = await issue('token issue --user boss --name CRM');
  clock.advance(MINUTE_MS);
  const response = await fetch(`${service.url}/automation/new-leads`, {
    headers: { authorization: `Bearer ${token}` },
  });
  expect(((await response.json()) as Lead[]).map(({ id }) => id)).toEqual(
    expect.arrayContaining(['w1', 'w2']),
  );
  expect(await rows()).toMatchObject([{ name: 'CRM', message: '6 sent', waiting: 0 }]);
});

it('a token that was tried once owes nothing when it is revoked', async () => {
  const { service, run, rows, issue, poller } = await installation();
  const tried = await issue('token issue --user boss --name curl');
  await poller()(tried);
  await service.add({ id: 'w1' });
  expect(await rows()).toMatchObject([{ name: 'curl', state: 'new', waiting: 1 }]);
  expect((await run(`token revoke ${tried.tokenId}`)).stderr).toBe('');
  expect(await rows()).toEqual([]);
  const scope = { level: 'COMPANY', companyId: 'acme' } as const;
  expect(await service.store.connections.findLead('acme', 'w1', scope)).toMatchObject([{ state: 'none' }]);
});

it('--handled settles what is owed at the removal of a token and of a user', async () => {
  const { service, run, rows, old } = await workingPoller();
  await service.add({ id: 'w1' });
  expect((await run(`token revoke ${old.tokenId} --handled`)).stdout).toContain(
    'What CRM is owed is marked as handled.',
  );
  expect(await rows()).toEqual([]);
});

it('a user who is removed leaves what is owed to it, unless it is handled', async () => {
  const { service, run, rows } = await workingPoller();
  await service.add({ id: 'w1' });
  const { stdout, stderr } = await run('user remove boss');
  expect(stdout).toContain('User boss was removed');
  expect(stderr).toContain('CRM: stopped on Monday, 1 not received');
  expect(await rows()).toMatchObject([{ name: 'CRM', state: 'ended' }]);
});

it('leads that are pruned while they wait are said, unless this is handled', async () => {
  const { clock, service, run, rows } = await workingPoller();
  await service.add({ id: 'w1' });
  clock.advance(3 * 1440 * MINUTE_MS);
  const { stderr } = await run('leads prune --older-than 2d --yes');
  expect(stderr).toContain('1 deleted by age before sent');
  expect(await rows()).toMatchObject([{ name: 'CRM', message: expect.stringContaining('1 deleted by age') }]);
});
