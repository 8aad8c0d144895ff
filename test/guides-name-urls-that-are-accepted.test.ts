/** docs/integrations: the URLs that people paste are accepted, in the console and by the command, as the page says. */
import { readFileSync } from 'node:fs';
import { PLATFORM_LIST } from '@leadtap/contract';
import { expect, test } from 'vitest';
import { terminalWithUsers } from '../packages/server/test/cli/terminal.ts';
import { startService } from '../packages/testing/harness/service.ts';

/** The first section of the page. `…` stands for any characters of a URL. */
function guideOf(page: string) {
  const text = readFileSync(new URL(`../docs/integrations/${page}.md`, import.meta.url), 'utf8');
  const [, guide = ''] = text.split(/^## /m);
  const all = [...guide.matchAll(/https:\/\/[^\s`')]+(?=[`'])/g)].map(([url]) => url.replaceAll('…', 'a1'));
  const hosts = [...guide.matchAll(/LEADTAP_HOOK_HOSTS=([^`]+)`/g)].map(([, host = '']) => host);
  const [, command] = /`npx leadtap (hooks add --user ID --url) '/.exec(guide) ?? [];
  return { urls: [...new Set(all)], hosts, command };
}

/** Whether each URL is accepted: what the console sends, and the command of the page. */
async function accepted({ urls, command = '' }: ReturnType<typeof guideOf>, env: Record<string, string>) {
  const service = await startService({ env });
  const headers = {
    authorization: `Bearer ${await service.token('boss')}`,
    'content-type': 'application/json',
  };
  const { run } = await terminalWithUsers();
  const results: [string, boolean, boolean][] = [];
  for (const url of urls) {
    const body = JSON.stringify({ url, send: 'lead' });
    const { status } = await fetch(`${service.url}/automation/hooks`, { method: 'POST', headers, body });
    const { stdout } = await run([...command.replace('ID', 'boss').split(' '), url, '--json'], { env });
    results.push([url, status === 201, stdout !== '' && JSON.parse(stdout).send === 'lead']);
  }
  return results;
}

/** Of the platforms with webhooks: those whose page begins with a URL to paste. */
const GUIDES = [...PLATFORM_LIST.filter(({ hookHosts }) => hookHosts.length > 0), { id: 'your-own-program' }]
  .map(({ id }) => ({ id, ...guideOf(id) }))
  .filter(({ command }) => command !== undefined);

test.each(GUIDES)('$id', async (guide) => {
  const { urls, hosts } = guide;
  expect(urls).not.toEqual([]);
  const isNamed = (url: string) => hosts.includes(new URL(url).hostname);
  expect(await accepted(guide, {})).toEqual(urls.map((url) => [url, !isNamed(url), !isNamed(url)]));
  if (hosts.length > 0)
    expect(await accepted(guide, { LEADTAP_HOOK_HOSTS: hosts.join() })).toEqual(
      urls.map((url) => [url, true, true]),
    );
});
