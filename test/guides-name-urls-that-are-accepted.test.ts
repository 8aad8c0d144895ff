/** docs/integrations: the URLs that people paste are accepted by the service, as the page says. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { startService, type TestService } from '../packages/testing/harness/service.ts';

const GUIDES = [
  'zapier',
  'make',
  'n8n',
  'activepieces',
  'pipedream',
  'power-automate',
  'your-own-program',
] as const;

const COMMAND = /npx leadtap hooks add --user ID --url (\S+) --send lead/;

/** The first section of the page. `…` stands for any characters of a URL. */
function guideOf(page: string) {
  const text = readFileSync(new URL(`../docs/integrations/${page}.md`, import.meta.url), 'utf8');
  const [, first = ''] = text.split(/^## /m);
  const urls = [...first.matchAll(/https:\/\/[^\s`)]+(?=[` ])/g)].map(([url]) => url.replaceAll('…', 'a1'));
  const hosts = [...first.matchAll(/LEADTAP_HOOK_HOSTS=([^`]+)`/g)].map(([, host = '']) => host);
  return { first, urls, hosts };
}

const subscribe = async (service: TestService, url: string) =>
  fetch(`${service.url}/automation/hooks`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${await service.token('boss')}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify({ url, send: 'lead' }),
  });

test.each(GUIDES)('%s', async (page) => {
  const { first, urls, hosts } = guideOf(page);
  expect(first).toMatch(COMMAND);
  expect(urls).not.toEqual([]);
  const byDefault = await startService();
  const configured = await startService({ env: { LEADTAP_HOOK_HOSTS: hosts.join() } });
  for (const url of urls) {
    const isNamed = hosts.includes(new URL(url).hostname);
    expect([url, (await subscribe(byDefault, url)).status]).toEqual([url, isNamed ? 422 : 201]);
    expect([url, (await subscribe(configured, url)).status]).toEqual([url, 201]);
  }
});
