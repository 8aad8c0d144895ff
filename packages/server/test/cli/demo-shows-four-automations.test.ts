import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Connections } from '@leadtap/contract';
import { expect, test, vi } from 'vitest';
import { spawnLeadtap } from '../../../testing/harness/leadtap-process.ts';
import { tempFolder } from '../../../testing/harness/temp-folder.ts';
import { terminal } from './terminal.ts';

/** Settings of an operator that would hide automations, or send what is made up. */
const OPERATOR = {
  ...{ LEADTAP_HOOKS: 'off', LEADTAP_INTAKE: 'off', LEADTAP_KEEP_REFUSED: 'off' },
  ...{ LEADTAP_SILENT_AFTER: '1d', LEADTAP_HOOK_HOSTS: 'http://127.0.0.1:9999' },
};

async function startDemo() {
  const temporary = join(tempFolder(), 'tmp');
  mkdirSync(temporary);
  const { lines, ...demo } = spawnLeadtap(['demo', '--port', '0', '--json'], {
    TMPDIR: temporary,
    ...OPERATOR,
  });
  let text = '';
  while (!text.endsWith('\n}\n')) text += `${(await lines.next()).value}\n`;
  const { baseUrl, consoleUrl, databaseUrl, automations } = JSON.parse(text);
  const [, token] = consoleUrl.split('#token=');
  const headers = { authorization: `Bearer ${token}` };
  return {
    ...{ ...demo, temporary, databaseUrl },
    names: automations.map(({ name }: { name: string }) => name),
    list: async () =>
      (await (await fetch(`${baseUrl}/automation/connections`, { headers })).json()) as Connections,
    subscribe: (url: string) =>
      fetch(`${baseUrl}/automation/hooks`, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify({ url, send: 'lead' }),
      }),
  };
}

test('to its first user: two that are well, and two with their fix', async () => {
  const { names, list, subscribe, databaseUrl, temporary, child, ended } = await startDemo();
  expect(names).toEqual(['n8n', 'Zapier', 'Make', 'Web form']);

  const listed = await list();
  const rows = listed.out.map(({ name, level, state }) => `${name}: ${level} ${state}`).sort();
  expect(rows).toEqual(['Make: error silent', 'Zapier: good working', 'n8n: good working']);
  const receiver = listed.out.find(({ name }) => name === 'Zapier')?.host ?? '';
  expect(receiver).toMatch(/^127\.0\.0\.1:\d+$/);
  expect(listed.in).toMatchObject([
    { name: 'Web form', level: 'error', added: 10, held: 1, action: 'accept' },
  ]);

  const [, command = ''] =
    /leadtap(?:\.js)? (leads refused accept [^`]+)`/.exec(listed.in[0]?.fix ?? '') ?? [];
  expect(command).toMatch(/ --map mail=email$/);
  const accepted = await terminal().run(
    [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, word]) => quoted ?? word ?? ''),
    { env: { LEADTAP_DATABASE_URL: databaseUrl } },
  );
  expect(accepted.stdout).toBe('1 request accepted: 1 lead\n');
  expect((await list()).in).toMatchObject([{ name: 'Web form', level: 'good', held: 0 }]);

  // Leads arrive, and the two that are well get them.
  const sentTo = ({ out }: Connections) => out.find(({ name }) => name === 'n8n')?.sent ?? 0;
  const before = sentTo(listed);
  await vi.waitFor(
    async () => expect(sentTo(await list())).toBeGreaterThan(before),
    // One user may send 100 requests a minute.
    { timeout: 60_000, interval: 1000 },
  );
  expect((await subscribe('http://127.0.0.1:9999/a')).status, 'of the operator').toBe(201);
  expect((await subscribe('http://127.0.0.1:9998/a')).status, 'another one of this machine').toBe(422);

  child.kill('SIGINT');
  expect(await ended).toMatchObject({ code: 0, signal: null, stderr: '' });
  expect(readdirSync(temporary)).toEqual([]);
  await expect(fetch(`http://${receiver}/`)).rejects.toThrow('fetch failed');
});
