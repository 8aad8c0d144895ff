import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export type OnResponse = (client: Client, head: string) => unknown;

/** One connection that sends prepared requests and reads the head of each response. */
export class Client {
  readonly #socket: Socket;
  readonly #onResponse: OnResponse;
  #text = '';
  #head = '';
  /** Bytes of the body that are still to come; undefined before its head is complete. */
  #missing: number | undefined;

  private constructor(socket: Socket, onResponse: OnResponse) {
    this.#socket = socket;
    this.#onResponse = onResponse;
    socket.setNoDelay(true).on('data', (chunk: Buffer) => this.#read(chunk));
  }

  static async open(port: number, onResponse: OnResponse): Promise<Client> {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    return new Client(socket, onResponse);
  }

  send(request: string): void {
    this.#socket.write(request, 'latin1');
  }

  close(): void {
    this.#socket.destroy();
  }

  #read(chunk: Buffer): void {
    let received = chunk.length;
    if (this.#missing === undefined) {
      this.#text += chunk.toString('latin1');
      const end = this.#text.indexOf('\r\n\r\n');
      if (end < 0) return;
      this.#head = this.#text.slice(0, end);
      received = this.#text.length - end - 4;
      this.#missing = Number(/\r\ncontent-length: (\d+)/i.exec(this.#head)?.[1]);
      this.#text = '';
    }
    this.#missing -= received;
    if (this.#missing > 0) return;
    this.#missing = undefined;
    this.#onResponse(this, this.#head);
  }
}

/** A few at a time: the kernel resets connections that do not fit into the backlog of the server. */
const OPENED_AT_ONCE = 100;

export async function openClients(port: number, count: number, onResponse: OnResponse): Promise<Client[]> {
  const clients: Client[] = [];
  while (clients.length < count) {
    const length = Math.min(OPENED_AT_ONCE, count - clients.length);
    clients.push(...(await Promise.all(Array.from({ length }, () => Client.open(port, onResponse)))));
  }
  return clients;
}
