import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/**
 * A port of 127.0.0.1 that is free now. Not one that the system would give away as a client's own: a server that is
 * down for a while must find its port free, and a client that tries it meanwhile must not connect to itself.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(15_000, 30_000);
    if (await isFree(port)) return port;
  }
}

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
