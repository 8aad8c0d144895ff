import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Consumers, Senders } from '@leadtap/contract';
import { expect, test, vi } from 'vitest';
import { spawnLeadtap } from '../../../testing/harness/leadtap-process.ts';
import { tempFolder } from '../../../testing/harness/temp-folder.ts';
import type { StatusReport } from '../../src/status/report.ts';
import { terminal } from './terminal.ts';

/** Settings of an operator that would hide automations, or send what is made up. */
const OPERATOR = {
  ...{ LEADTAP_HOOKS: 'off', LEADTAP_CONSUMERS: 'off', LEADTAP_INTAKE: 'off', LEADTAP_KEEP_REFUSED: 'off' },
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
  const { baseUrl, consoleUrl, statusUrl, databaseUrl, automations } = JSON.parse(text);
  const [, token] = consoleUrl.split('#token=');
  const headers = { authorization: `Bearer ${token}` };
  return {
    ...{ ...demo, temporary, databaseUrl },
    names: automations.map(({ name }: { name: string }) => name),
    get: async <Answer>(path: string) =>
      (await (await fetch(`${baseUrl}${path}`, { headers })).json()) as Answer,
    status: async () => (await (await fetch(`${statusUrl}.json`)).json()) as StatusReport,
    subscribe: (url: string) =>
      fetch(`${baseUrl}/automation/hooks`, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify({ url, send: 'lead' }),
      }),
  };
}

test('to its first user and on the status page: two that are well, and two with their fix', async () => {
  const { names, get, status, subscribe, databaseUrl, temporary, child, ended } = await startDemo();
  expect(names).toEqual(['n8n', 'Zapier', 'Make', 'Web form']);

  const { consumers, summary } = await get<Consumers>('/automation/consumers');
  const rows = consumers.map(({ name, level, problem }) => `${name}: ${level} ${problem}`).sort();
  expect(rows).toEqual(['Make: error consumers-stale', 'Zapier: good null', 'n8n: good null']);
  expect(summary.message).toMatch(
    /^Make: has not polled for 1 h; it usually polls every 5 min; \d+ leads? waits?\.$/,
  );
  const receiver = consumers.find(({ name }) => name === 'Zapier')?.hook?.host ?? '';
  expect(receiver).toMatch(/^127\.0\.0\.1:\d+$/);

  const { senders } = await get<Senders>('/automation/senders');
  expect(senders).toMatchObject([
    { name: 'Web form', level: 'error', accepted30d: 10, refused30d: 1, lastRefusal: { fields: ['mail'] } },
  ]);

  const report = await status();
  expect(report.problems.map(({ kind }) => kind)).toEqual(['leads-refused', 'consumers-stale']);
  const [, command = ''] =
    /leadtap(?:\.js)? (leads refused accept [^`]+)`/.exec(report.problems[0]?.fix ?? '') ?? [];
  expect(command).toMatch(/ --map mail=email$/);
  const accepted = await terminal().run(command, { env: { LEADTAP_DATABASE_URL: databaseUrl } });
  expect(accepted.stdout).toBe('1 request accepted: 1 lead\n');
  expect((await status()).problems.map(({ kind }) => kind)).toEqual(['consumers-stale']);

  // Leads arrive, and the two that are well get them.
  const polledAt = (list: Consumers) =>
    list.consumers.find(({ name }) => name === 'n8n')?.confirmedThrough ?? '';
  const before = polledAt({ summary, consumers });
  await vi.waitFor(
    async () => expect(polledAt(await get('/automation/consumers')) > before).toBe(true),
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
