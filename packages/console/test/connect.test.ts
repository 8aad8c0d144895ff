import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { expectAccessible, expectEveryLook } from '../../testing/browser/accessibility.ts';
import { findOverflow } from '../../testing/browser/page.ts';
import { startService, type TestService } from '../../testing/harness/service.ts';
import { shareService } from '../../testing/harness/shared-service.ts';
import { DOWNLOADS } from '../downloads.ts';
import { addressOf, platforms } from '../src/connect/platforms.ts';
import { ARCHIVES } from './support/archives.ts';
import { openTab, type TabOptions } from './support/open-tab.ts';

const PLATFORMS = platforms(addressOf('https://leads.example.com'));

const openPlatform = async (
  service: Parameters<typeof openTab>[0],
  name: string,
  options?: TabOptions,
): Promise<Page> => {
  const page = await openTab(service, 'Connect', options);
  await page.getByRole('main').getByRole('link', { name, exact: false }).first().click();
  await page.getByRole('heading', { name, level: 1 }).waitFor();
  return page;
};

describe('Connect', () => {
  const service = shareService();

  it('has a tile for each platform, which leads to its steps and back', async () => {
    const page = await openTab(service(), 'Connect');
    const names = await page.locator('.tiles strong').allInnerTexts();
    expect(names).toEqual([
      'Zapier',
      'Make',
      'n8n',
      'Activepieces',
      'Pipedream',
      'Workato',
      'Power Automate',
      'Node-RED',
      'curl',
      'TypeScript',
      'Python',
    ]);
    await expectEveryLook(page);
    await page.getByRole('link', { name: 'n8n' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'n8n', level: 1 }).waitFor();
    expect(page.url()).toBe(`${service().url}/#connect/n8n`);
    await page.goBack();
    await page.getByRole('heading', { name: 'Connect a platform' }).waitFor();
  });

  it('shows the steps of every platform with the address of this service', async () => {
    const page = await openTab(service(), 'Connect', { screen: 'phone' });
    for (const { id, name, steps } of PLATFORMS) {
      await page.goto(`${service().url}/#connect/${id}`);
      await page.getByRole('heading', { name, level: 1 }).waitFor();
      const shown = await page.locator('.steps').innerText();
      expect(await page.locator('.steps > li').count()).toBe(steps.length);
      expect(shown).toContain(new URL(service().url).host);
      expect(shown).not.toMatch(/leads\.example\.com|[*`]\w+[*`]|undefined/);
      expect(await findOverflow(page)).toEqual([]);
      await expectAccessible(page);
    }
  });

  it('begins at the top of a page, wherever the one before was scrolled to', async () => {
    const page = await openTab(service(), 'Connect', { screen: 'phone' });
    const top = () => page.evaluate<number>('scrollY');
    await page.getByRole('link', { name: 'Python' }).click();
    await page.getByRole('heading', { name: 'Python', level: 1 }).waitFor();
    expect(await top()).toBe(0);
    await page.getByText('Good to know').scrollIntoViewIfNeeded();
    expect(await top()).toBeGreaterThan(100);
    await page.goBack();
    await page.getByRole('heading', { name: 'Connect a platform' }).waitFor();
    await page.getByRole('link', { name: 'Python' }).scrollIntoViewIfNeeded();
    await page.getByRole('navigation').getByRole('link', { name: 'Check' }).click();
    await page.getByRole('heading', { name: 'Your token' }).waitFor();
    expect(await top()).toBe(0);
  });

  it('copies address, command and snippets as they are', async () => {
    const page = await openPlatform(service(), 'curl', { clipboard: true });
    const copied = async (button: string) => {
      await page.getByRole('button', { name: button, exact: true }).first().click();
      await page.getByText('copied', { exact: true }).first().waitFor();
      return page.evaluate<string>('navigator.clipboard.readText()');
    };
    const before = await page
      .locator('.needs, .steps')
      .evaluateAll((parts) => parts.map((it) => it.getBoundingClientRect().toJSON()));
    expect(await copied('Copy address')).toBe(service().url);
    const after = await page
      .locator('.needs, .steps')
      .evaluateAll((parts) => parts.map((it) => it.getBoundingClientRect().toJSON()));
    expect(after).toEqual(before);
    expect(await copied('Copy command')).toBe('npx leadtap token issue --user boss --name "curl"');
    expect(await copied('Copy')).toBe(
      `export LEADTAP_URL='${service().url}'\nexport LEADTAP_TOKEN='<ACCESS_TOKEN>'`,
    );
  });

  it('asks for a token of its own for each platform, and never offers the one of the console', async () => {
    const token = await service().token('boss');
    const page = await openTab(service(), 'Connect', { token });
    for (const { id, name } of PLATFORMS) {
      await page.goto(`${service().url}/#connect/${id}`);
      await page.getByRole('heading', { name, level: 1 }).waitFor();
      const needs = await page.locator('.needs').innerText();
      expect(needs).toContain(`npx leadtap token issue --user boss --name "${name}"`);
      expect(needs).toContain('Ask the operator');
      expect(await page.content()).not.toContain(token);
      expect(await page.getByRole('button', { name: /copy token/i }).count()).toBe(0);
    }
  });

  it('fills in host and path where a platform asks for them', async () => {
    const own = await startService({ env: { LEADTAP_BASE_PATH: '/api' } });
    const page = await openPlatform(own, 'Power Automate');
    const general = page.locator('.steps > li').nth(1);
    expect(await general.locator('pre').innerText()).toBe(new URL(own.url).host);
    expect(await general.locator('p code').innerText()).toBe('/api');
  });

  it('downloads every file that it names, with the address of this service', async () => {
    const names: string[] = [];
    const archives: string[] = [];
    const token = await service().token('boss');
    const page = await openTab(service(), 'Connect', { token });
    for (const { id, name } of PLATFORMS) {
      // A new document each time: Chromium drops downloads after ten within a second of one document.
      await page.goto('about:blank');
      await page.goto(`${service().url}/#token=${token}`);
      await page.goto(`${service().url}/#connect/${id}`);
      await page.getByRole('heading', { name, level: 1 }).waitFor();
      for (const button of await page.locator('.download').all()) {
        const downloading = page.waitForEvent('download');
        await button.click();
        const file = await downloading;
        names.push(file.suggestedFilename());
        if (file.suggestedFilename().endsWith('.tgz')) {
          const list = execFileSync('tar', ['-tzf', await file.path()], { encoding: 'utf8' });
          archives.push(...list.split('\n'));
          continue;
        }
        const text = await readFile(await file.path(), 'utf8');
        expect(text.length).toBeGreaterThan(50);
        expect(text).not.toContain('leads.example.com');
        if (id === 'node-red') expect(text).toContain(`"${service().url}"`);
      }
    }
    expect(new Set(names)).toEqual(new Set([...DOWNLOADS.map((path) => basename(path)), ...ARCHIVES]));
    expect(archives).toEqual(
      expect.arrayContaining([
        'package/dist/icons/leadtap.svg',
        'package/dist/nodes/Leadtap/LeadtapTrigger.node.js',
        'package/dist/nodes/Leadtap/LeadtapTrigger.node.json',
        'package/dist/new-lead.js',
        'package/dist/index.js',
        'package/cjs/dist/index.js',
      ]),
    );
  });

  it('says that a platform in the cloud cannot reach an address of this machine', async () => {
    const cloud = await openPlatform(service(), 'Zapier');
    expect(await cloud.locator('.note').innerText()).toMatch(/^Zapier runs in the cloud and cannot reach/);
    const selfHosted = await openPlatform(service(), 'Node-RED');
    expect(await selfHosted.locator('.note').innerText()).toMatch(/^Node-RED must run on this machine/);
    const program = await openPlatform(service(), 'Python');
    expect(await program.locator('.note').count()).toBe(0);
  });

  it('asks for the token to show the first poll', async () => {
    const page = await openPlatform(service(), 'Make', { token: '' });
    await page.getByLabel('Paste the token you were given').fill(await service().token('boss'));
    await page.keyboard.press('Enter');
    await page.getByText('Waiting for the first poll of Make…').waitFor();
    await page.getByRole('heading', { name: 'Make', level: 1 }).waitFor();
  });
});

describe('the first poll', () => {
  const state = (page: Page) => page.locator('.first-poll-state');
  const isCheck = (response: { url(): string }) => response.url().endsWith('/automation/consumers');
  const checkNow = async (page: Page) => {
    const checked = page.waitForResponse(isCheck);
    await page.getByRole('button', { name: 'Check now' }).click();
    await checked;
  };
  const openWatching = async (service: TestService, options?: TabOptions) => {
    const page = await openTab(service, 'Connect', options);
    const checked = page.waitForResponse(isCheck);
    await page.getByRole('link', { name: 'n8n' }).click();
    await checked;
    return page;
  };
  /** Polls with a token that was issued with a name. */
  const pollAs = async (service: TestService, name: string | null, query = '') => {
    const id = name ?? 'unnamed';
    const token = { id, userId: 'boss', name, issuedAt: Date.now(), expiresAt: Date.now() + 3_600_000 };
    if (name !== null && !(await service.store.findToken(id)))
      await service.store.recordTokens([{ ...token, scopes: ['leads:read'] }]);
    const authorization = `Bearer ${await service.token('boss', { tokenId: id })}`;
    return service.poll('boss', query, { headers: { authorization } });
  };

  it('turns green for a poll that is not of the console, and says which token it was', async () => {
    const service = await startService();
    await pollAs(service, 'Make');
    const page = await openWatching(service);
    await page.getByText('the token “Make”: last poll').waitFor();
    // The page follows the leads, and so does a second window of the console.
    const other = await openTab(service, 'Leads');
    const ownRequests = [page, other].map((tab) =>
      tab.waitForRequest((request) => request.headers()['prefer'] !== undefined),
    );
    await service.add({ fields: { firstName: 'Ada' } });
    await Promise.all(ownRequests);
    await checkNow(page);
    expect(await state(page).innerText()).toContain('Waiting for the first poll of n8n…');
    await expectAccessible(page);
    expect((await pollAs(service, 'n8n of Ada', 'limit=0')).status).toBe(400);
    await checkNow(page);
    await page.getByText('but it got no leads: something in the request is not valid (400).').waitFor();
    expect(await page.locator('.first-poll.seen').count()).toBe(0);
    expect((await pollAs(service, 'n8n of Ada')).status).toBe(200);
    await checkNow(page);
    await page.getByText('A poll came with the token “n8n of Ada” at').waitFor();
    expect(await page.locator('.first-poll.seen').count()).toBe(1);
    await expectEveryLook(page);
    await page.getByRole('button', { name: 'Watch again' }).click();
    await page.getByText('Waiting for the first poll of n8n…').waitFor();
  });

  it('says so when the platform has got the token of the console', async () => {
    const service = await startService();
    const token = await service.token('boss', { tokenId: 'unnamed' });
    const page = await openWatching(service, { token });
    await pollAs(service, null);
    await checkNow(page);
    await page.getByText('This is the token of this console, though').waitFor();
  });

  it('says that it cannot know, where the service does not record who polls', async () => {
    const service = await startService({ env: { LEADTAP_CONSUMERS: 'off' } });
    const page = await openWatching(service);
    await page.getByText('This service does not record who polls').waitFor();
    expect(await page.locator('.first-poll.seen').count()).toBe(0);
  });

  it('sends no request after the visitor has left the page', async () => {
    const service = await startService();
    const page = await openWatching(service);
    await page.getByRole('link', { name: '← All platforms' }).click();
    let checks = 0;
    page.on('request', (request) => {
      if (isCheck(request)) checks += 1;
    });
    await page.clock.install();
    await page.clock.runFor(30_000);
    expect(checks).toBe(0);
  });

  it('stops when few requests are left, which are for the platform', async () => {
    const userPolicies = [{ name: 'hour', quota: 150, windowS: 3600 }];
    const service = await startService({ limits: { userPolicies } });
    const page = await openWatching(service);
    await page.getByText('because few requests are left this hour').waitFor();
  });

  it('says that the token of the page does not work', async () => {
    const service = await startService();
    const page = await openWatching(service, { user: 'starter' });
    await page.getByText('This page cannot watch: its token does not work.').waitFor();
    expect(await page.locator('.first-poll .problem').innerText()).toContain('professional-plan-required');
  });

  it('continues after the service was unreachable', async () => {
    const service = await startService();
    const page = await openWatching(service);
    await page.context().setOffline(true);
    await page.getByRole('button', { name: 'Check now' }).click();
    await page.getByText('The service cannot be reached. It is checked again.').waitFor();
    await page.context().setOffline(false);
    await checkNow(page);
    await page.getByText('Waiting for the first poll of n8n…', { exact: true }).waitFor();
    await pollAs(service, 'n8n');
    await checkNow(page);
    await page.getByText('A poll came with the token “n8n” at').waitFor();
  });
});
