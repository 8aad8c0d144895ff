/** `Expect: 100-continue`: a client that waits for 100 before it sends its body gets it after the checks, or else the error. */
import type { Server, ServerResponse } from 'node:http';

const waiting = new WeakSet<ServerResponse>();

/** Replaces Node's default, which sends 100 to everyone, before the token is checked. */
export function delayContinue(server: Server): void {
  server.on('checkContinue', (request, response) => {
    waiting.add(response);
    server.emit('request', request, response);
  });
}

/** Whether the client may still be waiting to send its body. */
export const isContinueDue = (response: ServerResponse): boolean => waiting.has(response);

export function sendContinue(response: ServerResponse): void {
  if (waiting.delete(response)) response.writeContinue();
}
