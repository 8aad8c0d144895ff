import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../server/src/clock.ts';
import { expectAccessible, expectEveryLook } from '../../testing/browser/accessibility.ts';
import { findOverflow } from '../../testing/browser/page.ts';
import { startService } from '../../testing/harness/service.ts';
import { shareService } from '../../testing/harness/shared-service.ts';
import { addressOf, platforms } from '../src/connect/platforms.ts';
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
    expect(await copied('Copy address')).toBe(service().url);
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
    await page.getByText('Waiting for the first poll of this token…').waitFor();
    await page.getByRole('heading', { name: 'Make', level: 1 }).waitFor();
  });
});

describe('the first poll', () => {
  const state = (page: Page) => page.locator('.first-poll-state');
  const checkNow = async (page: Page) => {
    const checked = page.waitForResponse((response) => response.request().method() === 'HEAD');
    await page.getByRole('button', { name: 'Check now' }).click();
    await checked;
  };
  /** Its windows end by the clock of the page. */
  const startWithLimits = () => startService({ limits: { clock: systemClock } });

  it('turns the page green when another program polls, and not for requests of the page itself', async () => {
    const service = await startWithLimits();
    const page = await openPlatform(service, 'n8n');
    await page.waitForResponse((response) => response.request().method() === 'HEAD');
    // The page follows the leads, so a new one causes a request of its own.
    const ownRequest = page.waitForRequest((request) => request.headers()['prefer'] !== undefined);
    await service.add({ fields: { firstName: 'Ada' } });
    await ownRequest;
    await checkNow(page);
    expect(await state(page).innerText()).toContain('Waiting for the first poll of this token…');
    await expectAccessible(page);
    expect((await service.poll('boss')).status).toBe(200);
    await page.getByRole('button', { name: 'Check now' }).click();
    await page.getByText('A poll came: it works.').waitFor();
    expect(await page.locator('.first-poll.seen').count()).toBe(1);
    await expectEveryLook(page);
    await page.getByRole('button', { name: 'Watch again' }).click();
    await page.getByText('Waiting for the first poll of this token…').waitFor();
    await page.getByText('How this page knows, and what it cannot tell').click();
    await page.getByText('It cannot tell which program it was').waitFor();
  });

  it('sends no request after the visitor has left the page', async () => {
    const service = await startWithLimits();
    const page = await openPlatform(service, 'n8n');
    await page.waitForResponse((response) => response.request().method() === 'HEAD');
    await page.getByRole('link', { name: '← All platforms' }).click();
    let heads = 0;
    page.on('request', (request) => {
      if (request.method() === 'HEAD') heads += 1;
    });
    await page.clock.install();
    await page.clock.runFor(30_000);
    expect(heads).toBe(0);
  });

  it('stops when few requests are left, which are for the platform', async () => {
    const userPolicies = [{ name: 'hour', quota: 150, windowS: 3600 }];
    const service = await startService({ limits: { userPolicies } });
    const page = await openPlatform(service, 'n8n');
    await page.getByText('because few requests are left this hour').waitFor();
  });

  it('says that the token does not work', async () => {
    const service = await startWithLimits();
    const page = await openPlatform(service, 'n8n', { user: 'starter' });
    await page.getByText('The token does not work, so no poll can.').waitFor();
    expect(await page.locator('.first-poll .problem').innerText()).toContain('professional-plan-required');
  });

  it('continues after the service was unreachable', async () => {
    const service = await startWithLimits();
    const page = await openPlatform(service, 'n8n');
    await page.waitForResponse((response) => response.request().method() === 'HEAD');
    await page.context().setOffline(true);
    await page.getByRole('button', { name: 'Check now' }).click();
    await page.getByText('The service cannot be reached. It is checked again.').waitFor();
    await page.context().setOffline(false);
    await checkNow(page);
    await page.getByText('Waiting for the first poll of this token…', { exact: true }).waitFor();
    await service.poll('boss');
    await page.getByRole('button', { name: 'Check now' }).click();
    await page.getByText('A poll came: it works.').waitFor();
  });
});
