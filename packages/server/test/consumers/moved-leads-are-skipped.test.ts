import type { Consumers, Lead } from '@leadtap/contract';
import { leadStateOf } from '@leadtap/contract';
import { describe, expect, it } from 'vitest';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { startService, type TestService } from '../../../testing/harness/service.ts';
import { startReceiver } from '../../../testing/integrations/hook-receiver.ts';
import { terminal } from '../cli/terminal.ts';
import { hooksRequest, startWith, subscribe } from '../hooks/support/hooks.ts';
import { leadOf } from '../hooks/support/lead-receiver.ts';
import { readStatus } from '../status/support/status.ts';
import { client, iso } from './support/consumers.ts';

/** The state of a lead for the consumers of a user, by the names of their tokens, as `leads show` has it. */
async function statesOf(service: TestService, leadId: string, now?: number): Promise<Record<string, string>> {
  await service.service.recorder?.flush();
  const { stdout } = await terminal().run(`leads show ${leadId} --json`, {
    env: service.database.env,
    ...(now !== undefined && { parts: { clock: () => now } }),
  });
  const { consumers } = JSON.parse(stdout) as { consumers: { tokenId: string; state: string }[] };
  return Object.fromEntries(consumers.map(({ tokenId, state }) => [tokenId, state]));
}

async function listConsumers(service: TestService, userId: string): Promise<Consumers['consumers']> {
  const headers = { authorization: `Bearer ${await service.token(userId)}` };
  const response = await fetch(`${service.url}/automation/consumers`, { headers });
  return ((await response.json()) as Consumers).consumers;
}

/** One client follows the leads that it gets, the other one asks for what came since its own last poll. */
async function startWorld(userId = 'north-lead') {
  const clock = manualClock();
  const service = await startService({ clock });
  const { poll: pollLink } = await client(service, userId, 'link');
  const { poll: pollClock } = await client(service, userId, 'clock');
  let since = iso(clock());
  let polledAt = clock();
  const link = async (from = since) => {
    const leads = (await (await pollLink(`since=${from}`)).json()) as Lead[];
    since = leads.at(-1)?.createdAt ?? from;
    return leads.map(({ id }) => id);
  };
  const ownClock = async () => {
    const leads = (await (await pollClock(`since=${iso(polledAt)}`)).json()) as Lead[];
    polledAt = clock();
    return leads.map(({ id }) => id);
  };
  return {
    ...{ clock, service, link, ownClock },
    add: (id: string, place: { branchId?: string; departmentId?: string } = {}) =>
      service.add({ id, ...place }),
    move: (id: string, branchId: string | null) => service.database.moveLead('acme', id, branchId),
    poll: async () => {
      clock.advance(1000);
      await link();
      await ownClock();
      await service.service.recorder?.flush();
      clock.advance(1000);
    },
  };
}

type World = Awaited<ReturnType<typeof startWorld>>;

interface Situation {
  readonly userId?: string;
  /** Two polls have been made before, and one is made after it. The lead is `x`. */
  readonly steps: (world: World) => Promise<unknown>;
  readonly link: string;
  readonly clock: string;
}

const SITUATIONS: Readonly<Record<string, Situation>> = {
  'is assigned before the next poll': {
    steps: async ({ add, move }) => {
      await add('x');
      await move('x', 'north');
    },
    ...{ link: 'confirmed', clock: 'confirmed' },
  },
  'is assigned after a poll that found nothing': {
    steps: async ({ add, move, poll }) => {
      await add('x');
      await poll();
      await move('x', 'north');
    },
    ...{ link: 'confirmed', clock: 'skipped' },
  },
  'is assigned before a poll, and after a later lead': {
    steps: async ({ add, move }) => {
      await add('x');
      await add('later', { branchId: 'north' });
      await move('x', 'north');
    },
    ...{ link: 'confirmed', clock: 'confirmed' },
  },
  'is assigned after a later lead was polled': {
    steps: async ({ add, move, poll }) => {
      await add('x');
      await add('later', { branchId: 'north' });
      await poll();
      await move('x', 'north');
    },
    ...{ link: 'skipped', clock: 'skipped' },
  },
  'is assigned when the later lead that was polled has been deleted': {
    steps: async ({ add, move, poll, service }) => {
      await add('x');
      await add('later', { branchId: 'north' });
      await poll();
      await service.database.deleteLead('acme', 'later');
      await move('x', 'north');
    },
    ...{ link: 'skipped', clock: 'skipped' },
  },
  'is sent again with another branch': {
    steps: async ({ add, poll }) => {
      await add('x', { branchId: 'south' });
      await add('later', { branchId: 'north' });
      await poll();
      await add('x', { branchId: 'north' });
    },
    ...{ link: 'skipped', clock: 'skipped' },
  },
  'moves within its branch': {
    steps: async ({ add, poll }) => {
      await add('x', { branchId: 'north' });
      await add('later', { branchId: 'north' });
      await poll();
      await add('x', { departmentId: 'sales' });
    },
    ...{ link: 'confirmed', clock: 'confirmed' },
  },
  'moves into the department': {
    userId: 'seller',
    steps: async ({ add, poll }) => {
      await add('x', { branchId: 'north' });
      await add('later', { departmentId: 'sales' });
      await poll();
      await add('x', { departmentId: 'sales' });
    },
    ...{ link: 'skipped', clock: 'skipped' },
  },
  'moves away and back: it cannot be known': {
    steps: async ({ add, move, poll }) => {
      await add('x', { branchId: 'north' });
      await poll();
      await move('x', 'south');
      await move('x', 'north');
    },
    ...{ link: 'skipped', clock: 'skipped' },
  },
  'moves, for those who see the whole company': {
    userId: 'boss',
    steps: async ({ add, move, poll }) => {
      await add('x');
      await add('later');
      await poll();
      await move('x', 'north');
    },
    ...{ link: 'confirmed', clock: 'confirmed' },
  },
  'is in another branch when the access is widened to the company': {
    steps: async ({ service, add, poll }) => {
      await add('x', { branchId: 'south' });
      await add('later', { branchId: 'north' });
      await poll();
      await service.store.updateUser('north-lead', { accessLevel: 'COMPANY' });
    },
    ...{ link: 'skipped', clock: 'skipped' },
  },
  'was sent before the access is widened': {
    steps: async ({ service, add, poll }) => {
      await add('x', { branchId: 'north' });
      await poll();
      await service.store.updateUser('north-lead', { accessLevel: 'COMPANY' });
    },
    ...{ link: 'confirmed', clock: 'confirmed' },
  },
  'moved to the branch before the access is widened': {
    steps: async ({ service, add, move, poll }) => {
      await add('x', { branchId: 'south' });
      await add('later', { branchId: 'north' });
      await poll();
      await move('x', 'north');
      await service.store.updateUser('north-lead', { accessLevel: 'COMPANY' });
    },
    ...{ link: 'skipped', clock: 'skipped' },
  },
  'is in the branch when the access is widened to it': {
    userId: 'seller',
    steps: async ({ service, add, poll }) => {
      await add('x', { branchId: 'north' });
      await add('later', { departmentId: 'sales' });
      await poll();
      await service.store.updateUser('seller', { accessLevel: 'BRANCH' });
    },
    ...{ link: 'skipped', clock: 'skipped' },
  },
  'was sent before the access is narrowed and widened again': {
    userId: 'boss',
    steps: async ({ service, add, poll }) => {
      await add('x', { branchId: 'south' });
      await poll();
      await service.store.updateUser('boss', { accessLevel: 'BRANCH', branchId: 'north' });
      await add('later', { branchId: 'north' });
      await poll();
      await service.store.updateUser('boss', { accessLevel: 'COMPANY' });
    },
    ...{ link: 'confirmed', clock: 'confirmed' },
  },
  'came while the access was narrow': {
    userId: 'boss',
    steps: async ({ service, add, poll }) => {
      await service.store.updateUser('boss', { accessLevel: 'BRANCH', branchId: 'north' });
      await add('x', { branchId: 'south' });
      await add('later', { branchId: 'north' });
      await poll();
      await service.store.updateUser('boss', { accessLevel: 'COMPANY' });
    },
    ...{ link: 'skipped', clock: 'skipped' },
  },
  'was moved and sent before the access is narrowed': {
    userId: 'boss',
    steps: async ({ service, add, move, poll }) => {
      await add('x');
      await poll();
      await move('x', 'north');
      await service.store.updateUser('boss', { accessLevel: 'BRANCH', branchId: 'north' });
    },
    ...{ link: 'confirmed', clock: 'confirmed' },
  },
  'is polled from before it after the access is widened': {
    steps: async ({ service, add, poll, link }) => {
      const [createdAt = 0] = await add('x', { branchId: 'south' });
      await add('later', { branchId: 'north' });
      await poll();
      await service.store.updateUser('north-lead', { accessLevel: 'COMPANY' });
      await link(iso(createdAt - 1));
    },
    ...{ link: 'confirmed', clock: 'skipped' },
  },
  'is polled after the move, from before it': {
    steps: async ({ add, move, poll, link }) => {
      const [createdAt = 0] = await add('x');
      await add('later', { branchId: 'north' });
      await poll();
      await move('x', 'north');
      await link(iso(createdAt - 1));
    },
    ...{ link: 'confirmed', clock: 'skipped' },
  },
};

describe('a lead', () => {
  it.each(Object.entries(SITUATIONS))('that %s', async (_name, { userId, steps, link, clock }) => {
    const world = await startWorld(userId);
    await world.add('first', { departmentId: 'sales' });
    await world.poll();
    await steps(world);
    await world.poll();
    await world.add('last', { departmentId: 'sales' });
    await world.poll();
    await world.poll();
    const { service } = world;
    expect(await statesOf(service, 'x', world.clock())).toMatchObject({ link, clock });

    // The console, the list of consumers and the status page agree.
    const lead = (await service.leads(userId ?? 'north-lead', 'limit=100')).find(({ id }) => id === 'x');
    if (!lead) throw new Error('the lead cannot be seen');
    const consumers = await listConsumers(service, userId ?? 'north-lead');
    const expected = { link, clock };
    const report = await readStatus(service);
    for (const tokenId of ['link', 'clock'] as const) {
      const consumer = consumers.find((one) => one.tokenId === tokenId);
      if (!consumer) throw new Error('the consumer is not listed');
      const skipped = expected[tokenId] === 'skipped' ? 1 : 0;
      expect(leadStateOf(consumer, lead)).toBe(expected[tokenId]);
      expect(consumer).toMatchObject({
        skippedLeads: skipped,
        skippedSince: skipped ? lead.createdAt : null,
        problem: skipped ? 'leads-skipped' : null,
      });
      const listed = report.consumers?.listed.find((one) => one.tokenId === tokenId);
      expect(listed?.problems).toEqual(skipped ? ['leads-skipped'] : []);
    }
  });

  it('from before the first poll, in another branch, is no problem when the access is widened', async () => {
    const { clock, service, add, poll } = await startWorld();
    await add('x', { branchId: 'south' });
    await add('first', { branchId: 'north' });
    await poll();
    await service.store.updateUser('north-lead', { accessLevel: 'COMPANY' });
    await add('last');
    await poll();
    const [lead] = (await service.leads('north-lead', 'limit=100')).filter(({ id }) => id === 'x');
    expect(await statesOf(service, 'x', clock())).toMatchObject({ link: 'skipped', clock: 'skipped' });
    const consumers = await listConsumers(service, 'north-lead');
    for (const tokenId of ['link', 'clock']) {
      const consumer = consumers.find((one) => one.tokenId === tokenId);
      expect(consumer).toMatchObject({ skippedLeads: 0, skippedSince: null, problem: null });
      expect(consumer && lead && leadStateOf(consumer, lead)).toBe('skipped');
    }
  });

  it('that is assigned in a transaction, with a poll before its commit', async () => {
    const { clock, service, add, poll } = await startWorld();
    await add('x');
    await add('later', { branchId: 'north' });
    await poll();
    await service.database.moveLead('acme', 'x', 'north', poll);
    await poll();
    expect(await statesOf(service, 'x', clock())).toMatchObject({ link: 'skipped', clock: 'skipped' });
  });

  it('leaves nothing behind when it is deleted', async () => {
    const { service, add, move, poll } = await startWorld();
    const skipped = async () => {
      const consumers = await listConsumers(service, 'north-lead');
      const find = (id: string) => consumers.find(({ tokenId }) => tokenId === id)?.skippedLeads;
      return [find('link'), find('clock')];
    };
    await add('first', { branchId: 'north' });
    await poll();
    const [createdAt = 0] = await add('x');
    await add('later', { branchId: 'north' });
    await poll();
    await move('x', 'north');
    await poll();
    expect(await skipped()).toEqual([1, 1]);
    await service.database.deleteLead('acme', 'x');
    expect(await skipped()).toEqual([0, 0]);
    // A historical lead may get the same time. Those that are imported behind a position are not counted.
    const again = { companyId: 'acme', id: 'y', branchId: 'north', createdAt, fields: {} };
    await service.store.writeLeads([again], { historical: true });
    expect(await skipped()).toEqual([0, 0]);
  });
});

it('two instances may record in any order what a consumer got', async () => {
  for (const order of [
    [0, 1],
    [1, 0],
  ]) {
    const clock = manualClock();
    const first = await startService({ clock });
    const second = await startService({ clock, beside: first, organisation: { companies: [] } });
    const token = await first.token('north-lead', { tokenId: 'link' });
    const poll = async ({ url }: TestService, since: number) => {
      const headers = { authorization: `Bearer ${token}` };
      await (await fetch(`${url}/automation/new-leads?since=${iso(since)}`, { headers })).arrayBuffer();
    };
    const [start = 0] = await first.add({ branchId: 'north' });
    await poll(first, start);
    await first.service.recorder?.flush();
    await first.add({ id: 'x' });
    const [later = 0] = await first.add({ branchId: 'north' });
    await first.database.moveLead('acme', 'x', 'north');
    clock.advance(1000);
    await poll(first, start);
    clock.advance(1000);
    await poll(second, later);
    const instances = [first, second];
    for (const index of order) await instances[index]?.service.recorder?.flush();
    expect(await statesOf(first, 'x', clock())).toEqual({ link: 'confirmed' });
  }
});

it('a webhook has skipped a lead that was moved behind its position, and has one that it accepted after the move', async () => {
  const receiver = await startReceiver();
  const service = await startWith(receiver);
  const token = await service.token('north-lead', { tokenId: 't' });
  const { id } = await subscribe(service, token, receiver.url, undefined, 'lead');
  await service.add({ id: 'in time' });
  const [first = 0] = await service.add({ id: 'first', branchId: 'north' });
  await expect.poll(() => receiver.events.map((event) => leadOf(event).id)).toEqual(['first']);
  await service.add({ id: 'routed' });
  await service.database.moveLead('acme', 'routed', 'north');
  await expect.poll(() => receiver.events.map((event) => leadOf(event).id)).toEqual(['first', 'routed']);
  const position = async () => {
    const hook = await (await hooksRequest(service, token, { path: `/${id}` })).json();
    return Date.parse((hook as { announcedThrough: string }).announcedThrough);
  };
  await expect.poll(position).toBeGreaterThan(first);
  await service.add({ id: 'late' });
  const [last = 0] = await service.add({ id: 'last', branchId: 'north' });
  await expect.poll(position).toBe(last);
  await service.database.moveLead('acme', 'late', 'north');
  expect(await statesOf(service, 'routed')).toEqual({ t: 'confirmed' });
  expect(await statesOf(service, 'late')).toEqual({ t: 'skipped' });
  const [hook] = await listConsumers(service, 'north-lead');
  expect(hook).toMatchObject({ skippedLeads: 1, problem: 'leads-skipped' });
});
