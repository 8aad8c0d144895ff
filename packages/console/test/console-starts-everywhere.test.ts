import { once } from 'node:events';
import { createServer, request as sendRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { expectEveryLook } from '../../testing/browser/accessibility.ts';
import { openPage } from '../../testing/browser/page.ts';
import { spawnLeadtap } from '../../testing/harness/leadtap-process.ts';
import { startService } from '../../testing/harness/service.ts';
import { openMenu } from './support/menu.ts';
import { showTab } from './support/open-tab.ts';

const tokenField = (page: Page) => page.getByLabel('Paste the token you were given');

describe('the console starts', () => {
  it('on every screen, with one field', async () => {
    const { url } = await startService();
    const page = await openPage(url);
    await tokenField(page).waitFor();
    expect(await page.getByRole('textbox').count()).toBe(1);
    await expectEveryLook(page);
  });

  it('below a base path, requested without the slash at its end', async () => {
    const service = await startService({ env: { LEADTAP_BASE_PATH: '/api' } });
    await service.add({ fields: { firstName: 'Femke' } });
    const page = await openPage(`${service.url}#token=${await service.token('boss')}`);
    await page.getByText(/^Last lead/).waitFor();
    expect(new URL(page.url()).pathname).toBe('/api/');
  });

  it('behind a proxy that removes a path', async () => {
    const service = await startService();
    await service.add({ fields: { firstName: 'Femke' } });
    const { port } = new URL(service.url);
    const proxy = createServer(({ url = '', method, headers }, response) => {
      if (!url.startsWith('/crm/leads/')) return response.writeHead(404).end();
      const options = { port, method, headers, path: url.slice('/crm/leads'.length) };
      return sendRequest({ host: '127.0.0.1', ...options }, (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      }).end();
    }).listen(0, '127.0.0.1');
    onTestFinished(() => void proxy.closeAllConnections());
    onTestFinished(() => void proxy.close());
    await once(proxy, 'listening');
    const address = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/crm/leads/`;
    const page = await openPage(`${address}#token=${await service.token('boss')}`);
    await page.getByText(/^Last lead/).waitFor();
  });

  it('from the address that the demo prints: connected, with leads that arrive, and can send a test lead', async () => {
    const { lines } = spawnLeadtap(['demo', '--port', '0', '--json']);
    let text = '';
    while (!text.endsWith('\n}\n')) text += `${(await lines.next()).value}\n`;
    const { consoleUrl, baseUrl } = JSON.parse(text);
    expect(consoleUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#token=ey/);
    const page = await openPage(consoleUrl);
    await page.getByText('live', { exact: true }).waitFor();
    expect(page.url()).toBe(`${baseUrl}/#overview`);
    await page.getByRole('button', { name: 'Send a test lead' }).click();
    await page.getByText('Seen in this console:').waitFor();
    await showTab(page, 'Leads');
    await expect.poll(() => page.locator('.lead-row').count()).toBeGreaterThan(21);
  });
});

describe('the console does not start', () => {
  it('without JavaScript, and says so with a link to the documentation', async () => {
    const { url } = await startService();
    // Its script is then not loaded ahead.
    const page = await openPage(url, { javaScript: 'off', expectedErrors: /\.js \(csp\)/ });
    // Playwright finds no text in this element.
    const sentence = page.locator('noscript p');
    await sentence.waitFor();
    expect(await sentence.innerText()).toContain('needs JavaScript');
    expect(await page.getByText('did not start').isVisible()).toBe(false);
    await sentence.locator('a').click();
    await page.getByRole('heading', { name: 'New leads on tap' }).waitFor();
  });

  it('in a browser that is too old, and says so after a moment', async () => {
    const { url } = await startService();
    const page = await openPage(`${url}/docs`);
    await page.addInitScript('delete AbortSignal.timeout');
    await page.goto(`${url}/`);
    await page.getByText('did not start').waitFor();
    await expectEveryLook(page);
  });
});

describe('light and dark', () => {
  const background = (page: Page) => page.evaluate<string>('getComputedStyle(document.body).backgroundColor');
  const [light, dark] = ['rgb(255, 255, 255)', 'rgb(16, 24, 30)'];

  it('follow the system, until the visitor chooses, and the choice is kept', async () => {
    const { url } = await startService();
    const page = await openPage(url, { theme: 'dark' });
    await tokenField(page).waitFor();
    expect(await background(page)).toBe(dark);
    const choose = async (name: string) => {
      await openMenu(page);
      await page.getByRole('radio', { name }).click();
      await page.keyboard.press('Escape');
    };
    await choose('Light');
    expect(await background(page)).toBe(light);
    await page.reload();
    await tokenField(page).waitFor();
    expect(await background(page)).toBe(light);
    await choose('System');
    expect(await background(page)).toBe(dark);
    await page.emulateMedia({ colorScheme: 'light' });
    expect(await background(page)).toBe(light);
  });
});
