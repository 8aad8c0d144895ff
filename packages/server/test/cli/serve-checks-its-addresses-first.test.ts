import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { terminal } from './terminal.ts';

/** A port that another program uses. */
async function takenPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

async function serveFails(env: Record<string, string>): Promise<string> {
  const shell = terminal({ empty: true });
  const database = `sqlite:${shell.path('data/leadtap.db')}`;
  const { code, stdout, stderr } = await shell.run('serve', {
    env: { LEADTAP_DATABASE_URL: database, ...env },
  });
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(existsSync(shell.path('data'))).toBe(false);
  return stderr;
}

test('a port in use: nothing is created, and nothing says that it listens', async () => {
  const port = await takenPort();
  const stderr = await serveFails({ LEADTAP_PORT: `${port}`, LEADTAP_METRICS_ADDRESS: 'off' });
  expect(stderr).toContain(`cannot listen on 127.0.0.1:${port}: another program listens there`);
});

test('the same for the metrics address', async () => {
  const port = await takenPort();
  const stderr = await serveFails({ LEADTAP_PORT: '0', LEADTAP_METRICS_ADDRESS: `127.0.0.1:${port}` });
  expect(stderr).toContain(`cannot listen on 127.0.0.1:${port}: another program listens there`);
  expect(stderr).toContain('LEADTAP_METRICS_ADDRESS');
});
