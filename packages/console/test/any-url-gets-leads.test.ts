import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import process from 'node:process';
import { MAX_HOOKS_PER_USER } from '@leadtap/contract';
import type { Page } from 'playwright-core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { expectAccessible, expectEveryLook } from '../../testing/browser/accessibility.ts';
import { startService, type TestService } from '../../testing/harness/service.ts';
import { tempFolder } from '../../testing/harness/temp-folder.ts';
import { findOnPath, findProgram } from '../../testing/servers/find-program.ts';
import { NODE_VERIFICATION, PYTHON_VERIFICATION } from '../src/connect/programs.ts';
import { answerConnections, connections, iso, wayOut } from './support/connections.ts';
import { openTab, type TabOptions } from './support/open-tab.ts';

const PYTHON = findProgram({
  name: 'Python 3',
  debian: 'python3',
  homebrew: 'python',
  find: () => findOnPath('python3'),
});

interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Accepts what it gets. */
async function startReceiver() {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    received.push({ headers: request.headers, body });
    response.writeHead(204).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { origin, url: `${origin}/leads`, received };
}

const MONTH_MS = 30 * 86_400_000;

const openAnyUrl = async (
  service: TestService,
  { expiresInMs = MONTH_MS, ...options }: TabOptions & { readonly expiresInMs?: number } = {},
): Promise<Page> => {
  const token = await service.token('boss', {
    ...{ expiresInMs, tokenId: 'console' },
    scopes: ['leads:read', 'leads:write'],
  });
  const page = await openTab(service, 'Connect', { token, ...options });
  await page.getByRole('link', { name: 'Any URL' }).click();
  return page;
};

const subscribe = async (page: Page, url: string): Promise<void> => {
  await page.getByLabel('Address that gets the leads').fill(url);
  await page.keyboard.press('Enter');
};

const box = (page: Page) => page.getByRole('region', { name: 'Does it work?' });

describe('any URL', () => {
  it('is connected, gets a test lead that is seen to arrive, and shows its secret once', async () => {
    const { origin, url, received } = await startReceiver();
    const service = await startService({ env: { LEADTAP_HOOK_HOSTS: origin } });
    const { hostname, host } = new URL(url);
    const webhook = { kind: 'webhook', host, lastAt: null } as const;
    const hook = wayOut(hostname, 'unknown', 'new connection', webhook);
    const sent = { level: 'good', message: '1 sent', lastAt: iso(0) } as const;
    const page = await openAnyUrl(service, {
      prepare: (opened) =>
        answerConnections(opened, () =>
          connections('unknown', 'One.', { out: [received.length > 0 ? { ...hook, ...sent } : hook] }),
        ),
    });
    await page.getByRole('button', { name: 'Check now' }).waitFor();
    await expectEveryLook(page);
    await subscribe(page, url);
    await page.getByText('Connected.').waitFor();
    const secret = await page.locator('.secret code').first().innerText();
    expect(secret).toMatch(/^whsec_/);
    await box(page).getByText(host).first().waitFor();
    expect(await page.locator('.first-poll.seen').count()).toBe(0);
    await page.getByRole('button', { name: 'Send a test lead' }).click();
    await expect.poll(() => received.length).toBe(1);
    await page.getByRole('button', { name: 'Check now' }).click();
    await page.locator('.first-poll.seen').waitFor();
    await page.getByText('Check the signature').click();
    await page.getByText('timingSafeEqual(it, own)').waitFor();
    await page.getByText('hmac.compare_digest').waitFor();
    await expectEveryLook(page);
    expect(JSON.parse(received[0]?.body ?? '')).toMatchObject({ firstName: 'Test', lastName: 'Lead' });
  });

  it('says why an address is refused, and what to do', async () => {
    const service = await startService();
    const page = await openAnyUrl(service, { expectedErrors: /\/automation\/hooks/ });
    await subscribe(page, 'https://elsewhere.example.com/hook');
    await page.getByText('Webhooks to this host are not allowed.').waitFor();
    await page.getByText('LEADTAP_HOOK_HOSTS').waitFor();
    await expectAccessible(page);
    await subscribe(page, 'hello');
    await page.getByText('The webhook subscription is not valid.').waitFor();
    await page.getByText('is not a URL').waitFor();
    for (let index = 0; index < MAX_HOOKS_PER_USER; index += 1) {
      const answered = page.waitForResponse(/\/automation\/hooks$/);
      await subscribe(page, `https://hooks.zapier.com/hooks/catch/${index}`);
      expect((await answered).status()).toBe(201);
      await page.getByText('Connected.').waitFor();
    }
    await subscribe(page, 'https://hooks.zapier.com/hooks/catch/more');
    await page.getByText('The user has too many webhook subscriptions.').waitFor();
  });

  it('says that a subscription ends with a token that ends soon, with the command for one that stays', async () => {
    const service = await startService();
    const page = await openAnyUrl(service, { expiresInMs: 3_600_000 });
    await page.getByLabel('Address that gets the leads').fill('https://hooks.zapier.com/hooks/catch/1?a=b');
    await page
      .getByText("npx leadtap hooks add --user boss --url 'https://hooks.zapier.com/hooks/catch/1?a=b'")
      .waitFor();
    await expectEveryLook(page);
  });

  it('is not offered by a service that sends no webhooks', async () => {
    const service = await startService({ env: { LEADTAP_HOOKS: 'off' } });
    const page = await openAnyUrl(service);
    await page.getByText('This service sends no webhooks.').waitFor();
    expect(await page.getByLabel('Address that gets the leads').count()).toBe(0);
  });
});

describe('the programs that check a signature', () => {
  const NODE = `${NODE_VERIFICATION}
import { readFileSync } from 'node:fs';
const { secret, headers, body } = JSON.parse(readFileSync(0, 'utf8'));
process.stdout.write(String(isOfLeadtap(secret, headers, body)));`;
  const PYTHON_PROGRAM = `${PYTHON_VERIFICATION}
import json, sys
request = json.load(sys.stdin)
print(str(is_of_leadtap(request['secret'], request['headers'], request['body'].encode())).lower(), end='')`;

  it.each([
    ['Node.js', process.execPath, 'verify.mjs', NODE],
    ['Python', PYTHON, 'verify.py', PYTHON_PROGRAM],
  ])('%s: true for a request of the service, false for any other', async (_name, command, file, program) => {
    const { origin, url, received } = await startReceiver();
    const service = await startService({ env: { LEADTAP_HOOK_HOSTS: origin } });
    const response = await fetch(`${service.url}/automation/hooks`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${await service.token('boss', { tokenId: 'console', expiresInMs: MONTH_MS })}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ url, send: 'lead' }),
    });
    const { secret } = (await response.json()) as { secret: string };
    await service.add({ fields: { firstName: 'Zoë', lastName: '李' } });
    await expect.poll(() => received.length).toBe(1);
    const request = { secret, ...(received[0] as Received) };
    const folder = tempFolder();
    writeFileSync(join(folder, file), program);
    const check = (input: object): string =>
      execFileSync(command, [join(folder, file)], { input: JSON.stringify(input), encoding: 'utf8' });
    const { headers } = request;
    expect(check(request)).toBe('true');
    expect(check({ ...request, body: request.body.replace('Zoë', 'Eve') })).toBe('false');
    expect(check({ ...request, secret: `whsec_${'A'.repeat(32)}` })).toBe('false');
    expect(check({ ...request, headers: { ...headers, 'webhook-signature': 'v1,é v1a,x' } })).toBe('false');
    const late = String(Number(headers['webhook-timestamp']) - 600);
    expect(check({ ...request, headers: { ...headers, 'webhook-timestamp': late } })).toBe('false');
    for (const missing of ['webhook-id', 'webhook-timestamp', 'webhook-signature'])
      expect(check({ ...request, headers: { ...headers, [missing]: undefined } })).toBe('false');
  });
});
