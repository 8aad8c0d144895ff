import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { openPage } from '../../testing/browser/page.ts';
import { startService } from '../../testing/harness/service.ts';
import { forgetToken } from './support/menu.ts';
import { openTab } from './support/open-tab.ts';

/** Everything that a page can leave in the browser, as text. */
const STORED = `(async () => {
  const databases = await indexedDB.databases();
  const caches_ = await caches.keys();
  return JSON.stringify([
    { ...localStorage }, { ...sessionStorage }, document.cookie, databases, caches_,
    location.href, history.state, document.documentElement.outerHTML,
    [...document.querySelectorAll('input, textarea')].map((field) => field.value),
    performance.getEntriesByType('resource').map((entry) => entry.name),
  ]);
})()`;

const stored = (page: Page): Promise<string> => page.evaluate<string>(STORED);

describe('the token', () => {
  it('is taken out of the address before anything else, and is nowhere but in memory', async () => {
    const lines: string[] = [];
    const service = await startService({ logTo: { write: (line) => lines.push(line) } });
    await service.add({ fields: { firstName: 'Femke' } });
    const token = await service.token('boss');
    const urls: string[] = [];
    const page = await openPage(`${service.url}/docs`);
    page.on('request', (request) => urls.push(request.url(), request.headers()['referer'] ?? ''));
    const said: string[] = [];
    page.on('console', (message) => said.push(message.text()));
    await page.goto(`${service.url}/#token=${token}`);
    await page.getByText(/^Last lead/).waitFor();
    expect(page.url()).not.toContain('token');
    expect(await stored(page)).not.toContain(token);
    // The first entry is the page before, the second one this page without the token.
    await page.goBack();
    await page.goForward();
    expect(page.url()).not.toContain('token');
    expect(urls.filter((url) => url.startsWith('http') && url.includes(token) && !url.includes('#'))).toEqual(
      [],
    );
    expect(said.join()).not.toContain(token);
    expect(lines.filter((line) => line.includes(token))).toEqual([]);
  });

  it('is taken from an address that is opened while the page is open', async () => {
    const service = await startService();
    const page = await openPage(service.url);
    await page.getByLabel('Paste the token you were given').waitFor();
    const token = await service.token('boss');
    await page.evaluate(`location.hash = '#token=${token}'`);
    await page.getByText('live', { exact: true }).waitFor();
    expect(await stored(page)).not.toContain(token);
  });

  it('leaves the field at once when it is pasted', async () => {
    const service = await startService();
    const page = await openPage(service.url);
    const token = await service.token('removed');
    await page.getByLabel('Paste the token you were given').fill(token);
    await page.getByRole('button', { name: 'Check it' }).click();
    await page.locator('.problem').waitFor();
    expect(await stored(page)).not.toContain(token);
  });

  it('is lost by a reload, and the page says why it asks again', async () => {
    const service = await startService();
    const page = await openPage(`${service.url}/#token=${await service.token('boss')}`);
    await page.getByText('live', { exact: true }).waitFor();
    await page.reload();
    await page.getByText(/only in the memory of the\s+open page/).waitFor();
    expect(await page.getByRole('heading').first().innerText()).toBe('Check a token');
    await page.getByLabel('Paste the token you were given').fill(await service.token('boss'));
    await page.keyboard.press('Enter');
    await page.getByText('live', { exact: true }).waitFor();
    await forgetToken(page);
    await page.reload();
    await page.getByLabel('Paste the token you were given').waitFor();
    expect(await page.getByText('loaded again').count()).toBe(0);
  });

  it('is in a copied curl command only if the visitor asks', async () => {
    const service = await startService();
    const [createdAt = 0] = await service.add({ fields: { firstName: 'Femke' } });
    const token = await service.token('boss');
    const page = await openTab(service, 'Leads', { token, clipboard: true });
    const clipboard = () => page.evaluate<string>('navigator.clipboard.readText()');
    await page.getByText('Copy', { exact: true }).click();
    await page.getByRole('button', { name: 'curl', exact: true }).click();
    await page.getByText('copied', { exact: true }).waitFor();
    const since = new Date(createdAt - 1).toISOString();
    const address = `${service.url}/automation/new-leads?since=${since}&limit=1`;
    expect(await clipboard()).toBe(`curl -H "Authorization: Bearer $TOKEN" '${address}'`);
    await page.getByRole('button', { name: 'curl with the token' }).click();
    await expect.poll(clipboard).toBe(`curl -H "Authorization: Bearer ${token}" '${address}'`);
    expect(
      (await service.leads('boss', new URL(address).search.slice(1))).map(({ fullName }) => fullName),
    ).toEqual(['Femke']);
  });
});
