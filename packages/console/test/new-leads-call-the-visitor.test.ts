import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { expectAccessible } from '../../testing/browser/accessibility.ts';
import { untilHeld } from '../../testing/harness/long-polls.ts';
import { startService, type TestService } from '../../testing/harness/service.ts';
import { openMenu } from './support/menu.ts';
import { openTab, type TabOptions } from './support/open-tab.ts';

const many = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ fields: { firstName: `Lead ${index + 1}.` } }));

const setHidden = (page: Page, isHidden: boolean) =>
  page.evaluate(`Object.defineProperty(document, 'hidden', { get: () => ${isHidden}, configurable: true });
    document.dispatchEvent(new Event('visibilitychange'))`);

/**
 * Records the notifications that the page shows, and its tones, beside what the browser does. The headless browser grants the
 * permission, but `permission` does not say so.
 */
const RECORD = `
  window.shown = [];
  window.ended = [];
  window.tones = 0;
  window.Notification = class extends Notification {
    static permission = 'granted';
    constructor(title, options) { super(title, options); this.at = performance.now(); shown.push(this); }
    close() { ended.push(this.title); super.close(); }
  };
  const { start } = OscillatorNode.prototype;
  OscillatorNode.prototype.start = function (...times) { tones += 1; return start.apply(this, times); };`;

const shown = (page: Page) => page.evaluate<string[]>(`shown.map(({ title, body }) => title + body)`);
const tones = (page: Page) => page.evaluate<number>('tones');

const option = (page: Page, name: string) => page.getByRole('checkbox', { name });

/** The clock of the page runs on until the title says so. */
const untilTitle = (page: Page, title: RegExp) =>
  expect
    .poll(async () => {
      await page.clock.runFor(100);
      return page.title();
    })
    .toMatch(title);

const ALLOWED: TabOptions = { context: { permissions: ['notifications'] } };

async function openRecorded(options: TabOptions = ALLOWED): Promise<{ service: TestService; page: Page }> {
  const service = await startService();
  await service.add(...many(1));
  const page = await openTab(service, 'Leads', options);
  await untilHeld(service);
  await page.evaluate(RECORD);
  // After a reload.
  await page.addInitScript(RECORD);
  return { service, page };
}

const iconText = (page: Page) =>
  page.evaluate<string>(
    `decodeURIComponent(document.querySelector('link[rel=icon]').href).replace(/<[^>]*>/g, '').replace(/^.*,/, '')`,
  );

describe('the icon of the page', () => {
  it('has the number of leads that arrived in the background, and is plain again when the page is seen', async () => {
    const service = await startService();
    const page = await openTab(service, 'Overview');
    await untilHeld(service);
    const plain = await page.evaluate<string>(`document.querySelector('link[rel=icon]').href`);
    await setHidden(page, true);
    await service.add(...many(3));
    await expect.poll(() => iconText(page)).toBe('3');
    // It is a picture that the browser can draw, under the policy of the page.
    expect(
      await page.evaluate<number>(`new Promise((resolve) => {
        const image = new Image();
        image.onload = () => resolve(image.width);
        image.onerror = () => resolve(0);
        image.src = document.querySelector('link[rel=icon]').href;
      })`),
    ).toBeGreaterThan(0);
    await service.add(...many(7));
    await expect.poll(() => iconText(page)).toBe('9+');
    await expect.poll(() => page.title()).toBe('(10) Overview · Leadtap');
    await setHidden(page, false);
    await expect.poll(() => page.evaluate(`document.querySelector('link[rel=icon]').href`)).toBe(plain);
    expect(await page.title()).toBe('Overview · Leadtap');
  });
});

describe('a desktop notification', () => {
  it('is off at first, and is not asked for', async () => {
    const { service, page } = await openRecorded();
    await openMenu(page);
    expect(await option(page, 'Desktop notification').isChecked()).toBe(false);
    expect(await option(page, 'Sound').isChecked()).toBe(false);
    await page.clock.install();
    await setHidden(page, true);
    await service.add(...many(1));
    await expect.poll(() => page.title()).toMatch(/^\(1\)/);
    await page.clock.runFor(60_000);
    expect(await shown(page)).toEqual([]);
    expect(await tones(page)).toBe(0);
  });

  it('comes once for leads that arrive together, says how many and not who, and again only later', async () => {
    const { service, page } = await openRecorded();
    await openMenu(page);
    await option(page, 'Desktop notification').click();
    await expect.poll(() => option(page, 'Desktop notification').isChecked()).toBe(true);
    await page.clock.install();
    await service.add(...many(1));
    await page.locator('.lead-row').nth(1).waitFor();
    await page.clock.runFor(5_000);
    // The page was visible.
    expect(await shown(page)).toEqual([]);
    await setHidden(page, true);
    await service.add(...many(20));
    await untilTitle(page, /^\(20\)/);
    await page.clock.runFor(2_000);
    expect(await shown(page)).toEqual(['20 new leads']);
    await service.add(...many(5));
    await untilTitle(page, /^\(25\)/);
    await page.clock.runFor(20_000);
    expect(await shown(page)).toEqual(['20 new leads', '25 new leads']);
    const [first = 0, second = 0] = await page.evaluate<number[]>('shown.map(({ at }) => at)');
    expect(second - first).toBeGreaterThanOrEqual(15_000);
    // The first one was replaced.
    expect(await page.evaluate('ended')).toHaveLength(1);
  });

  it('opens the newest lead when it is clicked, from every tab, and goes when the page is seen', async () => {
    const { service, page } = await openRecorded();
    await openMenu(page);
    await option(page, 'Desktop notification').click();
    await page.keyboard.press('Escape');
    await page.getByRole('navigation').getByRole('link', { name: 'Connect' }).click();
    await setHidden(page, true);
    await service.add(...many(2));
    await expect.poll(() => shown(page)).toEqual(['2 new leads']);
    await page.evaluate(`shown[0].dispatchEvent(new Event('click'))`);
    await page.getByRole('heading', { name: 'Lead 2.' }).waitFor();
    await expect.poll(() => page.evaluate('document.activeElement.id')).toBe('lead-heading');
    await setHidden(page, false);
    expect(await page.evaluate('ended')).not.toEqual([]);
  });

  it('is silent while the list is paused', async () => {
    const { service, page } = await openRecorded();
    await openMenu(page);
    await option(page, 'Desktop notification').click();
    await option(page, 'Sound').click();
    await page.keyboard.press('Escape');
    const before = await tones(page);
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.clock.install();
    await setHidden(page, true);
    await untilHeld(service);
    await service.add(...many(1));
    await untilTitle(page, /^\(1\) Paused/);
    await page.clock.runFor(30_000);
    expect(await shown(page)).toEqual([]);
    expect(await tones(page)).toBe(before);
  });

  it('stays off when the browser blocks it, and the page says what to do', async () => {
    const { page } = await openRecorded({});
    await page.evaluate(`Notification.requestPermission = async () => 'denied'`);
    await openMenu(page);
    await option(page, 'Desktop notification').click();
    await page.getByText('Your browser blocks notifications of this page.').waitFor();
    expect(await option(page, 'Desktop notification').isChecked()).toBe(false);
    await expectAccessible(page);
  });

  it('is remembered for the tab until it is switched off, and so is the sound', async () => {
    const { page } = await openRecorded();
    const stored = () =>
      page.evaluate<string>('JSON.stringify([{ ...sessionStorage }, { ...localStorage }])');
    await openMenu(page);
    for (const name of ['Desktop notification', 'Sound']) {
      await option(page, name).click();
      await expect.poll(() => option(page, name).isChecked()).toBe(true);
    }
    expect(await stored()).toBe('[{"leadtap-sound":"on","leadtap-notify":"on"},{}]');
    await page.reload();
    await openMenu(page);
    for (const name of ['Desktop notification', 'Sound']) {
      expect(await option(page, name).isChecked()).toBe(true);
      await option(page, name).click();
    }
    expect(await stored()).toBe('[{},{}]');
  });
});

describe('the sound', () => {
  it('is one tone as a sample, and one for leads that arrive together', async () => {
    const { service, page } = await openRecorded();
    await openMenu(page);
    await option(page, 'Sound').click();
    await expect.poll(() => tones(page)).toBe(1);
    await page.clock.install();
    await service.add(...many(20));
    await expect
      .poll(async () => {
        await page.clock.runFor(500);
        return tones(page);
      })
      .toBe(2);
    await page.clock.runFor(10_000);
    expect(await tones(page)).toBe(2);
    await option(page, 'Sound').click();
    await untilHeld(service);
    await service.add(...many(1));
    await expect
      .poll(async () => {
        await page.clock.runFor(500);
        return page.locator('.lead-row').count();
      })
      .toBe(22);
    await page.clock.runFor(20_000);
    expect(await tones(page)).toBe(2);
  });
});
