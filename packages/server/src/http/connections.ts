import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** A connection that sends more requests than this ahead of their answers is closed after the last of them. */
const MAX_PIPELINED = 32;
/** It is closed at once when it sends more than this after them: Node keeps each request until the connection closes. */
const MAX_DROPPED = 100;

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** The first exchange of a connection is being answered, the others wait. */
interface Connection {
  readonly exchanges: Exchange[];
  /** Up to the end of the last exchange. If the socket has read more, a request is on its way. */
  bytesRead: number;
  /** Its last response has `Connection: close`; further requests are dropped. */
  isLast: boolean;
  dropped: number;
}

/**
 * Answers the requests of one connection one after the other. Node emits all requests that arrive in one packet at once;
 * a client that pipelines hundreds of them would make all others wait. Here it waits in turn with them.
 */
export class Connections {
  readonly #listener: RequestListener;
  readonly #open = new Map<Socket, Connection>();
  #isDraining = false;
  #isClosing = false;

  constructor(listener: RequestListener) {
    this.#listener = listener;
  }

  watch(server: Server): void {
    server.on('connection', (socket: Socket) => this.#accept(socket));
    server.on('request', (request, response) => this.#receive({ request, response }));
    // Node's own, which `server.close()` calls, takes a connection for idle when `response.end()` was called, although
    // most of the response may not have been sent: a slow client would get half of it.
    server.closeIdleConnections = () => this.#closeIdle();
  }

  /** From now on every response has `Connection: close`, so that clients connect to another instance. */
  drain(): void {
    this.#isDraining = true;
    for (const connection of this.#open.values()) this.#closeAfterLast(connection);
  }

  /** Closes the connections on which nothing is being received or sent, and the others when that is done. */
  #closeIdle(): void {
    this.#isClosing = true;
    for (const [socket, { exchanges, bytesRead }] of this.#open)
      if (exchanges.length === 0 && socket.bytesRead === bytesRead) socket.destroy();
  }

  #accept(socket: Socket): void {
    // Node asks the system for the address at the first use and keeps it. After a reset it would be unknown.
    void socket.remoteAddress;
    this.#open.set(socket, { exchanges: [], bytesRead: 0, isLast: false, dropped: 0 });
    socket.once('close', () => this.#open.delete(socket));
  }

  #receive(exchange: Exchange): void {
    const connection = this.#open.get(exchange.request.socket);
    if (connection === undefined) return;
    if (connection.isLast) {
      connection.dropped += 1;
      if (connection.dropped > MAX_DROPPED) exchange.request.socket.destroy();
      return;
    }
    const { exchanges } = connection;
    exchanges.push(exchange);
    if (exchanges.length === MAX_PIPELINED) this.#closeAfterLast(connection);
    if (exchanges.length === 1) this.#answer(connection);
  }

  #answer(connection: Connection): void {
    const [exchange] = connection.exchanges;
    // Gone if the connection was closed meanwhile.
    if (exchange === undefined || exchange.request.socket.destroyed) return;
    const { request, response } = exchange;
    if (this.#isDraining) this.#closeAfterLast(connection);
    response.once('close', () => {
      connection.exchanges.shift();
      connection.bytesRead = request.socket.bytesRead;
      // In the next turn of the event loop, after the requests of others.
      if (connection.exchanges.length > 0) setImmediate(() => this.#answer(connection));
      else if (this.#isClosing) request.socket.destroySoon();
    });
    this.#listener(request, response);
  }

  #closeAfterLast(connection: Connection): void {
    const last = connection.exchanges.at(-1);
    if (last === undefined || connection.isLast || last.response.headersSent) return;
    connection.isLast = true;
    last.response.setHeader('connection', 'close');
  }
}
