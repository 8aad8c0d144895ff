import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import type { Random } from '../random.ts';
import { TIMEOUT_MS } from './changed-sender.ts';

/** How often, of 100. The others are accepted. */
const FAULTS = {
  'after a while': 10,
  'after the timeout': 6,
  'status 500': 7,
  'status 503 with Retry-After': 3,
  'status 410': 4,
  hangs: 5,
  redirects: 5,
  'resets the connection': 5,
  'drips past the timeout': 3,
  'answers twice': 4,
} as const;
export type Fault = keyof typeof FAULTS;

export interface ReceivedRequest {
  readonly path: string;
  readonly webhookId: string;
  /** Not before the time of the claim, which is this or less than a second later. */
  readonly timestampMs: number;
  readonly arrivedAt: number;
  readonly text: string;
}

export interface ReceiverOptions {
  readonly random: Random;
  /** Chooses the fault of its first event: with as many receivers as faults, each fault happens, however few events there are. */
  readonly index: number;
  /** Before it is answered in any way, also if it is for an earlier URL. */
  readonly onRequest?: (request: ReceivedRequest) => void;
  /** The event was, or will be, accepted. */
  readonly onEvent: (request: ReceivedRequest) => void;
  /** It has answered 410. */
  readonly onGone: (request: ReceivedRequest) => void;
}

const ACCEPTED = 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n';

/** One byte after the other, until the sender gives up. */
async function drip({ socket }: ServerResponse): Promise<void> {
  for (const byte of ACCEPTED) {
    if (!socket?.writable) return;
    socket.write(byte);
    await wait((2 * TIMEOUT_MS) / ACCEPTED.length);
  }
}

const DOWN_EVERY_MS = 15_000;
const MAX_DOWN_MS = 3000;

/** Receives the events of one client, and fails at random as long as it is faulty. */
export class FaultyReceiver {
  isFaulty = true;
  events = 0;
  /** By kind. */
  readonly faults = new Map<string, number>();
  /** Requests to the address that redirects name. */
  followedRedirects = 0;
  readonly #options: ReceiverOptions;
  readonly #server: Server;
  #port = 0;
  #subscriptions = 0;

  private constructor(options: ReceiverOptions) {
    this.#options = options;
    this.#server = createServer((request, response) => {
      this.#receive(request, response).catch(() => response.destroy());
    });
  }

  static async start(options: ReceiverOptions): Promise<FaultyReceiver> {
    const receiver = new FaultyReceiver(options);
    await receiver.#listen();
    return receiver;
  }

  get origin(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  get url(): string {
    return `${this.origin}${this.#path}`;
  }

  get #path(): string {
    return `/hooks/${this.#subscriptions}`;
  }

  /** Events for the URL so far are answered with 410. */
  changeUrl(): void {
    this.#subscriptions += 1;
  }

  /** Is down from time to time, and soon for the first time. */
  async run(signal: AbortSignal): Promise<void> {
    const { random } = this.#options;
    for (let everyMs = MAX_DOWN_MS; !signal.aborted; everyMs = DOWN_EVERY_MS) {
      await wait(random.below(everyMs), undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      this.#count('is down');
      await this.close();
      await wait(random.below(MAX_DOWN_MS));
      await this.#listen();
    }
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }

  async #listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(this.#port, '127.0.0.1', resolve));
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = '';
    for await (const chunk of request) text += chunk;
    const { url: path = '', headers } = request;
    const received: ReceivedRequest = {
      ...{ path, text, arrivedAt: Date.now(), webhookId: String(headers['webhook-id']) },
      timestampMs: Number(headers['webhook-timestamp']) * 1000,
    };
    if (path === '/elsewhere') this.followedRedirects += 1;
    else this.#options.onRequest?.(received);
    if (path !== this.#path) {
      response.writeHead(410).end();
      return;
    }
    this.events += 1;
    const fault = this.isFaulty ? this.#chooseFault() : undefined;
    if (fault) this.#count(fault);
    await this.#answer(response, fault, received);
  }

  async #answer(
    response: ServerResponse,
    fault: Fault | undefined,
    received: ReceivedRequest,
  ): Promise<void> {
    const { random, onEvent, onGone } = this.#options;
    const answer = (status: number, headers = {}) => response.writeHead(status, headers).end();
    switch (fault) {
      case 'status 500':
        return void answer(500);
      case 'status 503 with Retry-After':
        return void answer(503, { 'retry-after': '1' });
      case 'status 410':
        answer(410);
        return onGone(received);
      case 'redirects':
        return void answer(random.pick(301, 302, 307, 308), { location: `${this.origin}/elsewhere` });
      case 'resets the connection':
        return void response.destroy();
      case 'hangs':
        return;
      case 'drips past the timeout':
        onEvent(received);
        return drip(response);
      case 'answers twice':
        onEvent(received);
        return void response.socket?.write(`${ACCEPTED}HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n`);
      case 'after a while':
        await wait(random.below(TIMEOUT_MS / 2));
        break;
      case 'after the timeout':
        await wait(TIMEOUT_MS + random.below(TIMEOUT_MS));
    }
    // It may have been closed meanwhile: the client polls nevertheless.
    onEvent(received);
    answer(random.pick(200, 202, 204));
  }

  #chooseFault(): Fault | undefined {
    const faults = Object.keys(FAULTS) as Fault[];
    if (this.events === 1) return faults[this.#options.index % faults.length];
    let left = this.#options.random.next() * 100;
    return faults.find((fault) => {
      left -= FAULTS[fault];
      return left < 0;
    });
  }

  #count(fault: string): void {
    this.faults.set(fault, (this.faults.get(fault) ?? 0) + 1);
  }
}
