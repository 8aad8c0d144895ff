/** No HTTP at all: whatever comes is answered with the same bytes. It shows how fast the load generator itself is. */
import { type AddressInfo, createServer } from 'node:net';
import type { Canned, Listening } from './messages.ts';

let bytes = Buffer.alloc(0);

const server = createServer({ noDelay: true }, (socket) => {
  // The load generator sends a request in one piece, and the next one after the answer.
  socket.on('data', () => socket.write(bytes));
  socket.on('error', () => socket.destroy());
});
const listening = new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));

process.on('message', async ({ answers: [answer] }: Canned) => {
  const headers = answer?.headers ?? [];
  const lines = headers.flatMap((name, n) => (n % 2 === 0 ? [`${name}: ${headers[n + 1]}\r\n`] : []));
  const head = `HTTP/1.1 ${answer?.status} OK\r\n${lines.join('')}\r\n`;
  bytes = Buffer.concat([Buffer.from(head, 'latin1'), answer?.body ?? Buffer.alloc(0)]);
  await listening;
  const { port } = server.address() as AddressInfo;
  process.send?.({ port } satisfies Listening);
});
process.on('disconnect', () => process.exit());
