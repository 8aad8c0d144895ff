import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { terminal } from './terminal.ts';

/** The demo prints its addresses and ends at once. */
const parts = { signal: AbortSignal.abort() };

async function take(port: number): Promise<string> {
  const server = createServer().listen(port, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return String((server.address() as AddressInfo).port);
}

test('if the default port is in use', async () => {
  // If another program already uses the port, that is fine too.
  await take(3000).catch(() => undefined);
  const { code, stdout } = await terminal().run('demo --json', { parts });
  expect(code).toBe(0);
  const { baseUrl, notes } = JSON.parse(stdout);
  expect(new URL(baseUrl).port).not.toBe('3000');
  expect(notes).toEqual(['Port 3000 is in use, so the demo uses another port.']);
});

test.each(['flag', 'variable'])('but not if a %s sets the port', async (way) => {
  const port = await take(0);
  const ran =
    way === 'flag'
      ? await terminal().run(`demo --port ${port}`, { parts })
      : await terminal().run('demo', { parts, env: { LEADTAP_PORT: port } });
  expect(ran).toMatchObject({ code: 1, stdout: '' });
  expect(ran.stderr).toContain(
    `cannot listen on 127.0.0.1:${port}: another program listens there (EADDRINUSE)`,
  );
});
