import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Prints its port when it listens, and ends with the bench, whose death closes stdin. */
export function listen(server: Server): void {
  server.keepAliveTimeout = 72_000;
  server.listen(0, '127.0.0.1', () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`));
  process.stdin.on('end', () => process.exit()).resume();
}
