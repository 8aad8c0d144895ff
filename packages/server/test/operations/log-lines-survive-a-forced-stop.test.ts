import { once } from 'node:events';
import { join } from 'node:path';
import { issueToken, loadSigningKeys } from 'leadtap';
import { expect, it, onTestFinished } from 'vitest';
import { makeTestDatabase } from '../../../testing/harness/database.ts';
import { spawnLeadtap } from '../../../testing/harness/leadtap-process.ts';
import { ORGANISATION } from '../../../testing/harness/organisation.ts';
import { tempFolder } from '../../../testing/harness/temp-folder.ts';
import { connectRaw, requestHead } from './raw-connection.ts';

/** Ends the process as a second Ctrl+C or an uncaught error does: no code of the service runs any more, except at `exit`. */
const EXIT_ON_SIGUSR2 = "data:text/javascript,process.on('SIGUSR2',()=>process.exit(7))";

/** `leadtap serve` as a process, and a token for it. */
async function serve() {
  const folder = tempFolder();
  const data = join(folder, 'data');
  const database = await makeTestDatabase(onTestFinished, { folder: data });
  const env = {
    ...database.env,
    LEADTAP_PORT: '0',
    LEADTAP_METRICS_ADDRESS: 'off',
    NODE_OPTIONS: `--import=${EXIT_ON_SIGUSR2}`,
  };
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

it('a service that exits at once has logged every poll that it answered', async () => {
  const { child, ended, url, token } = await serve();
  const { socket } = await connectRaw(url);
  const polls = 20;
  for (let n = 0; n < polls; n += 1) {
    const answered = once(socket, 'data');
    socket.write(requestHead(url, token));
    await answered;
  }
  // At once: the lines of the last polls are collected, and not yet written.
  child.kill('SIGUSR2');
  const { code, stdout } = await ended;
  expect(code).toBe(7);
  const requests = stdout.split('\n').filter((line) => line.includes('"msg":"request"'));
  expect(requests.map((line) => JSON.parse(line).status)).toEqual(Array.from({ length: polls }, () => 200));
});
