/** `Expect: 100-continue`: a client that waits for 100 before it sends its body gets it after the checks, or else the error. */
import type { Server, ServerResponse } from 'node:http';

const awaitingContinue = new WeakSet<ServerResponse>();

/** Replaces Node's default, which sends 100 to everyone, before the token is checked. */
export function delayContinue(server: Server): void {
  server.on('checkContinue', (request, response) => {
    awaitingContinue.add(response);
    server.emit('request', request, response);
  });
}

export function sendContinue(response: ServerResponse): void {
  if (awaitingContinue.delete(response)) response.writeContinue();
}
