import { describe, expect, it, vi } from 'vitest';
import type { TestService } from '../../../testing/harness/service.ts';
import { respondWith, startReceiver } from '../../../testing/integrations/hook-receiver.ts';
import { hooksRequest, startWith, subscribe } from './support/hooks.ts';
import { leadOf } from './support/lead-receiver.ts';

/** What ends the right of the user `boss` with the token `t` to see leads at all. */
const ENDS: Readonly<Record<string, (service: TestService, hookId: string) => Promise<unknown>>> = {
  'the token is revoked': ({ store }) => store.revokeToken('t'),
  'the plan ends': ({ store }) => store.updateUser('boss', { plan: 'STARTER' }),
  'the user is removed': ({ store }) => store.removeUser('boss'),
  'the subscription is deleted': (service, id) =>
    hooksRequest(service, undefined, { path: `/${id}`, method: 'DELETE' }),
};

const NARROWED = { accessLevel: 'BRANCH', branchId: 'north' } as const;

describe('a subscription that sends leads', () => {
  async function startOne() {
    const receiver = await startReceiver();
    const service = await startWith(receiver);
    const token = await service.token('boss', { tokenId: 't' });
    const { id } = await subscribe(service, token, receiver.url, undefined, 'lead');
    const hooks = service.store.hooks;
    return { receiver, service, hooks, id };
  }

  it.each(Object.keys(ENDS))('sends nothing if %s between the claim and the request', async (name) => {
    const { receiver, service, hooks, id } = await startOne();
    const read = hooks.readLead;
    const results: unknown[] = [];
    vi.spyOn(hooks, 'readLead').mockImplementation(async (...claimed) => {
      await ENDS[name]?.(service, id);
      const lead = await read(...claimed);
      results.push(lead);
      return lead;
    });
    await service.add({}, {});
    await vi.waitFor(() => expect(results.length).toBeGreaterThan(0));
    expect(new Set(results)).toEqual(new Set([undefined]));
    expect(receiver.events).toEqual([]);
  });

  it('sends only what a narrowed access level allows at the time of the request', async () => {
    const { receiver, service, hooks } = await startOne();
    const read = hooks.readLead;
    vi.spyOn(hooks, 'readLead').mockImplementationOnce(async (...claimed) => {
      await service.store.updateUser('boss', NARROWED);
      return read(...claimed);
    });
    await service.add({ id: '1', branchId: 'south' }, { id: '2', branchId: 'north' }, { id: '3' });
    await service.add({ id: '4', branchId: 'north' });
    await vi.waitFor(() => expect(receiver.events.map((event) => leadOf(event).id)).toEqual(['2', '4']));
  });

  it('skips no lead that was hidden at the time of the request and can be seen again', async () => {
    const { receiver, service, hooks } = await startOne();
    const read = hooks.readLead;
    vi.spyOn(hooks, 'readLead').mockImplementationOnce(async (...claimed) => {
      await service.store.updateUser('boss', NARROWED);
      return read(...claimed);
    });
    const accept = receiver.respond;
    receiver.respond = async (response, event) => {
      await service.store.updateUser('boss', { accessLevel: 'COMPANY', branchId: null });
      accept(response, event);
    };
    await service.add({ id: '1', branchId: 'north' }, { id: '2', branchId: 'south' });
    await vi.waitFor(() => expect(receiver.events.map((event) => leadOf(event).id)).toEqual(['1', '2']));
  });
});

describe('among nine leads', () => {
  it.each([...Object.keys(ENDS), 'the access level is narrowed'])(
    'the next is not sent after %s',
    async (name) => {
      const receiver = await startReceiver();
      const service = await startWith(receiver);
      const token = await service.token('boss', { tokenId: 't' });
      const { id } = await subscribe(service, token, receiver.url, undefined, 'lead');
      receiver.respond = async (response) => {
        const narrow = () => service.store.updateUser('boss', NARROWED);
        if (receiver.events.length === 3) await (ENDS[name]?.(service, id) ?? narrow());
        respondWith(200)(response);
      };
      const reads = vi.spyOn(service.store.hooks, 'readLead');
      await service.add(...Array.from({ length: 9 }, (_, index) => ({ id: `${index}`, branchId: 'south' })));
      await receiver.event(3);
      // The read after the third lead returns nothing.
      await vi.waitFor(async () =>
        expect([reads.mock.calls.length, await reads.mock.results[3]?.value]).toEqual([4, undefined]),
      );
      expect(receiver.events.map((event) => leadOf(event).id)).toEqual(['0', '1', '2']);
    },
  );
});
