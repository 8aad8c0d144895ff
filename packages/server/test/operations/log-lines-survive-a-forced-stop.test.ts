import { once } from 'node:events';
import { join } from 'node:path';
import { issueToken, loadSigningKeys } from 'leadtap';
import { expect, it, onTestFinished } from 'vitest';
import { makeTestDatabase } from '../../../testing/harness/database.ts';
import { spawnLeadtap } from '../../../testing/harness/leadtap-process.ts';
import { ORGANISATION } from '../../../testing/harness/organisation.ts';
import { tempFolder } from '../../../testing/harness/temp-folder.ts';
import { connectRaw, requestHead } from './raw-connection.ts';

/** `leadtap serve` as a process, and a token for it. */
async function serve() {
  const folder = tempFolder();
  const data = join(folder, 'data');
  const database = await makeTestDatabase(onTestFinished, { folder: data });
  const env = { ...database.env, LEADTAP_PORT: '0', LEADTAP_METRICS_ADDRESS: 'off' };
  const { child, lines, ended } = spawnLeadtap(['serve'], env, folder);
  let url: string | undefined;
  while (url === undefined) ({ url } = JSON.parse((await lines.next()).value ?? '{"url":"it ended"}'));
  const store = await database.openStore();
  await store.applyOrganisation(ORGANISATION);
  await store.close();
  const keys = await loadSigningKeys({ file: join(data, 'signing.key') });
  const now = Date.now();
  const token = await issueToken(keys, {
    userId: 'boss',
    tokenId: 'a',
    issuedAt: now,
    expiresAt: now + 3_600_000,
  });
  return { child, ended, url, token };
}

it('a service that is stopped by a second signal has logged every poll that it answered', async () => {
  const { child, ended, url, token } = await serve();
  const { socket } = await connectRaw(url);
  const polls = 20;
  for (let n = 0; n < polls; n += 1) {
    const answered = once(socket, 'data');
    socket.write(requestHead(url, token));
    await answered;
  }
  // An unfinished request, so that the first signal does not end the process.
  socket.write('GET / HTTP/1.1\r\n');
  child.kill('SIGINT');
  // A second signal counts when it comes a second later.
  const repeat = setInterval(() => child.kill('SIGTERM'), 100);
  const { stdout } = await ended;
  clearInterval(repeat);
  const requests = stdout.split('\n').filter((line) => line.includes('"msg":"request"'));
  expect(requests.map((line) => JSON.parse(line).status)).toEqual(Array.from({ length: polls }, () => 200));
});
