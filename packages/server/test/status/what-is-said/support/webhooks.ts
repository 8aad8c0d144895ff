/** Webhooks that send leads. They are sent in the time of the machine, so tests wait for them. */
import type { SubscribedHook } from '@leadtap/contract';
import { expect, vi } from 'vitest';
import { hooksRequest, subscribe } from '../../../hooks/support/hooks.ts';
import type { TokenOptions, World } from './world.ts';

const PACE = { interval: 20, timeout: 10_000 };

const urlOf = ({ receiver }: World, name: string): string => `${receiver.url}/${name}`;

/** As a platform does when its automation is switched on. */
export const switchOn = (world: World, name: string, token: string): Promise<SubscribedHook> =>
  subscribe(world.service, token, urlOf(world, name), undefined, 'lead');

export const switchOff = ({ service }: World, id: string): Promise<Response> =>
  hooksRequest(service, undefined, { path: `/${id}`, method: 'DELETE' });

/** One that has got a lead. */
export async function startWebhook(world: World, name: string, options: TokenOptions = {}) {
  const token = await world.token(name, options);
  const hook = await switchOn(world, name, token);
  await world.lead({ branchId: 'north' });
  await untilSent(world);
  return { ...hook, token };
}

const listFacts = async ({ service, clock }: World) => {
  await service.service.connections.flush();
  return service.store.connections.list({ limit: 9, now: clock(), since: 0, acceptedKeys: [''] });
};

/** All leads were sent to all webhooks, and so many are counted. */
export async function untilSent(world: World, leads = 0): Promise<void> {
  const { service, clock } = world;
  await vi.waitFor(async () => {
    clock.advance(100);
    const { latestStamp } = await service.store.status();
    const hooks = await service.store.hooks.list({ limit: 9, now: clock() });
    expect(hooks.every(({ hook }) => hook.announcedThrough >= latestStamp)).toBe(true);
    const facts = await listFacts(world);
    expect(facts.reduce((sum, one) => sum + one.leads, 0)).toBeGreaterThanOrEqual(leads);
  }, PACE);
}

/** Until an attempt has failed. The clock stands still meanwhile, so that no other one is due. */
export async function untilFailed(world: World, work: () => Promise<unknown>): Promise<void> {
  const countFailures = async () =>
    (await listFacts(world)).flatMap(({ hours }) => hours).reduce((sum, { failed }) => sum + failed, 0);
  const before = await countFailures();
  await work();
  await vi.waitFor(async () => expect(await countFailures()).toBeGreaterThan(before), PACE);
}
