import type { ServerResponse } from 'node:http';
import { onTestFinished, vi } from 'vitest';
import type { TestService } from '../harness/service.ts';
import type { WhenDone } from '../harness/temp-folder.ts';
import { type ReceivedEvent, startReceiver } from './hook-receiver.ts';

/**
 * What becomes of an event: it is accepted and handled; the connection ends before it is handled, or after it, so that the service
 * sends it again; or it gets this status and is not handled.
 */
export type EventFate = 'accepted' | 'lost' | 'response lost' | number;

/** An automation platform that has an address for each of its automations. It responds first, and runs the automation then. */
export interface HookPlatform {
  /** For `LEADTAP_HOOK_HOSTS`. */
  readonly origin: string;
  /** Every event that has arrived, whatever its fate. */
  readonly events: readonly ReceivedEvent[];
  fateOf: (received: ReceivedEvent) => EventFate | Promise<EventFate>;
  /** A new address. `handle` is called for each event that it accepts; it must not reject. */
  open(handle: (received: ReceivedEvent) => unknown): string;
  /** There is no such automation any more: its address responds with 410. */
  close(url: string): void;
  /** Resolves when no event is being handled. */
  idle(): Promise<void>;
}

export async function startHookPlatform(whenDone: WhenDone = onTestFinished): Promise<HookPlatform> {
  const receiver = await startReceiver(whenDone);
  const handlers = new Map<string, (received: ReceivedEvent) => unknown>();
  const running = new Set<Promise<unknown>>();
  let addresses = 0;

  const receive = async (response: ServerResponse, received: ReceivedEvent) => {
    const handle = handlers.get(received.path ?? '');
    if (!handle) return void response.writeHead(410).end();
    const fate = await platform.fateOf(received);
    if (typeof fate === 'number') return void response.writeHead(fate).end();
    if (fate === 'accepted') response.writeHead(200).end('Accepted');
    else response.destroy();
    if (fate === 'lost') return;
    const run = Promise.resolve(handle(received)).finally(() => running.delete(run));
    running.add(run);
  };
  receiver.respond = (response, received) => {
    receive(response, received).catch(() => response.destroy());
  };

  const { origin, events } = receiver;
  const platform: HookPlatform = {
    origin,
    events,
    fateOf: () => 'accepted',
    open: (handle) => {
      addresses += 1;
      const path = `/automations/${addresses}`;
      handlers.set(path, handle);
      return origin + path;
    },
    close: (url) => void handlers.delete(url.slice(origin.length)),
    idle: async () => {
      while (running.size > 0) await Promise.all(running);
    },
  };
  return platform;
}

/**
 * Resolves when the platform has accepted, and has handled, events up to this `createdAt` in milliseconds. Until then `tick` is called
 * again and again: it advances the clock of the test over pauses and back-offs, in steps that are short beside the claim of an event.
 */
export async function untilAnnounced(
  { store }: Pick<TestService, 'store'>,
  hookId: string,
  platform: HookPlatform,
  createdAt: number,
  tick: () => void = () => undefined,
): Promise<void> {
  const check = async () => {
    tick();
    const hook = await store.hooks.find(hookId);
    if (!hook || hook.announcedThrough < createdAt) throw new Error('the leads are not announced yet');
  };
  await vi.waitFor(check, { interval: 20 });
  await platform.idle();
}
