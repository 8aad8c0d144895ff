import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { ClientDisconnectedError } from '../sql/errors.ts';

/** A connection with this many unanswered requests is closed after the last of them. */
const MAX_PIPELINED = 32;
/** It is closed at once after this many further requests: Node keeps each of them in memory until the connection closes. */
const MAX_DROPPED = 100;

interface Connection {
  /** The first one is being sent, the others wait. */
  readonly responses: ServerResponse[];
  /** At the end of the last response. If the socket has read more since, a request is arriving. */
  bytesRead: number;
  /** Its last response has `Connection: close`; further requests are dropped. */
  isLast: boolean;
  dropped: number;
}

/**
 * Answers the requests of one connection one after the other. Node emits all requests of one packet at once, so a client that
 * pipelines hundreds of them would delay all other clients.
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
    server.on('request', (_request, response) => this.#receive(response));
    // `server.close()` calls this. Node's own version treats a connection as idle after `response.end()`, although part of
    // the response may not have been sent yet: a slow client would get half of it.
    server.closeIdleConnections = () => this.#closeIdle();
  }

  /** From now on every response has `Connection: close`, so that clients connect to another instance. */
  drain(): void {
    this.#isDraining = true;
    for (const connection of this.#open.values()) this.#closeAfterLast(connection);
  }

  /** Closes idle connections now, and the others after their last response. */
  #closeIdle(): void {
    this.#isClosing = true;
    for (const [socket, { responses, bytesRead }] of this.#open)
      if (responses.length === 0 && socket.bytesRead === bytesRead) socket.destroy();
  }

  #accept(socket: Socket): void {
    // Node reads the address at its first use and caches it. After a reset it would be undefined.
    void socket.remoteAddress;
    this.#open.set(socket, { responses: [], bytesRead: 0, isLast: false, dropped: 0 });
    socket.once('close', () => this.#open.delete(socket));
  }

  #receive(response: ServerResponse): void {
    const { req } = response;
    const { socket } = req;
    const connection = this.#open.get(socket);
    if (connection === undefined) return;
    if (connection.isLast) {
      connection.dropped += 1;
      if (connection.dropped > MAX_DROPPED) socket.destroy();
      return;
    }
    connection.responses.push(response);
    // HTTP/1.0 has no chunks: RFC 9112, section 6.1, has the framing count as faulty.
    const isFaulty = req.httpVersion === '1.0' && req.headers['transfer-encoding'] !== undefined;
    if (isFaulty || connection.responses.length === MAX_PIPELINED) this.#closeAfterLast(connection);
    if (connection.responses.length === 1) this.#answer(connection);
  }

  #answer(connection: Connection): void {
    const [response] = connection.responses;
    if (response === undefined || response.req.socket.destroyed) return;
    const { socket } = response.req;
    if (this.#isDraining) this.#closeAfterLast(connection);
    // Not `once`, which takes longer: a response closes once.
    response.on('close', () => {
      connection.responses.shift();
      connection.bytesRead = socket.bytesRead;
      // In the next turn of the event loop, after requests of other connections.
      if (connection.responses.length > 0) setImmediate(() => this.#answer(connection));
      else if (this.#isClosing) socket.destroySoon();
    });
    this.#listener(response.req, response);
  }

  #closeAfterLast(connection: Connection): void {
    const last = connection.responses.at(-1);
    if (last === undefined || connection.isLast || last.headersSent) return;
    connection.isLast = true;
    last.setHeader('connection', 'close');
  }
}

export const isDisconnected = (request: IncomingMessage, response: ServerResponse): boolean =>
  response.destroyed || request.socket.destroyed;

/** Aborted when the client disconnects before the response is sent. */
export function disconnectSignal(request: IncomingMessage, response: ServerResponse): AbortSignal {
  const disconnect = new AbortController();
  const abort = () => disconnect.abort(new ClientDisconnectedError('the client has disconnected'));
  if (isDisconnected(request, response)) abort();
  onceClosed(request, response, () => {
    if (!response.writableFinished) abort();
  });
  return disconnect.signal;
}

/** Calls back once the response was sent or the client has disconnected. */
export function onceClosed(request: IncomingMessage, response: ServerResponse, callback: () => void): void {
  response.on('close', callback);
  // A pipelined response has no socket until those before it are sent, and gets no `close` event until then.
  if (response.socket) return;
  const { socket } = request;
  // From the eleventh listener on, Node would warn of a leak.
  socket.setMaxListeners(0);
  socket.once('close', callback);
  response.on('close', () => socket.off('close', callback));
}
