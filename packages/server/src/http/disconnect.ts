import type { ServerResponse } from 'node:http';

/** Aborted when the client disconnects before the response is sent. */
export function disconnectSignal(response: ServerResponse): AbortSignal {
  const disconnect = new AbortController();
  if (response.destroyed) disconnect.abort();
  response.once('close', () => {
    if (!response.writableFinished) disconnect.abort();
  });
  return disconnect.signal;
}
