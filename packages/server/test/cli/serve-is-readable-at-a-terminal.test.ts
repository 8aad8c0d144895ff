/** `leadtap serve` as a person sees it, in a pseudo-terminal of `script` (util-linux). */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { expect, onTestFinished, test, vi } from 'vitest';
import { runLeadtap } from '../../../testing/harness/leadtap-process.ts';
import { tempFolder } from '../../../testing/harness/temp-folder.ts';
import { toTerminalLine } from '../../src/cli/terminal-log.ts';

const BIN = fileURLToPath(new URL('../../bin/leadtap.js', import.meta.url));

function serveInTerminal(env: Record<string, string>, cwd = tempFolder()) {
  const child = spawn('script', ['-qfec', `'${process.execPath}' '${BIN}' serve`, '/dev/null'], {
    cwd,
    env: { PATH: process.env['PATH'] ?? '', TERM: 'xterm', LEADTAP_PORT: '0', ...env },
  });
  const closed = once(child, 'close');
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await closed;
  });
  let output = '';
  child.stdout.on('data', (chunk) => {
    output += chunk;
  });
  const shown = () => stripVTControlCharacters(output).replaceAll('\r', '');
  return { child, closed, shown };
}

test('it prints its addresses, then a short line for each request, and no JSON', async () => {
  const { child, closed, shown } = serveInTerminal({ LEADTAP_METRICS_ADDRESS: '127.0.0.1:0' });
  const base = String.raw`http://127\.0\.0\.1:\d+`;
  const addresses = new RegExp(
    `\\n  Console +${base}/\\n  Endpoint +${base}/automation/new-leads\\n  Status +${base}/status\\n`,
  );
  await vi.waitFor(() => expect(shown()).toMatch(addresses));
  // A new installation.
  expect(shown()).toMatch(/^\d\d:\d\d:\d\d {2}warning: created a new, empty database: /m);
  const [, endpoint = ''] = /Endpoint +(\S+)/.exec(shown()) ?? [];
  expect((await fetch(endpoint)).status).toBe(401);
  const line = /^\d\d:\d\d:\d\d {2}GET \/automation\/new-leads 401 {2}token-missing {2}\d+ ms$/m;
  await vi.waitFor(() => expect(shown()).toMatch(line));
  child.stdin.write('\u0003');
  await closed;
  expect(shown()).toMatch(/^\d\d:\d\d:\d\d {2}stopped$/m);
  expect(shown()).not.toContain('{"');
  expect(shown()).not.toContain('Server listening');
});

test.each([
  ['no user', [], undefined],
  ['one user', ['ada'], '--user ada'],
  ['two users', ['ada', 'ben'], '--user ID'],
])('with %s, it prints the command that opens the console, connected', async (_what, ids, end) => {
  const cwd = tempFolder();
  const user = { email: null, name: null, plan: 'PROFESSIONAL', accessLevel: 'COMPANY' };
  const company = { id: 'acme', name: 'Acme', branches: [], users: ids.map((id) => ({ id, ...user })) };
  writeFileSync(join(cwd, 'org.json'), JSON.stringify({ companies: [company] }));
  expect(await runLeadtap(['org', 'apply', 'org.json'], {}, cwd)).toMatchObject({ code: 0 });
  const { shown } = serveInTerminal({ LEADTAP_METRICS_ADDRESS: 'off' }, cwd);
  await vi.waitFor(() => expect(shown()).toMatch(/ {2}Endpoint .*\n[\s\S]*\n\n?$/));
  const [, command = '', printed] = /^ {2}(LEADTAP_PORT=\d+ .+ open (.+))$/m.exec(shown()) ?? [];
  expect(printed).toBe(end);
  if (!end?.includes('ada')) return;
  const link = execFileSync('sh', ['-c', command], { cwd, encoding: 'utf8' });
  const [, address = ''] = /Console +(\S+)/.exec(shown()) ?? [];
  expect(link.startsWith(`${address}#token=`)).toBe(true);
});

test('only the addresses that exist', async () => {
  const { shown } = serveInTerminal({ LEADTAP_METRICS_ADDRESS: 'off', LEADTAP_CONSOLE: 'off' });
  await vi.waitFor(() => expect(shown()).toMatch(/ {2}Endpoint .*\n/));
  expect(shown()).not.toMatch(/Console|Status/);
});

test('a line shows the message of an error, and no characters that control the terminal', () => {
  const line = {
    level: 'error',
    time: '2026-03-02T09:30:00.000Z',
    msg: 'unavailable',
    requestId: 'a',
    err: { message: 'no\u001b[2J' },
  };
  expect(toTerminalLine(JSON.stringify(line)).slice(8)).toBe('  error: unavailable  no?[2J\n');
});
