import { chmodSync, existsSync, readFileSync } from 'node:fs';
import { CLIENT_HEADER, CONSOLE_CLIENT } from '@leadtap/contract';
import { expect, test, vi } from 'vitest';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { startService } from '../../../testing/harness/service.ts';
import { readStatus } from '../status/support/status.ts';
import { terminal, terminalWithUsers } from './terminal.ts';

const claimsOf = (url: string) =>
  JSON.parse(Buffer.from(/#token=\w+\.([\w-]+)/.exec(url)?.[1] ?? '', 'base64url').toString()) as Record<
    string,
    unknown
  >;

test.each([
  ['the default address', {}, 'http://127.0.0.1:3000/', undefined],
  [
    'LEADTAP_HOST and LEADTAP_PORT',
    { LEADTAP_HOST: '::1', LEADTAP_PORT: '80' },
    'http://[::1]:80/',
    undefined,
  ],
  [
    'all addresses',
    { LEADTAP_HOST: '0.0.0.0', LEADTAP_BASE_PATH: '/api' },
    'http://localhost:3000/api/',
    undefined,
  ],
  [
    'LEADTAP_PUBLIC_URL',
    { LEADTAP_PUBLIC_URL: 'https://leads.example.com' },
    'https://leads.example.com/',
    'leads:read leads:write',
  ],
])('%s: one line with a token of an hour', async (_what, env, address, scope) => {
  const { run } = await terminalWithUsers();
  const { code, stdout, stderr } = await run('open --user boss', {
    env: { LEADTAP_METRICS_ADDRESS: 'off', ...env },
  });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout.startsWith(`${address}#token=ey`)).toBe(true);
  expect(stdout).toMatch(/^\S+\n$/);
  const claims = claimsOf(stdout);
  expect(claims).toMatchObject({ sub: 'boss', ...(scope && { scope }) });
  expect(Number(claims['exp']) - Number(claims['iat'])).toBe(3600);
  expect((await run('token list --user boss')).stdout).toContain('console');
});

test('an unknown user, a console that is switched off, and an unknown port are refused', async () => {
  const { run } = await terminalWithUsers();
  expect(await run('open --user unknown')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('there is no user unknown\n'),
  });
  expect(await run('open --user boss', { env: { LEADTAP_CONSOLE: 'off' } })).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('the console is switched off\n'),
  });
  expect(await run('open --user boss', { env: { LEADTAP_PORT: '0' } })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('LEADTAP_PORT is 0\n'),
  });
});

test('at a terminal with a display it opens the browser, and a missing one is no error', async () => {
  const { run, save, path } = await terminalWithUsers();
  save(
    'bin/xdg-open',
    `#!/bin/sh\necho "$@" > '${path('opened.part')}'\nmv '${path('opened.part')}' '${path('opened')}'\n`,
  );
  chmodSync(path('bin/xdg-open'), 0o755);
  const env = { PATH: `${path('bin')}:/usr/bin:/bin`, DISPLAY: ':0' };
  const isTTY = true;
  const quiet = [
    await run('open --user boss', { env }),
    await run('open --user boss --json', { env, isTTY }),
    await run('open --user boss', { env: { PATH: env.PATH }, isTTY }),
    await run('open --user boss', { env: { ...env, PATH: path('nowhere') }, isTTY }),
  ];
  expect(quiet.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
  const { stdout } = await run('open --user boss', { env, isTTY });
  await vi.waitFor(() => expect(existsSync(path('opened'))).toBe(true));
  expect(readFileSync(path('opened'), 'utf8')).toBe(stdout);
});

test('the token works, and neither it nor its end is a consumer or a problem', async () => {
  const clock = manualClock();
  const service = await startService({ clock, recordFlushMs: 0 });
  const { run } = terminal();
  const { stdout } = await run('open --user boss --json', {
    env: { ...service.database.env, LEADTAP_PUBLIC_URL: service.url },
    parts: { clock, cwd: service.folder },
  });
  const { url, expiresAt } = JSON.parse(stdout) as Record<'url' | 'expiresAt', string>;
  expect(Date.parse(expiresAt) - clock()).toBe(3_600_000);
  const [address = '', token = ''] = url.split('#token=');
  const statuses: number[] = [];
  for (const advanceMs of [0, 7_200_000]) {
    clock.advance(advanceMs);
    const headers = { authorization: `Bearer ${token}`, [CLIENT_HEADER]: CONSOLE_CLIENT };
    statuses.push((await fetch(`${address}automation/new-leads?since=2020-01-01`, { headers })).status);
  }
  expect(statuses).toEqual([200, 401]);
  expect(await readStatus(service)).toMatchObject({ problems: [], out: [] });
});
