import { expect, test } from 'vitest';
import { terminal } from './terminal.ts';

/** The demo prints its addresses and ends at once. */
const parts = { signal: AbortSignal.abort() };

test('one address, with the token of the first user behind #', async () => {
  const { stdout } = await terminal().run('demo --port 0 --json', { parts });
  const { baseUrl, consoleUrl, callers } = JSON.parse(stdout);
  expect(consoleUrl).toBe(`${baseUrl}/#token=${callers[0].token}`);
  const text = await terminal().run('demo --port 0', { parts });
  expect(text.stdout).toMatch(/Open this address in a browser.*\nhttp:\/\/127\.0\.0\.1:\d+\/#token=ey\S+\n/);
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
