import type { ConnectionLog, Connections, LeadConnections, OutConnection } from '@leadtap/contract';
import { expect, it, vi } from 'vitest';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { issuedToken } from '../../../testing/harness/organisation.ts';
import { respondWith, startReceiver } from '../../../testing/integrations/hook-receiver.ts';
import { hooksRequest, postHook, startWith, storedHook, subscribe } from '../hooks/support/hooks.ts';
import { idOf, leadOf } from '../hooks/support/lead-receiver.ts';

const HOUR_MS = 3_600_000;
/** Less than a claim, 15 seconds, in all waits for a request. */
const PACE = { interval: 100, stepMs: 200 };

/** A webhook that sends leads, the receiver of its leads, and what a user with level COMPANY reads of it. */
async function startWorld(userId = 'boss') {
  const clock = manualClock();
  const receiver = await startReceiver();
  const service = await startWith(receiver, { clock });
  const tokenId = 'token-of-the-webhook';
  const token = await service.token(userId, { tokenId, expiresInMs: 1e10 });
  const headers = { authorization: `Bearer ${await service.token('boss', { expiresInMs: 1e10 })}` };
  const { connections } = service.service;
  const ask = async <T>(path = '', body?: unknown, method = body === undefined ? 'GET' : 'POST') => {
    await connections.flush();
    const json = { ...headers, 'content-type': 'application/json' };
    const init =
      body === undefined ? { headers, method } : { headers: json, method, body: JSON.stringify(body) };
    const response = await fetch(`${service.url}/automation/connections${path}`, init);
    const text = await response.text();
    return (text === '' ? undefined : JSON.parse(text)) as T;
  };
  const list = async () => (await ask<Connections>()).out;
  /** The only one. */
  const row = async (): Promise<OutConnection> => {
    const [first, ...others] = await list();
    expect(others).toEqual([]);
    if (!first) throw new Error('there is no connection');
    return first;
  };
  /** Lets time pass until it holds. */
  const until = (holds: () => Promise<void> | void) =>
    vi.waitFor(async () => {
      clock.advance(PACE.stepMs);
      await holds();
    }, PACE);
  const sent = () => receiver.events.map((event) => leadOf(event).id);
  const expectSent = (...ids: readonly string[]) => until(() => expect(sent()).toEqual(ids));
  const stateOf = async (id: string) =>
    (await ask<LeadConnections>(`?lead=${id}`)).out.map(({ state }) => state);
  const audit = async (times = 3) => {
    for (let run = 0; run < times; run += 1) {
      clock.advance(60_000);
      await connections.audit();
    }
  };
  const webhook = (path = '', since?: string) =>
    subscribe(service, token, `${receiver.url}${path}`, since, 'lead');
  const remove = (id: string) => hooksRequest(service, undefined, { path: `/${id}`, method: 'DELETE' });
  /** The receiver refuses, and this lead waits. */
  const addRefused = async (...ids: readonly string[]) => {
    receiver.respond = respondWith(500);
    const before = receiver.events.length;
    await service.add(...ids.map((id) => ({ id })));
    await until(async () => {
      expect(receiver.events.length).toBeGreaterThan(before);
      expect((await row()).waiting).toBe(ids.length);
    });
  };
  const accept = () => {
    receiver.events.splice(0);
    receiver.respond = respondWith(200);
  };
  return {
    ...{ clock, receiver, service, connections, token, tokenId, ask, list, row, until, sent },
    ...{ expectSent, stateOf, audit, webhook, remove, addRefused, accept },
  };
}

it('a webhook that sends leads is a connection: new, then working with its first 2xx', async () => {
  const { service, receiver, webhook, row, until, expectSent, ask, stateOf } = await startWorld();
  await service.add({ id: 'before' });
  await webhook();
  expect(await row()).toMatchObject({
    ...{ kind: 'webhook', state: 'new', level: 'unknown', sent: 0, waiting: 0 },
    ...{ name: new URL(receiver.url).host, host: new URL(receiver.url).host },
  });
  receiver.respond = (response) => response.end('{"status":"error"}');
  await service.add({ id: 'l1' }, { id: 'l2' });
  await expectSent('l1', 'l2');
  await until(async () =>
    expect(await row()).toMatchObject({ state: 'working', level: 'good', sent: 2, waiting: 0 }),
  );
  expect(await Promise.all(['before', 'l1'].map(stateOf))).toEqual([['none'], ['sent']]);
  const { id, hours } = await row();
  expect(hours.reduce((sum, { leads }) => sum + leads, 0)).toBe(2);
  // A 2xx is all that is known: what the receiver says is in the log.
  expect((await ask<ConnectionLog>(`/${id}/log`)).log).toMatchObject([
    { kind: 'leads', leads: 2, times: 2, leadIds: ['l1', 'l2'], reason: '{"status":"error"}' },
  ]);
});

it('what was sent and the position agree, and a lead that is accepted twice counts once', async () => {
  const { service, webhook, clock, stateOf } = await startWorld();
  const { hooks, connections } = service.store;
  const claims = vi.spyOn(hooks, 'claim').mockResolvedValue([]);
  const { id } = await webhook();
  const [, second = 0, third = 0] = await service.add({ id: 'l1' }, { id: 'l2' }, { id: 'l3' });
  claims.mockRestore();
  const [due] = await hooks.claim({ claimMs: 15_000, companies: 'all', limit: 1 });
  if (!due) throw new Error('nothing is due');
  const connectionId = due.hook.connectionId ?? '';
  const settle = (through: number, createdAt: readonly number[]) =>
    hooks.settle([
      {
        claimed: due.hook,
        progress: { ...due.hook, announcedThrough: through },
        accepted: { companyId: 'acme', createdAt },
      },
    ]);
  const positions = async () => [
    (await storedHook(service, id)).announcedThrough,
    (await connections.find(connectionId))?.position,
  ];
  await settle(second, [second - 1, second]);
  expect(await positions()).toEqual([second, second]);
  expect(await Promise.all(['l1', 'l2', 'l3'].map(stateOf))).toEqual([['sent'], ['sent'], ['waiting']]);
  // Accepted once more after a crash: it counts once.
  await settle(third, [second, third]);
  expect(await positions()).toEqual([third, third]);
  const [facts] = await connections.list({
    ...{ limit: 1, now: clock(), since: clock() - HOUR_MS, acceptedKeys: [''] },
  });
  expect(facts).toMatchObject({ leads: 3, waiting: 0 });
});

it('leads are sent again in order beside the new ones, each time as another message', async () => {
  const { service, receiver, webhook, row, expectSent, ask, until, accept } = await startWorld();
  await webhook();
  await service.add({ id: 'l1' }, { id: 'l2' }, { id: 'l3' });
  await expectSent('l1', 'l2', 'l3');
  await until(async () => expect((await row()).sent).toBe(3));
  const first = new Map(receiver.events.map((event) => [leadOf(event).id, idOf(event)]));
  const { id } = await row();
  const ids: string[] = [];
  /** The leads of each entry of the log. */
  const again = async () => {
    const { log } = await ask<ConnectionLog>(`/${id}/log`);
    return log
      .filter(({ message }) => /sent again or moved to it$/.test(message))
      .map(({ leadIds }) => leadIds);
  };
  for (let time = 0; time < 2; time += 1) {
    accept();
    expect(await ask(`/${id}/send`, { leads: ['l3', 'l1', 'unknown'] })).toEqual({ leads: 2 });
    await until(() => expect(receiver.events).toHaveLength(2));
    expect(receiver.events.map((event) => leadOf(event).id)).toEqual(['l1', 'l3']);
    ids.push(...receiver.events.map(idOf));
    await until(async () => expect((await again()).flat()).toHaveLength(2 * (time + 1)));
  }
  expect(new Set([...first.values(), ...ids]).size).toBe(3 + 4);
  expect(new Set((await again()).flat())).toEqual(new Set(['l1', 'l3']));
  expect(await row()).toMatchObject({ sent: 3, waiting: 0 });
  accept();
  await service.add({ id: 'l4' });
  await expectSent('l4');
});

it('a lead that is refused when it is sent again is the same message when it is repeated', async () => {
  const { service, receiver, webhook, row, expectSent, ask, until, sent } = await startWorld();
  await webhook();
  await service.add({ id: 'l1' });
  await expectSent('l1');
  await until(async () => expect((await row()).sent).toBe(1));
  receiver.respond = respondWith(500);
  await ask(`/${(await row()).id}/send`, { leads: ['l1'] });
  await until(() => expect(sent()).toEqual(['l1', 'l1']));
  receiver.respond = respondWith(200);
  await service.add({ id: 'l2' });
  await expectSent('l1', 'l1', 'l1', 'l2');
  const [first, second, third] = receiver.events.map(idOf);
  expect(second).not.toBe(first);
  expect(third).toBe(second);
});

it('a paused webhook sends nothing, and goes on where it was', async () => {
  const { service, webhook, row, expectSent, ask, clock, until, sent } = await startWorld();
  await webhook();
  await service.add({ id: 'l1' });
  await expectSent('l1');
  await until(async () => expect((await row()).sent).toBe(1));
  const { id } = await row();
  expect(await ask(`/${id}`, { paused: true }, 'PATCH')).toMatchObject({ paused: true });
  await service.add({ id: 'l2' }, { id: 'l3' });
  for (let tick = 0; tick < 10; tick += 1) {
    clock.advance(2000);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  expect(sent()).toEqual(['l1']);
  expect(await row()).toMatchObject({ state: 'paused', level: 'unknown', waiting: 2 });
  await ask(`/${id}`, { paused: false }, 'PATCH');
  await expectSent('l1', 'l2', 'l3');
  await until(async () => expect(await row()).toMatchObject({ state: 'working', waiting: 0, sent: 3 }));
});

it('one that is deleted and made again goes on where it was: what came in between is sent, in order', async () => {
  const { service, webhook, remove, row, addRefused, accept, expectSent, until } = await startWorld();
  const { id } = await webhook();
  await service.add({ id: 'l0' });
  await until(async () => expect((await row()).sent).toBe(1));
  await addRefused('l1', 'l2');
  await remove(id);
  const ended = await row();
  expect(ended).toMatchObject({ state: 'ended', level: 'unknown', waiting: 2, sent: 1 });
  expect(ended.message).toMatch(/its platform deleted it/);
  await service.add({ id: 'l3' });
  expect((await row()).waiting).toBe(2);
  accept();
  await webhook('/again');
  expect(await row()).toMatchObject({ id: ended.id, state: 'working', waiting: 3 });
  await expectSent('l1', 'l2', 'l3');
  await until(async () => expect(await row()).toMatchObject({ waiting: 0, missed: 0, sent: 4 }));
});

it('one that is made before the old one is deleted goes on, too', async () => {
  const { webhook, remove, row, addRefused, accept, expectSent, until, service } = await startWorld();
  const { id } = await webhook();
  await service.add({ id: 'l0' });
  await until(async () => expect((await row()).sent).toBe(1));
  await addRefused('l1', 'l2');
  accept();
  await webhook('/again');
  await remove(id);
  await expectSent('l1', 'l2');
  await until(async () => expect(await row()).toMatchObject({ state: 'working', waiting: 0, missed: 0 }));
});

it('one that is made again after more than a day begins anew, and what it still owed is missed', async () => {
  const { webhook, remove, row, addRefused, accept, until, service, clock, ask, expectSent, stateOf } =
    await startWorld();
  const { id } = await webhook();
  await service.add({ id: 'l0' });
  await until(async () => expect((await row()).sent).toBe(1));
  await addRefused('l1', 'l2');
  await remove(id);
  await service.add({ id: 'between' });
  clock.advance(25 * HOUR_MS);
  accept();
  await webhook('/again');
  expect(await row()).toMatchObject({ waiting: 0, missed: 2, level: 'error', action: 'send' });
  expect(await Promise.all(['l1', 'between'].map(stateOf))).toEqual([['missed'], ['none']]);
  await ask(`/${(await row()).id}/send`, { missed: true });
  await expectSent('l1', 'l2');
  await until(async () => expect(await row()).toMatchObject({ missed: 0, waiting: 0, sent: 3 }));
});

it('one that is made again with a later since has missed what this leaves out', async () => {
  const { webhook, remove, row, addRefused, accept, until, service, stateOf, expectSent, clock } =
    await startWorld();
  const { id } = await webhook();
  await service.add({ id: 'l0' });
  await until(async () => expect((await row()).sent).toBe(1));
  await addRefused('l1');
  await remove(id);
  clock.advance(60_000);
  const [, since = 0] = await service.add({ id: 'x1' }, { id: 'x2' }, { id: 'l2' });
  accept();
  await webhook('/again', new Date(since).toISOString());
  expect(await stateOf('l1')).toEqual(['missed']);
  await expectSent('l2');
});

it('what was marked as handled is not sent by one that is made again', async () => {
  const { webhook, remove, row, addRefused, accept, until, service, ask, list, expectSent } =
    await startWorld();
  const { id } = await webhook();
  await service.add({ id: 'l0' });
  await until(async () => expect((await row()).sent).toBe(1));
  await addRefused('l1');
  await remove(id);
  await ask(`/${(await row()).id}/handled`, undefined, 'POST');
  expect(await list()).toEqual([]);
  accept();
  await webhook('/again');
  await service.add({ id: 'l2' });
  await expectSent('l2');
  expect(await row()).toMatchObject({ missed: 0 });
});

it('a 410 ends it with what waited, until its platform subscribes again', async () => {
  const { webhook, row, until, service, receiver, accept, expectSent } = await startWorld();
  await webhook();
  await service.add({ id: 'l0' });
  await until(async () => expect((await row()).sent).toBe(1));
  receiver.respond = respondWith(410);
  await service.add({ id: 'l1' }, { id: 'l2' });
  await until(async () =>
    expect(await row()).toMatchObject({ state: 'ended', level: 'error', waiting: 2, sent: 1 }),
  );
  expect((await row()).message).toMatch(/410/);
  accept();
  await webhook();
  await expectSent('l1', 'l2');
  await until(async () => expect(await row()).toMatchObject({ state: 'working', waiting: 0, sent: 3 }));
});

it('a lead that is moved to it is sent to it by itself', async () => {
  const { webhook, row, until, service, audit, expectSent, stateOf } = await startWorld('north-lead');
  await webhook();
  await service.add({ id: 'south', branchId: 'south' });
  await service.add({ id: 'l1', branchId: 'north' });
  await expectSent('l1');
  await until(async () => expect((await row()).sent).toBe(1));
  await service.add({ id: 'south', branchId: 'north' });
  await audit(1);
  await expectSent('l1', 'south');
  await until(async () => expect(await row()).toMatchObject({ sent: 2, waiting: 0, missed: 0 }));
  expect(await stateOf('south')).toEqual(['sent']);
});

it('leads that wait when its access is narrowed are missed', async () => {
  const { webhook, row, until, service, audit, addRefused, list } = await startWorld('north-lead');
  await service.store.updateUser('north-lead', { accessLevel: 'COMPANY' });
  await webhook();
  await service.add({ id: 'l0' });
  await until(async () => expect((await row()).sent).toBe(1));
  await addRefused('of-no-branch', 'l2');
  await service.store.updateUser('north-lead', { accessLevel: 'BRANCH', branchId: 'north' });
  await audit();
  expect(await list()).toMatchObject([{ waiting: 0, missed: 2, level: 'warning' }]);
  expect((await row()).message).toMatch(/may not see them any more/);
});

it('a crash before the result is stored leaves the lead waiting, and it counts once', async () => {
  const { service, receiver, webhook, row, stateOf, expectSent, until, clock } = await startWorld();
  await webhook();
  const settle = vi.spyOn(service.store.hooks, 'settle').mockRejectedValue(new Error('killed'));
  await service.add({ id: 'l1' });
  await receiver.event(1);
  await until(() => expect(settle).toHaveBeenCalled());
  expect(await stateOf('l1')).toEqual(['waiting']);
  settle.mockRestore();
  clock.advance(15_000);
  await expectSent('l1', 'l1');
  expect(new Set(receiver.events.map(idOf)).size).toBe(1);
  await until(async () => expect(await row()).toMatchObject({ sent: 1, waiting: 0 }));
});

it('a revoked token ends it with what waited', async () => {
  const { webhook, row, until, service, addRefused, tokenId, ask, list } = await startWorld();
  await webhook();
  await service.add({ id: 'l0' });
  await until(async () => expect((await row()).sent).toBe(1));
  await addRefused('l1', 'l2');
  await service.store.revokeToken(tokenId);
  await service.add({ id: 'later' });
  const ended = await row();
  expect(ended).toMatchObject({ state: 'ended', level: 'error', waiting: 2, action: 'handled' });
  expect(ended.message).toMatch(/its key was revoked/);
  await ask(`/${ended.id}/handled`, undefined, 'POST');
  expect(await list()).toEqual([]);
});

it('one that never worked ends without a word', async () => {
  const { webhook, remove, addRefused, list } = await startWorld();
  const { id } = await webhook();
  await addRefused('l1');
  await remove(id);
  expect(await list()).toEqual([]);
});

it('a removed user ends all that gets leads of it, and what waited is owed', async () => {
  const { webhook, row, until, service, addRefused, audit } = await startWorld('north-lead');
  await webhook();
  await service.add({ id: 'l0', branchId: 'north' });
  await until(async () => expect((await row()).sent).toBe(1));
  await service.add({ id: 'l1', branchId: 'north' });
  await until(async () => expect((await row()).sent).toBe(2));
  await service.store.updateUser('north-lead', { accessLevel: 'COMPANY' });
  await addRefused('l2', 'l3');
  await service.store.removeUser('north-lead');
  await audit();
  const ended = await row();
  expect(ended).toMatchObject({ state: 'ended', level: 'error', missed: 2, sent: 2 });
  expect(ended.message).toMatch(/its user was removed/);
});

it('webhooks and tokens of one name are one connection, which ends with the last of them', async () => {
  const { service, receiver, list } = await startWorld();
  const names = ['a', 'b', 'c'];
  await service.store.recordTokens(names.map((id) => ({ ...issuedToken('boss', id), name: 'CRM' })));
  const hooks: string[] = [];
  for (const id of names) {
    const token = await service.token('boss', { tokenId: id, expiresInMs: 1e10 });
    const { id: hook } = await subscribe(service, token, `${receiver.url}/${id}`, undefined, 'lead');
    hooks.push(hook);
    await service.poll('boss', '', { headers: { authorization: `Bearer ${token}` } });
  }
  expect((await list()).map(({ name, kind }) => `${name} ${kind}`).sort()).toEqual([
    'CRM poll',
    'CRM webhook',
  ]);
  const { connections } = service.store;
  const endedBy = async () => {
    const rows = await connections.list({ limit: 9, now: 0, since: 0, acceptedKeys: [''] });
    return Object.fromEntries(rows.map(({ connection: { kind, endedBy } }) => [kind, endedBy]));
  };
  await service.store.revokeToken('a');
  await service.store.hooks.remove(hooks[1] ?? '');
  expect(await endedBy()).toEqual({ poll: null, webhook: null });
  await service.store.revokeToken('b');
  expect(await endedBy()).toEqual({ poll: null, webhook: null });
  await service.store.revokeToken('c');
  expect(await endedBy()).toEqual({ poll: 'revoked', webhook: 'revoked' });
});

it('of two webhooks, one that works does not hide that the other one fails', async () => {
  const { service, clock, receiver, webhook, row, until, sent } = await startWorld();
  await webhook('/works');
  await webhook('/fails');
  await service.add({ id: 'before' });
  await until(() => expect(sent()).toEqual(['before', 'before']));
  receiver.respond = (response, { path }) => {
    response.writeHead(path?.endsWith('/fails') ? 500 : 200).end();
  };
  await service.add({ id: 'l1' });
  await until(() => expect(sent().filter((id) => id === 'l1').length).toBeGreaterThan(2));
  clock.advance(11 * 60_000);
  await service.add({ id: 'l2' });
  await until(() => expect(sent()).toContain('l2'));
  expect(await row()).toMatchObject({ state: 'failing', level: 'error' });
});

it('a name is of the webhook and of its connection', async () => {
  const { webhook, row, service, ask, token, receiver } = await startWorld();
  const { id } = await webhook();
  const rename = (name: string) =>
    hooksRequest(service, token, {
      ...{ path: `/${id}`, method: 'PATCH', body: JSON.stringify({ name }) },
      headers: { 'content-type': 'application/json' },
    });
  expect((await rename('Slack')).status).toBe(200);
  const { id: connection, name } = await row();
  expect(name).toBe('Slack');
  await ask(`/${connection}`, { name: 'Slack, sales' }, 'PATCH');
  expect(await storedHook(service, id)).toMatchObject({ name: 'Slack, sales' });
  await postHook(service, token, { url: receiver.url, send: 'lead', name: 'Slack, service' });
  expect(await row()).toMatchObject({ id: connection, name: 'Slack, service' });
  await ask(`/${connection}`, { name: 'Slack, sales' }, 'PATCH');
  // Another webhook of the name belongs to it.
  await postHook(service, token, { url: `${receiver.url}/2`, send: 'lead', name: 'Slack, sales' });
  expect((await row()).id).toBe(connection);
});

it('a poll after a thin event shows that the connection works', async () => {
  const { service, token, receiver, row, until, clock } = await startWorld();
  await service.poll('boss', '', { headers: { authorization: `Bearer ${token}` } });
  await subscribe(service, token, receiver.url);
  expect(await row()).toMatchObject({ kind: 'poll', state: 'new' });
  await service.add({ id: 'l1' });
  await until(() => expect(receiver.events).toHaveLength(1));
  await until(async () => {
    const { id } = await row();
    expect((await service.store.connections.find(id))?.eventAt).not.toBeNull();
  });
  clock.advance(1000);
  await service.poll('boss', '', { headers: { authorization: `Bearer ${token}` } });
  expect(await row()).toMatchObject({ kind: 'poll', state: 'working', sent: 1 });
});
