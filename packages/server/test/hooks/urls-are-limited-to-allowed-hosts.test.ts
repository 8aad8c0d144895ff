import { describe, expect, it } from 'vitest';
import { expectProblem } from '../../../testing/harness/problem.ts';
import { shareService } from '../../../testing/harness/shared-service.ts';
import { parseConfig } from '../../src/config.ts';
import { checkHookUrl, PLATFORM_HOSTS } from '../../src/hooks/url.ts';
import { postHook } from './support/hooks.ts';

const parseHosts = (text: string): readonly string[] =>
  parseConfig({ env: { LEADTAP_HOOK_HOSTS: text }, cwd: '/' }).hookHosts;

const HOSTS = [
  ...PLATFORM_HOSTS,
  ...parseHosts(
    'n8n.example.com, *.example.org,*.example.co.uk,http://127.0.0.1:5678 ,https://10.0.0.5:8443,10.0.0.6,[::1]',
  ),
];
const kindOf = (url: string) => checkHookUrl(url, HOSTS).kind;

const HOSTILE: readonly string[] = [
  // Schemes.
  'http://hooks.zapier.com/a',
  'ftp://hooks.zapier.com/a',
  'file:///etc/passwd',
  'javascript:alert(1)',
  'data:text/plain,x',
  'ws://hooks.zapier.com/a',
  '//hooks.zapier.com/a',
  '/hooks.zapier.com',
  'hooks.zapier.com/a',
  'https:hooks.zapier.com/a',
  'https:/hooks.zapier.com/a',
  'https:///hooks.zapier.com/a',
  // Hosts that look like a listed one.
  'https://evil.test/',
  'https://evil.test/hooks.zapier.com',
  'https://evil.test/?https://hooks.zapier.com',
  'https://hooks.zapier.com.evil.test/',
  'https://evilhooks.zapier.com/',
  'https://zapier.com/',
  'https://a.hooks.zapier.com/',
  'https://make.com/',
  'https://app.n8n.cloud/',
  'https://acme.n8n.cloud/',
  'https://evilmake.com/',
  'https://.make.com/',
  'https://a..make.com/',
  'https://hooks.zapier.com./a',
  'https://hook.make.com./a',
  'https://xn--hooks-zapier-0bk.com/',
  'https://xn--mke-5cd.make.com/',
  'https://hooks.z\u0430pier.com/',
  'https://\uff48ooks.zapier.com/',
  'https://hooks\u3002zapier\u3002com/',
  'https://%68ooks.zapier.com/',
  'https://hooks%2ezapier.com/',
  'https://a_b.make.com/',
  // Credentials, fragments and ports.
  'https://user@hooks.zapier.com/',
  'https://user:password@hooks.zapier.com/',
  'https://:@evil.test/',
  'https://hooks.zapier.com@evil.test/',
  'https://hooks.zapier.com:443@evil.test/',
  'https://evil.test#@hooks.zapier.com/',
  'https://evil.test\\@hooks.zapier.com/',
  'https://hooks.zapier.com\\@evil.test/',
  'https://hooks.zapier.com/#a',
  'https://hooks.zapier.com/#',
  'https://hooks.zapier.com:8443/',
  'https://hooks.zapier.com:80/',
  'https://hooks.zapier.com:0/',
  'https://hooks.zapier.com:99999/',
  // IP literals in every notation.
  'https://127.0.0.1/',
  'https://2130706433/',
  'https://0x7f000001/',
  'https://0x7f.0.0.1/',
  'https://0177.0.0.1/',
  'https://127.1/',
  'https://0/',
  'https://169.254.169.254/latest/meta-data/',
  'https://[::2]/',
  'https://[::ffff:127.0.0.1]/',
  'https://[::ffff:7f00:1]/',
  'https://[fe80::1%25eth0]/',
  'https://0x0a000006/',
  'https://167772166/',
  'https://localhost/',
  // Characters, and lengths.
  '',
  ' https://hooks.zapier.com/',
  'https://hooks.zapier.com/ a',
  'https://hooks.zapier.com/\r\nX-Header: a',
  'https://hooks.zapier.com/\ta',
  'ht\ttps://hooks.zapier.com/',
  'https://hooks.zapier.com/\u0000',
  `https://hooks.zapier.com/${'a'.repeat(2000)}`,
  `https://hooks.zapier.com/${'<'.repeat(1900)}`,
  `https://${'a.'.repeat(900)}evil.test/`,
  // Next to origins that are listed.
  'http://127.0.0.1:5679/',
  'http://127.0.0.1/',
  'https://127.0.0.1:5678/',
  'http://2130706433:5678/',
  'http://0x7f.1:5678/',
  'http://user@127.0.0.1:5678/',
  'http://localhost:5678/',
  'https://10.0.0.5/',
  'https://10.0.0.6:8443/',
  'http://n8n.example.com/',
  'https://n8n.example.com:5678/',
  'https://example.org/',
  'https://xn--a.example.org/',
];

it('the table has at least 40 different hostile URLs', () => {
  expect(new Set(HOSTILE).size).toBeGreaterThanOrEqual(40);
});

it.each(HOSTILE)('%j is refused', (url) => {
  expect(kindOf(url)).not.toBe('allowed');
});

describe('over HTTP', () => {
  const service = shareService();

  it('all of them are 422, and none is stored', async () => {
    for (const [index, url] of HOSTILE.entries()) {
      // Each user has 100 requests a minute.
      const token = await service().token(index % 2 ? 'boss' : 'rival');
      const response = await postHook(service(), token, { url });
      expect([url, response.status]).toEqual([url, 422]);
    }
    expect(await service().store.hooks.hasHooks()).toBe(false);
  });

  it.each([
    ['https://hooks.zapier.com:8443/secret', 'invalid-hook', /port 443/],
    ['http://127.0.0.1:5678/secret', 'invalid-hook', /https:\/\//],
    ['http://n8n.example.com/secret', 'invalid-hook', /https:\/\//],
    ['https://127.0.0.1/secret', 'hook-host-not-allowed', /operator/],
    ['https://evil.test/secret', 'hook-host-not-allowed', /operator/],
  ] as const)('the problem of %s says what to do, and repeats no URL', async (url, code, text) => {
    const response = await postHook(service(), await service().token('north-lead'), { url });
    const { detail } = await expectProblem(response, code);
    expect(detail).toMatch(text);
    expect(detail).toContain('LEADTAP_HOOK_HOSTS');
    expect(detail).not.toContain('secret');
  });
});

it.each([
  ['https://hooks.zapier.com/hooks/standard/1/a/', 'https://hooks.zapier.com/hooks/standard/1/a/'],
  ['https://hook.eu1.make.com/a?b=c', 'https://hook.eu1.make.com/a?b=c'],
  ['HTTPS://Hook.EU1.Make.com:443', 'https://hook.eu1.make.com/'],
  ['https://www.workato.com/webhooks/rest/a/b', 'https://www.workato.com/webhooks/rest/a/b'],
  ['https://eo1.m.pipedream.net', 'https://eo1.m.pipedream.net/'],
  ['https://cloud.activepieces.com/api/v1/webhooks/a', 'https://cloud.activepieces.com/api/v1/webhooks/a'],
  [
    'https://prod-1.westeurope.logic.azure.com:443/a?sig=b',
    'https://prod-1.westeurope.logic.azure.com/a?sig=b',
  ],
  ['https://a.1.environment.api.powerplatform.com:443/a', 'https://a.1.environment.api.powerplatform.com/a'],
  ['https://acme.app.n8n.cloud/webhook/1', 'https://acme.app.n8n.cloud/webhook/1'],
  ['https://n8n.example.com/webhook/1', 'https://n8n.example.com/webhook/1'],
  ['https://a.b.example.org/', 'https://a.b.example.org/'],
  ['https://a.example.co.uk/', 'https://a.example.co.uk/'],
  ['http://127.0.0.1:5678/hook', 'http://127.0.0.1:5678/hook'],
  ['https://10.0.0.5:8443/', 'https://10.0.0.5:8443/'],
  ['https://10.0.0.6/', 'https://10.0.0.6/'],
  ['https://[::1]/', 'https://[::1]/'],
])('%s is allowed', (url, href) => {
  const checked = checkHookUrl(url, HOSTS);
  expect(checked.kind === 'allowed' && checked.url.href).toBe(href);
  // What is stored is checked again before each event.
  expect(kindOf(href)).toBe('allowed');
});

it.each([
  '*',
  '*.com',
  '*.co.uk',
  '*.com.au',
  '*.or.jp',
  '*.',
  '*.1.2',
  '*.[::1]',
  'a b',
  'a/b',
  'a:5678',
  'user@a.test',
  'https://a.test/path',
  'https://a.test?b',
  'https://user@a.test',
  'ftp://a.test',
  'https://',
  '*.*.test',
  'http://*.a.test',
  'a.test,*',
  'a%2eb.test',
])('LEADTAP_HOOK_HOSTS=%s stops the start', (text) => {
  expect(() => parseHosts(text)).toThrow(/LEADTAP_HOOK_HOSTS: .+\. Write host/);
});
