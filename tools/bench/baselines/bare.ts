/**
 * The limit: `node:http` and nothing else. The same status, headers and body as the service, all from constants.
 * `connection` and `keep-alive` are left to Node.js, as the service leaves them.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Canned, CannedAnswer, Listening } from './messages.ts';

interface Constant {
  readonly status: number;
  readonly headers: string[];
  readonly body: Buffer;
}

let answers: readonly Constant[] = [];
let next = 0;

const toConstant = ({ status, headers, body }: CannedAnswer): Constant => ({
  status,
  headers: [...headers],
  body: Buffer.from(body),
});

const server = createServer((_request, response) => {
  const answer = answers[next];
  next = next + 1 < answers.length ? next + 1 : 0;
  if (answer) response.writeHead(answer.status, answer.headers).end(answer.body);
});
server.keepAliveTimeout = 72_000;
const listening = new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));

process.on('message', async (canned: Canned) => {
  answers = canned.answers.map(toConstant);
  next = 0;
  await listening;
  const { port } = server.address() as AddressInfo;
  process.send?.({ port } satisfies Listening);
});
process.on('disconnect', () => process.exit());
