import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { PLATFORM_LIST } from '@leadtap/contract';
import type { Download, Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { expectAccessible, expectEveryLook } from '../../testing/browser/accessibility.ts';
import { findOverflow } from '../../testing/browser/page.ts';
import { startService } from '../../testing/harness/service.ts';
import { shareService } from '../../testing/harness/shared-service.ts';
import { DOWNLOADS } from '../downloads.ts';
import { addressOf, MAKE_APP_FILE, type Platform, platforms } from '../src/connect/platforms.ts';
import { ARCHIVES, VERSION } from './support/archives.ts';
import { letTimersFire } from './support/automation.ts';
import {
  answerConnections,
  connections,
  countRequests,
  isListRequest,
  wayOut,
} from './support/connections.ts';
import { openTab, type TabOptions } from './support/open-tab.ts';

const PLATFORMS = platforms({ ...addressOf('https://leads.example.com'), hasHooks: true, version: VERSION });

/** Those that are shown at first: of the webhook, of the installation, and of the first way. */
const PASTE = { text: 'Paste it here, and choose Connect.' };

const stepsOf = ({ webhook, setup, ways }: Platform) => [
  ...(webhook ? [...webhook.before, PASTE, ...webhook.after] : []),
  ...setup,
  ...ways[0].steps,
];

const unfold = (page: Page) =>
  page.evaluate(`document.querySelectorAll('main details').forEach((it) => { it.open = true; })`);

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
    const platforms = PLATFORM_LIST.map(({ name }) => name);
    expect(names).toEqual(['Any URL', ...platforms, 'curl', 'TypeScript', 'Python']);
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
    for (const platform of PLATFORMS) {
      const { id, name } = platform;
      await page.goto(`${service().url}/#connect/${id}`);
      await page.getByRole('heading', { name, level: 1 }).waitFor();
      await page.locator('.steps').first().waitFor({ state: 'attached' });
      await unfold(page);
      const shown = (await page.locator('.steps').allInnerTexts()).join('\n');
      expect(await page.locator('.steps > li').count()).toBe(stepsOf(platform).length);
      expect(shown).toContain(new URL(service().url).host);
      expect(shown).not.toMatch(/leads\.example\.com|[*`]\w+[*`]|undefined/);
      expect(await findOverflow(page)).toEqual([]);
      // One of each kind; the others have the same elements.
      if (['zapier', 'node-red', 'python'].includes(id)) await expectAccessible(page);
    }
  });

  it('shows the webhook of a platform first, and its app folded, at once or on a schedule', async () => {
    const page = await openPlatform(service(), 'Zapier');
    const main = page.getByRole('main');
    await main.getByRole('heading', { name: 'Without an app' }).waitFor();
    await main.getByText('choose Webhooks by Zapier and the event Catch Hook').waitFor();
    const paste = main.getByRole('listitem').filter({ hasText: PASTE.text });
    await paste.getByLabel('Webhook URL of Zapier').waitFor();
    expect(await page.evaluate(`document.querySelector('.hook-form').closest('ol').start`)).toBe(2);
    expect(await main.getByText('New Lead (Instant)').isVisible()).toBe(false);
    await main.getByText('With the app').click();
    await main.getByText('The app is better if').waitFor();
    await main.getByText('the event New Lead (Instant).').waitFor();
    await expectEveryLook(page);
    await main.getByRole('radio', { name: 'At once' }).focus();
    await page.keyboard.press('ArrowDown');
    await main.getByText('the event New Lead.').waitFor();
    expect(await main.getByText('(Instant)').count()).toBe(0);
  });

  it('promises nothing at once that the service does not offer', async () => {
    const own = await startService({ env: { LEADTAP_HOOKS: 'off' } });
    const page = await openTab(own, 'Connect');
    for (const { id, name } of PLATFORMS) {
      await page.goto(`${own.url}/#connect/${id}`);
      await page.getByRole('heading', { name, level: 1 }).waitFor();
      await page.locator('.steps').first().waitFor({ state: 'attached' });
      await unfold(page);
      const text = await page.locator('main').innerText();
      expect(text).not.toContain('Without an app');
      // They hold a poll, which needs no webhook.
      const isHeld = ['n8n', 'node-red', 'typescript'].includes(id);
      expect([
        id,
        /Leads at once|At once|\(Instant\)|\(instant\)|Lead Events|\(at once\)|as soon as|within seconds/.test(
          text,
        ),
      ]).toEqual([id, isHeld]);
    }
  });

  it('shows the schedule if the service does not say what it offers', async () => {
    const page = await openTab(service(), 'Overview');
    await page.route(`${service().url}/`, (route) => route.fulfill({ status: 200 }));
    await page.getByRole('navigation').getByRole('link', { name: 'Connect' }).click();
    await page.getByRole('main').getByRole('link', { name: 'Zapier' }).click();
    await page.getByText('the event New Lead.').waitFor();
    expect(await page.locator('main').innerText()).not.toContain('Instant');
  });

  it('says that the steps could not be loaded, and loads them again', async () => {
    const page = await openTab(service(), 'Overview', { expectedErrors: /texts-/ });
    await page.route('**/texts-*.json', (route) => route.abort(), { times: 1 });
    await page.getByRole('navigation').getByRole('link', { name: 'Connect' }).click();
    await page.getByRole('main').getByRole('link', { name: 'Zapier' }).click();
    await page.getByText('The steps could not be loaded.').waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.locator('.steps').first().waitFor();
    expect(await page.getByText('could not be loaded').count()).toBe(0);
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
    await page.getByRole('navigation').getByRole('link', { name: 'Overview' }).click();
    await page.getByText(/^boss · /).waitFor();
    expect(await top()).toBe(0);
  });

  it('copies address, command and snippets as they are, and says so until something else is done', async () => {
    const page = await openPlatform(service(), 'curl', { clipboard: true });
    await page.clock.install();
    const copied = page.getByText('copied', { exact: true });
    const expectCopied = async (button: string, text: string) => {
      await page.getByRole('button', { name: button, exact: true }).first().click();
      await copied.waitFor();
      await expect.poll(() => page.evaluate<string>('navigator.clipboard.readText()')).toBe(text);
    };
    const before = await page
      .locator('.needs, .steps')
      .evaluateAll((parts) => parts.map((it) => it.getBoundingClientRect().toJSON()));
    await expectCopied('Copy address', service().url);
    const after = await page
      .locator('.needs, .steps')
      .evaluateAll((parts) => parts.map((it) => it.getBoundingClientRect().toJSON()));
    expect(after).toEqual(before);
    await expectCopied('Copy command', 'npx leadtap token issue --user boss --name "curl"');
    await expectCopied(
      'Copy',
      `export LEADTAP_URL='${service().url}'\nexport LEADTAP_TOKEN='<ACCESS_TOKEN>'`,
    );
    await page.clock.runFor(60_000);
    expect(await copied.count()).toBe(1);
    await page.keyboard.press('Shift');
    await copied.waitFor({ state: 'detached' });
  });

  it('asks for a token of its own for each platform, and never offers the one of the console', async () => {
    const token = await service().token('boss');
    const page = await openTab(service(), 'Connect', { token });
    for (const { id, name } of PLATFORMS) {
      await page.goto(`${service().url}/#connect/${id}`);
      await page.getByRole('heading', { name, level: 1 }).waitFor();
      await page.locator('.needs').waitFor({ state: 'attached' });
      await unfold(page);
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
    await page.locator('.setup').waitFor({ state: 'attached' });
    await unfold(page);
    const general = page.locator('.setup .steps > li').nth(1);
    expect(await general.locator('pre').innerText()).toBe(new URL(own.url).host);
    expect(await general.locator('p code').innerText()).toBe('/api');
  });

  it('downloads every file that it names, with the address of this service', async () => {
    const names: string[] = [];
    const archives: string[] = [];
    const token = await service().token('boss');
    const page = await openTab(service(), 'Connect', { token });
    // A new document after some of them: Chromium drops downloads after ten within a second of one document.
    const open = async ({ id, name }: Platform) => {
      await page.goto('about:blank');
      await page.goto(`${service().url}/#token=${token}`);
      await page.goto(`${service().url}/#connect/${id}`);
      await page.getByRole('heading', { name, level: 1 }).waitFor();
      await page.locator('.steps').first().waitFor({ state: 'attached' });
      await unfold(page);
    };
    for (const platform of PLATFORMS) {
      const { id } = platform;
      await open(platform);
      const files: Download[] = [];
      for (const { title } of platform.ways) {
        if (title !== '') await page.getByRole('radio', { name: title }).check();
        for (const button of await page.locator('.download').all()) {
          const downloading = page.waitForEvent('download');
          await button.click();
          files.push(await downloading);
        }
      }
      for (const file of files) {
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
    expect(new Set(names)).toEqual(
      new Set([...DOWNLOADS.map((path) => basename(path)), MAKE_APP_FILE, ...ARCHIVES]),
    );
    expect(archives).toEqual(
      expect.arrayContaining([
        'package/dist/icons/leadtap.svg',
        'package/dist/nodes/Leadtap/LeadtapTrigger.node.js',
        'package/dist/nodes/Leadtap/LeadtapTrigger.node.json',
        'package/dist/new-lead.js',
        'package/dist/new-lead-instant.js',
        'package/dist/index.js',
        'package/cjs/dist/index.js',
      ]),
    );
  });

  it('says that a platform in the cloud cannot reach an address of this machine', async () => {
    const cloud = await openPlatform(service(), 'Zapier');
    const note = cloud.getByText('Zapier runs in the cloud and cannot reach');
    await note.waitFor({ state: 'attached' });
    // A webhook needs no way to this service.
    expect(await note.isVisible()).toBe(false);
    await cloud.getByText('With the app').click();
    await note.waitFor();
    const selfHosted = await openPlatform(service(), 'Node-RED');
    await selfHosted.getByText('Node-RED must run on this machine').waitFor();
    const program = await openPlatform(service(), 'Python');
    await program.locator('.steps').waitFor();
    expect(await program.locator('.note').count()).toBe(0);
  });

  it('asks for a token to show whether it works', async () => {
    const page = await openPlatform(service(), 'Make', { token: '' });
    await page.getByLabel('Paste the token you were given').fill(await service().token('boss'));
    await page.keyboard.press('Enter');
    await page.getByText('or for the first poll with a token named “Make”…').waitFor();
    await page.getByRole('heading', { name: 'Make', level: 1 }).waitFor();
  });
});

describe('whether it works', () => {
  const box = (page: Page) => page.getByRole('region', { name: 'Does it work?' });
  const isGreen = async (page: Page) => (await page.locator('.first-poll.seen').count()) === 1;
  const MAKE = wayOut('Make', 'good', '3 sent');

  /** The page of n8n, of a service with these ways out. */
  const openWatching = async (out: readonly ReturnType<typeof wayOut>[], options?: TabOptions) => {
    const service = await startService({ env: { LEADTAP_BASE_PATH: '/api' } });
    const prepare = (opened: Page) =>
      answerConnections(opened, () => connections('good', 'All.', { out: [...out] }));
    const page = await openTab(service, 'Connect', { prepare, ...options });
    await page.getByRole('link', { name: 'n8n' }).click();
    await box(page).waitFor();
    return page;
  };
  const checkNow = async (page: Page) => {
    const checked = page.waitForResponse(isListRequest);
    await page.getByRole('button', { name: 'Check now' }).click();
    await checked;
  };

  it('a row appears, which turns green for the connection of the platform alone, and red if it is', async () => {
    const out = [MAKE];
    const page = await openWatching(out);
    await box(page).getByRole('listitem').getByText('Make').waitFor();
    await box(page).getByText('the first poll with a token named “n8n”…').waitFor();
    expect(await isGreen(page)).toBe(false);
    await expectEveryLook(page);
    out.push(wayOut('N8N', 'error', 'refused with 400'));
    await checkNow(page);
    await box(page).getByText('refused with 400').waitFor();
    expect(await isGreen(page)).toBe(false);
    out[1] = wayOut('N8N', 'unknown', 'new connection: asked once', { state: 'new' });
    await checkNow(page);
    await page.locator('.first-poll.seen').waitFor();
    await box(page).getByText('new connection: asked once').waitFor();
    await box(page).getByText('Other automations').waitFor();
    await expectEveryLook(page);
  });

  it('a webhook that was sent nothing yet is not green', async () => {
    const page = await openWatching([wayOut('n8n', 'unknown', 'new connection', { lastAt: null })]);
    await box(page).getByText('new connection').waitFor();
    expect(await isGreen(page)).toBe(false);
  });

  it('sends no request after the visitor has left the page', async () => {
    const page = await openWatching([]);
    await page.getByRole('link', { name: '← All platforms' }).click();
    const count = countRequests(page, isListRequest);
    await page.clock.setFixedTime(Date.now() + 60_000);
    await letTimersFire(page);
    expect(count()).toBe(0);
  });

  it('is watched for ten minutes, until the visitor wants more', async () => {
    const page = await openWatching([wayOut('n8n', 'good', '1 sent')]);
    await page.locator('.first-poll.seen').waitFor();
    // Timers that began before are not moved.
    await page.getByRole('link', { name: '← All platforms' }).click();
    await page.clock.install();
    await page.getByRole('link', { name: 'n8n' }).click();
    await page.locator('.first-poll.seen').waitFor();
    await page.clock.fastForward(601_000);
    await page.getByText('This page has stopped watching.').waitFor();
    expect(await isGreen(page)).toBe(false);
    await expectAccessible(page);
    const count = countRequests(page, isListRequest);
    await page.clock.runFor(60_000);
    expect(count()).toBe(0);
    await page.getByRole('button', { name: 'Watch again' }).click();
    await page.locator('.first-poll.seen').waitFor();
  });

  it('is not asked when few requests are left, which are for the platform', async () => {
    const userPolicies = [{ name: 'hour', quota: 150, windowS: 3600 }];
    const service = await startService({ limits: { userPolicies } });
    const page = await openTab(service, 'Connect');
    await page.getByRole('link', { name: 'n8n' }).click();
    await page.getByText('Not checked now: few requests are left this hour').waitFor();
  });

  it('is watched again after the service was unreachable', async () => {
    const page = await openWatching([]);
    await page.route('**/automation/connections', (route) => route.abort());
    await page.getByRole('button', { name: 'Check now' }).click();
    await page.getByText('The service cannot be reached. It is checked again.').waitFor();
    await answerConnections(page, () =>
      connections('good', 'All.', { out: [wayOut('n8n', 'good', '1 sent')] }),
    );
    await checkNow(page);
    await page.locator('.first-poll.seen').waitFor();
  });
});
