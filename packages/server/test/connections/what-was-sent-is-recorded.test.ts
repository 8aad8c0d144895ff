import type { Lead } from '@leadtap/contract';
import { describe, expect, it } from 'vitest';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { startService } from '../../../testing/harness/service.ts';

const MINUTE_MS = 60_000;
const ALL_KEYS = [''];

/** A poller with `since` that follows `Link`, and what is said of it. */
async function startWorld(userId = 'boss') {
  const clock = manualClock();
  const service = await startService({ clock });
  const { connections } = service.service;
  const token = await service.token(userId);
  const headers = { authorization: `Bearer ${token}` };
  let link = `${service.url}/automation/new-leads?limit=100`;
  const poll = async (address = link): Promise<Lead[]> => {
    const response = await fetch(address, { headers });
    link = /<(.*)>/.exec(response.headers.get('link') ?? '')?.[1] ?? link;
    return (await response.json()) as Lead[];
  };
  const facts = async () => {
    await connections.flush();
    const [first] = await service.store.connections.list({
      ...{ userId, limit: 10, now: clock(), since: clock() - 30 * 1440 * MINUTE_MS, acceptedKeys: ALL_KEYS },
    });
    return first;
  };
  const stateOf = async (id: string) => {
    await connections.flush();
    const found = await service.store.connections.findLead('acme', id, {
      level: 'COMPANY',
      companyId: 'acme',
    });
    return found?.map(({ state, why }) => (why === null ? state : `${state}: ${why}`));
  };
  const audit = async (times = 3) => {
    for (let run = 0; run < times; run += 1) {
      clock.advance(MINUTE_MS);
      await connections.audit();
    }
  };
  return { clock, service, connections, headers, poll, facts, stateOf, audit };
}

describe('a lead', () => {
  it('is sent once a page with it was written, and counted once', async () => {
    const { service, poll, facts, stateOf, audit } = await startWorld();
    await poll();
    await service.add({ id: 'l1' }, { id: 'l2' });
    expect(await stateOf('l1')).toEqual(['waiting']);
    expect(await facts()).toMatchObject({ waiting: 2, leads: 0 });
    expect(await poll()).toHaveLength(2);
    expect(await stateOf('l1')).toEqual(['sent']);
    expect(await facts()).toMatchObject({ waiting: 0, leads: 2, missed: { passed: 0 } });
    await audit();
    expect(await facts()).toMatchObject({ waiting: 0, leads: 2, missed: { passed: 0 } });
  });

  it('is missed once the connection asks for what comes after it without having been sent it', async () => {
    const { service, poll, stateOf, audit, facts } = await startWorld();
    await poll();
    await service.add({ id: 'passed' });
    const [after = 0] = await service.add({ id: 'l2' });
    await poll(`${service.url}/automation/new-leads?since=${new Date(after).toISOString()}`);
    expect(await stateOf('passed')).toEqual(['waiting']);
    await audit();
    expect(await stateOf('passed')).toEqual(['missed: passed']);
    expect(await facts()).toMatchObject({ missed: { passed: 2 }, waiting: 0 });
  });

  it('from before the start is none, and so is imported history', async () => {
    const { service, poll, stateOf, audit, clock } = await startWorld();
    await service.add({ id: 'before' });
    await poll();
    clock.advance(10 * MINUTE_MS);
    await service.add({ id: 'new' });
    await poll();
    await service.store.writeLeads(
      [5, 20].map((minutes) => ({
        ...{ companyId: 'acme', id: `old-${minutes}`, fields: {} },
        createdAt: clock() - minutes * MINUTE_MS,
      })),
      { historical: true },
    );
    await poll();
    await audit();
    for (const id of ['before', 'old-5', 'old-20']) expect(await stateOf(id)).toEqual(['none']);
  });

  it('that was missed is sent when it is asked for after all', async () => {
    const { service, poll, stateOf, audit, facts } = await startWorld();
    await poll();
    const [before = 0, , after = 0] = await service.add({ id: 'l1' }, { id: 'passed' }, { id: 'l3' });
    const since = (stamp: number) =>
      `${service.url}/automation/new-leads?since=${new Date(stamp).toISOString()}`;
    await poll(since(after));
    await audit();
    expect(await stateOf('passed')).toEqual(['missed: passed']);
    await poll(since(before));
    expect(await stateOf('passed')).toEqual(['sent']);
    expect(await facts()).toMatchObject({ missed: { passed: 1 }, leads: 2 });
  });

  it('that no automation gets is unassigned after 15 minutes, until one that works is sent it', async () => {
    const { service, audit, poll } = await startWorld();
    await service.add({ id: 'l1' });
    const { connections } = service.store;
    await audit(15);
    expect(await connections.listUnassigned()).toEqual([]);
    await audit(3);
    expect(await connections.listUnassigned()).toMatchObject([{ companyId: 'acme', leads: 1 }]);
    await poll();
    await audit();
    expect(await connections.listUnassigned()).toMatchObject([{ leads: 1 }]);
    await connections.handleUnassigned('acme');
    expect(await connections.listUnassigned()).toEqual([]);
  });

  it('that was erased leaves no row', async () => {
    const { service, poll, stateOf, clock } = await startWorld();
    await poll();
    const [createdAt = 0] = await service.add({ id: 'l1' });
    await poll();
    expect(await stateOf('l1')).toEqual(['sent']);
    await service.store.removal.erase([{ companyId: 'acme', createdAt, id: 'l1' }]);
    clock.advance(MINUTE_MS);
    expect(await stateOf('l1')).toBeUndefined();
  });
});

describe('a person', () => {
  it('who asks otherwise than the automation does moves nothing, and is sent nothing', async () => {
    const { service, headers, poll, stateOf, facts, audit, clock } = await startWorld();
    for (let number = 0; number < 6; number += 1) {
      await poll();
      clock.advance(MINUTE_MS);
      await service.add({ id: `had-${number}` });
    }
    await poll();
    const own = await facts();
    const [stamp = 0] = await service.add({ id: 'w1' });
    const asPerson = (query: string) => fetch(`${service.url}/automation/new-leads?${query}`, { headers });
    expect(own?.connection.workedAt).not.toBeNull();
    for (const query of ['', `since=${new Date(stamp + 1).toISOString()}`]) await asPerson(query);
    await audit();
    const { position, lastAt } = own?.connection ?? {};
    expect(await facts()).toMatchObject({ connection: { position, lastAt }, waiting: 1 });
    expect(await stateOf('w1')).toEqual(['waiting']);
  });

  it('who marks a connection as handled ends what it missed, and what waits if it was switched off', async () => {
    const { service, poll, stateOf, audit, facts, clock } = await startWorld();
    await poll();
    const [first = 0] = await service.add({ id: 'passed' });
    await poll(`${service.url}/automation/new-leads?since=${new Date(first).toISOString()}`);
    await service.add({ id: 'waits' });
    await audit();
    const id = (await facts())?.connection.id ?? '';
    const { connections } = service.store;
    const list = { id, limit: 1, now: clock(), since: 0, acceptedKeys: ALL_KEYS };
    await connections.markHandled(list, () => false, 'ada');
    expect(await facts()).toMatchObject({ missed: { passed: 0 }, waiting: 1 });
    await connections.markHandled(list, () => true, 'ada');
    expect(await facts()).toMatchObject({ waiting: 0, connection: { endedBy: 'handled' } });
    expect(await stateOf('waits')).toEqual(['none']);
    await audit();
    expect(await facts()).toMatchObject({ missed: { passed: 0 }, waiting: 0 });
  });
});
