import { vi } from 'vitest';
import { type ServiceOptions, startService, type TestService } from '../harness/service.ts';
import { type ReceivedEvent, startReceiver } from './hook-receiver.ts';

/** Receives the events for one automation, and returns the status of the response. */
export type Receive = (event: ReceivedEvent) => number | Promise<number>;

/** A platform whose automations have URLs of their own, and a service that may send events to them. */
export interface Automations {
  readonly service: TestService;
  readonly events: readonly ReceivedEvent[];
  /** Adds an automation, and returns its URL. */
  add(receive: Receive): string;
  /** Another instance of the service, at another address, with the same database. */
  restart(): Promise<TestService>;
}

export async function startAutomations(options: ServiceOptions = {}): Promise<Automations> {
  const receiver = await startReceiver();
  const automations: Receive[] = [];
  receiver.respond = async (response, event) => {
    const receive = automations[Number(event.path?.slice(1))];
    response.writeHead((await receive?.(event)) ?? 410).end();
  };
  const started = { ...options, env: { ...options.env, LEADTAP_HOOK_HOSTS: receiver.origin } };
  const service = await startService(started);
  return {
    service,
    events: receiver.events,
    add: (receive) => `${receiver.origin}/${automations.push(receive) - 1}`,
    restart: async () => {
      await service.stop();
      return startService({ ...started, beside: service });
    },
  };
}

export const hooksOf = async ({ store }: TestService, now = Date.now()) =>
  (await store.hooks.list({ now, limit: 100 })).map(({ hook }) => hook);

/** Resolves when the newest lead of the company was announced to every hook. */
export async function untilAnnounced(service: TestService, now?: number): Promise<void> {
  const [newest] = await service.leads('boss', 'limit=1');
  await vi.waitFor(
    async () => {
      for (const { announcedThrough } of await hooksOf(service, now))
        if (announcedThrough < Date.parse(newest?.createdAt ?? ''))
          throw new Error('a lead is not announced yet');
    },
    { interval: 20 },
  );
}
