import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

export const isDisconnected = (request: IncomingMessage, response: ServerResponse): boolean =>
  response.destroyed || request.socket.destroyed;

/** Aborted when the client disconnects before the response is sent. */
export function disconnectSignal(request: IncomingMessage, response: ServerResponse): AbortSignal {
  const disconnect = new AbortController();
  if (isDisconnected(request, response)) disconnect.abort();
  onceClosed(request, response, () => {
    if (!response.writableFinished) disconnect.abort();
  });
  return disconnect.signal;
}

/** Calls back when the response was sent, or the client has disconnected. */
export function onceClosed(request: IncomingMessage, response: ServerResponse, callback: () => void): void {
  response.once('close', callback);
  // Node gives a response its socket when those before it on the connection are sent. One that has none is not closed
  // when the client disconnects.
  if (response.socket) return;
  const callbacks = callbacksOf(request.socket);
  callbacks.add(callback);
  response.once('close', () => callbacks.delete(callback));
}

const closing = new WeakMap<Socket, Set<() => void>>();

/** One listener for all responses of a connection: Node warns of a leak from the eleventh on. */
function callbacksOf(socket: Socket): Set<() => void> {
  const known = closing.get(socket);
  if (known) return known;
  const callbacks = new Set<() => void>();
  closing.set(socket, callbacks);
  socket.once('close', () => {
    for (const callback of callbacks) callback();
  });
  return callbacks;
}
