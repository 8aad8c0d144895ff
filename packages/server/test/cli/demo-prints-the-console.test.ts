import { decodeJwt } from 'jose';
import { expect, test } from 'vitest';
import { terminal } from './terminal.ts';

/** The demo prints its addresses and ends at once. */
const parts = { signal: AbortSignal.abort() };

test('one address, with a token of the first user behind # that may also send leads', async () => {
  const { stdout } = await terminal().run('demo --port 0 --json', { parts });
  const { baseUrl, consoleUrl, callers } = JSON.parse(stdout);
  const [address, token = ''] = consoleUrl.split('#token=');
  expect(address).toBe(`${baseUrl}/`);
  expect(callers.map((caller: { token: string }) => caller.token)).not.toContain(token);
  expect(decodeJwt(token)).toMatchObject({ sub: 'ada', scope: 'leads:read leads:write' });
});

/** The rows of a terminal with 80 columns, and the row of the cursor. */
const rowsOf = (text: string): number =>
  text.split('\n').reduce((rows, line) => rows + Math.max(1, Math.ceil(line.length / 80)), 0);

test('as its last line, and all that it prints fits on a terminal of 80 × 24', async () => {
  const { stdout } = await terminal().run('demo --port 0', { parts, isTTY: true, env: { NO_COLOR: '1' } });
  expect(stdout).toMatch(/Open this address.*\nhttp:\/\/127\.0\.0\.1:\d+\/#token=ey\S+\n$/);
  expect(rowsOf(stdout)).toBeLessThanOrEqual(23);
  expect(stdout.match(/Bearer/g)).toHaveLength(1);
  for (const name of ['ada', 'ben', 'cleo', 'dan', 'zoe']) expect(stdout).toContain(name);
});

test('with an address that a browser can open, if it listens on all addresses', async () => {
  const { stdout } = await terminal().run('demo --host 0.0.0.0 --port 0', { parts, isTTY: true });
  expect(stdout).toMatch(/\nhttp:\/\/localhost:\d+\/#token=ey\S+\n$/);
  expect(stdout).not.toContain('0.0.0.0');
});

test('below the base path', async () => {
  const env = { LEADTAP_BASE_PATH: '/api' };
  const { stdout } = await terminal().run('demo --port 0 --json', { parts, env });
  expect(JSON.parse(stdout).consoleUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/api\/#token=/);
});

test('but not if the console is switched off', async () => {
  const env = { LEADTAP_CONSOLE: 'off' };
  const { stdout } = await terminal().run('demo --port 0 --json', { parts, env });
  expect(JSON.parse(stdout)).not.toHaveProperty('consoleUrl');
  const text = await terminal().run('demo --port 0', { parts, env });
  expect(text.stdout).not.toContain('#token=');
});
