import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { HookEvent } from '@leadtap/contract';
import { onTestFinished } from 'vitest';
import type { WhenDone } from '../harness/temp-folder.ts';

export interface ReceivedEvent {
  readonly headers: IncomingHttpHeaders;
  readonly method: string | undefined;
  readonly path: string | undefined;
  readonly text: string;
  readonly event: HookEvent;
  readonly at: number;
}

export interface Receiver {
  readonly origin: string;
  readonly url: string;
  readonly events: ReceivedEvent[];
  /** How it answers from now on. */
  respond: (response: ServerResponse, event: ReceivedEvent) => void;
  /** The event with this number, from 1, as soon as it has arrived. Fails if it does not come for long. */
  event(number: number): Promise<ReceivedEvent>;
}

/** Time in which nothing kept this process from running: on a busy machine, more time passes. */
const MAX_QUIET_MS = 30_000;
const TICK_MS = 100;

/** Calls back when a wait cannot succeed any more. Returns how to stop that. */
function afterQuietTime(callback: () => void): () => void {
  let quietMs = 0;
  let lastAt = performance.now();
  const timer = setInterval(() => {
    const elapsedMs = performance.now() - lastAt;
    lastAt += elapsedMs;
    if (elapsedMs < 1.5 * TICK_MS) quietMs += elapsedMs;
    if (quietMs > MAX_QUIET_MS) callback();
  }, TICK_MS).unref();
  return () => clearInterval(timer);
}

export const respondWith =
  (status: number, headers: Record<string, string> = {}) =>
  (response: ServerResponse): void => {
    response.writeHead(status, headers).end();
  };

/** A receiver of webhooks on 127.0.0.1: the platform that events are sent to. List its `origin` in `LEADTAP_HOOK_HOSTS`. */
export async function startReceiver(whenDone: WhenDone = onTestFinished): Promise<Receiver> {
  const waiting = new Set<() => void>();
  const events: ReceivedEvent[] = [];
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    const { headers, method, url: path } = request;
    const received = { headers, method, path, text, event: JSON.parse(text) as HookEvent, at: Date.now() };
    events.push(received);
    for (const wake of waiting) wake();
    receiver.respond(response, received);
  };
  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  whenDone(() => {
    server.closeAllConnections();
    server.close();
  });
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const receiver: Receiver = {
    origin,
    url: `${origin}/hook`,
    events,
    respond: respondWith(200),
    event: (number) =>
      new Promise((resolve, reject) => {
        const end = () => {
          waiting.delete(check);
          stop();
        };
        const check = () => {
          const event = events[number - 1];
          if (!event) return;
          end();
          resolve(event);
        };
        const stop = afterQuietTime(() => {
          end();
          reject(new Error(`event ${number} does not come; there were ${events.length}`));
        });
        waiting.add(check);
        check();
      }),
  };
  return receiver;
}
