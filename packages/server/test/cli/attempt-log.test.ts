import { expect, test, vi } from 'vitest';
import { sendLeads } from '../../../testing/harness/intake.ts';
import { manualClock } from '../../../testing/harness/manual-clock.ts';
import { startService } from '../../../testing/harness/service.ts';
import { startReceiver } from '../../../testing/integrations/hook-receiver.ts';
import { ExitCode } from '../../src/cli/exit.ts';
import { client, iso } from '../consumers/support/consumers.ts';
import { startWith, subscribe } from '../hooks/support/hooks.ts';
import { captureStream } from './capture-stream.ts';
import { type RunOptions, terminal } from './terminal.ts';

/** A service whose consumer `zapier` has got leads, was refused, and polls again. */
async function installation() {
  const clock = manualClock();
  const service = await startService({ clock });
  const flush = async () => service.service.recorder?.flush();
  const zapier = await client(service, 'boss', 'zapier');
  const poll = async (query: string) => {
    clock.advance(60_000);
    await zapier.poll(query);
    await flush();
  };
  const run = (command: string, { parts, ...options }: RunOptions = {}) =>
    terminal().run(command, { env: service.database.env, ...options, parts: { clock, ...parts } });
  await poll(`since=${iso(clock())}`);
  await poll(`since=${iso(clock())}`);
  const before = clock() - 1;
  const [, last = 0] = await service.add({}, {});
  await poll(`since=${iso(before)}`);
  await poll('since=yesterday');
  await poll('since=yesterday');
  await poll(`since=${iso(last)}`);
  await poll(`since=${iso(last)}`);
  return { clock, service, poll, run, last };
}

const LINES = [
  '2026-03-02T09:32:59Z · 2 polls without new leads, since 2026-03-02T09:31:00Z',
  '2026-03-02T09:33:00Z ✓ 2 leads',
  '2026-03-02T09:35:00Z ✗ 400 the query is not valid, 2 times, since 2026-03-02T09:34:00Z',
  '2026-03-02T09:36:00Z ✓ works again',
  '2026-03-02T09:37:00Z · 1 poll without new leads',
];

const textOf = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join('');

test('consumers log prints one line for each entry, the oldest first, found by name, token or id', async () => {
  const { run, service, clock } = await installation();
  const times = { issuedAt: clock(), expiresAt: clock() + 86_400_000, scopes: ['leads:read'] } as const;
  await service.store.recordTokens([{ id: 'zapier', userId: 'boss', name: 'Zapier', ...times }]);
  const [{ id }] = JSON.parse((await run('consumers --json')).stdout);
  for (const name of ['zapier', 'Zapier', id])
    expect(await run(`consumers log ${name}`)).toEqual({ code: 0, stdout: textOf(LINES), stderr: '' });
  expect((await run('consumers log zapier --limit 2')).stdout).toBe(textOf(LINES.slice(-2)));
  const { stdout } = await run('consumers log zapier --json');
  const token = await service.token('boss', { tokenId: 'reader' });
  const response = await fetch(`${service.url}/automation/consumers/${id}/log`, {
    headers: { authorization: `Bearer ${token}` },
  });
  const { log } = (await response.json()) as { log: unknown[] };
  expect(JSON.parse(stdout)).toEqual(log.reverse());
});

test('says what to do when the last entry is a refusal', async () => {
  const { run, poll } = await installation();
  await poll('since=yesterday');
  const { stdout, stderr } = await run('consumers log zapier --limit 1', { isTTY: true });
  expect(stdout).toBe('2026-03-02T09:38:00Z \u001b[31m✗\u001b[39m 400 the query is not valid\n');
  expect(stderr).toMatch(/^\S.*\n$/);
});

test('an unknown name lists what exists, and an ambiguous one the ids', async () => {
  const { run, service } = await installation();
  expect(await run('consumers log nothing')).toMatchObject({
    ...{ code: 1, stdout: '' },
    stderr: expect.stringMatching(
      /^leadtap: no consumer is called "nothing"\n {2}There are these:\n {2}[\w-]{16} {2}zapier \(user boss, company acme\)\n/,
    ),
  });
  await (await client(service, 'rival', 'other')).poll();
  await service.service.recorder?.flush();
  for (const [id, userId] of [
    ['zapier', 'boss'],
    ['other', 'rival'],
  ] as const) {
    const times = { issuedAt: 0, expiresAt: Date.now(), scopes: ['leads:read'] as const };
    await service.store.recordTokens([{ id, userId, name: 'Zapier', ...times }]);
  }
  const { code, stderr } = await run('consumers log Zapier');
  expect(code).toBe(1);
  expect(stderr).toMatch(/^leadtap: 2 consumers are called "Zapier"\n {2}Give the id/);
  const [, id = ''] = /^ {2}([\w-]{16}) {2}Zapier \(user rival, company globex\)$/m.exec(stderr) ?? [];
  expect((await run(`consumers log ${id}`)).stdout).toContain('1 poll without new leads');
});

test.each(['0', '101', 'all'])('--limit %s is refused', async (limit) => {
  const { code, stderr } = await terminal().run(`consumers log Zapier --limit ${limit}`);
  expect(code).toBe(2);
  expect(stderr).toContain('from 1 to 100');
});

test.each([
  ['', ['✓ 2 leads', '✗ 400 the', '✓ works again'], ['· 1 poll without new leads', '✓ 1 lead']],
  [' --json', ['"leads"', '"refused"', '"recovered"'], ['"empty"', '"leads"']],
])('--follow%s prints each entry once, until the signal', async (flags, first, then) => {
  const { service, poll, run, last } = await installation();
  const stdout = captureStream();
  const stop = new AbortController();
  const running = run(`consumers log zapier --limit 3 --follow${flags}`, {
    parts: { stdout, signal: stop.signal },
  });
  const expectLines = (expected: readonly string[]) =>
    vi.waitFor(() => {
      const lines = stdout.text().trimEnd().split('\n');
      expect(lines).toEqual(expected.map((text) => expect.stringContaining(text)));
      if (flags !== '') for (const line of lines) JSON.parse(line);
    }, 20_000);
  await expectLines(first);
  const [added = 0] = await service.add({});
  await poll(`since=${iso(last)}`);
  await expectLines([...first, ...then]);
  await poll('since=yesterday');
  const refused = first[1] ?? '';
  await expectLines([...first, ...then, refused]);
  // The same once more is counted in the log and not printed. What follows is.
  await poll('since=yesterday');
  await poll(`since=${iso(added)}`);
  await expectLines([...first, ...then, refused, first[2] ?? '']);
  stop.abort(new ExitCode(130));
  expect((await running).code).toBe(130);
});

test('what a receiver answered is shown on one line of the terminal', async () => {
  const receiver = await startReceiver();
  const service = await startWith(receiver);
  await service.add({});
  await subscribe(service, await service.token('boss'), receiver.url, undefined, 'lead');
  const answer = `\u001b[31mno\u202e ${'such list '.repeat(30)}`;
  receiver.respond = (response) => response.writeHead(503, { 'content-type': 'text/plain' }).end(answer);
  await service.add({});
  const { host } = new URL(receiver.url);
  const env = { ...service.database.env, NO_COLOR: '1' };
  await vi.waitFor(async () => {
    const [{ id }] = JSON.parse((await terminal().run('consumers --json', { env })).stdout);
    const run = (isTTY: boolean) => terminal().run(`consumers log ${id}`, { env, isTTY });
    const { stdout } = await run(true);
    expect(stdout).toContain(` ✗ 503 from ${host}`);
    for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
    const whole = (await run(false)).stdout;
    expect(whole).toContain(': [31mno such list such list');
    for (const character of ['\u001b', '\u202e']) expect(whole).not.toContain(character);
  }, 20_000);
});

test('senders log', async () => {
  const service = await startService();
  await sendLeads(service, [{ firstName: 'Ada' }, { firstName: 'Grace' }], { tokenId: 'web' });
  await sendLeads(service, { nick: 'secret' }, { tokenId: 'web' });
  await service.service.senders?.flush();
  const run = (command: string) => terminal().run(command, { env: service.database.env });
  const { code, stdout, stderr } = await run('senders log web');
  expect({ code, lines: stdout.replaceAll(/^\S+Z /gm, '').split('\n') }).toEqual({
    code: 0,
    lines: ['✓ 2 leads', '✗ 422 at least one lead is not valid: nick', ''],
  });
  expect(stderr).toContain('nick');
  expect((await run('senders log nothing')).stderr).toContain('no sender is called "nothing"');
});
