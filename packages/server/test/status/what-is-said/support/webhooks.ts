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

/** All leads were sent to all webhooks. */
export async function untilSent({ service, clock }: World): Promise<void> {
  await vi.waitFor(async () => {
    clock.advance(100);
    const { latestStamp } = await service.store.status();
    const hooks = await service.store.hooks.list({ limit: 9, now: clock() });
    expect(hooks.every(({ hook }) => hook.announcedThrough >= latestStamp)).toBe(true);
  }, PACE);
  await service.service.connections.flush();
}

/** Until an attempt has failed. The clock stands still meanwhile, so that no other one is due. */
export async function untilFailed({ service, clock }: World, work: () => Promise<unknown>): Promise<void> {
  const countFailures = async () => {
    await service.service.connections.flush();
    const query = { limit: 9, now: clock(), since: 0, acceptedKeys: [''] };
    const hours = (await service.store.connections.list(query)).flatMap((facts) => facts.hours);
    return hours.reduce((sum, { failed }) => sum + failed, 0);
  };
  const before = await countFailures();
  await work();
  await vi.waitFor(async () => expect(await countFailures()).toBeGreaterThan(before), PACE);
}
