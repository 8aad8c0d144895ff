import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { expectEveryLook } from '../../testing/browser/accessibility.ts';
import { openPage } from '../../testing/browser/page.ts';
import { startService } from '../../testing/harness/service.ts';
import { shareService } from '../../testing/harness/shared-service.ts';
import { openTab } from './support/open-tab.ts';

const drawing = (page: Page, name: string) => page.locator(`.empty-state.${name} > svg`);

/** How far the middle of an element is from the middle of the page, in pixels. */
const offCentre = (page: Page, selector: string) =>
  page.evaluate<number>(`(() => {
    const { left, right } = document.querySelector('${selector}').getBoundingClientRect();
    return Math.abs((left + right) / 2 - document.documentElement.clientWidth / 2);
  })()`);

describe('a page without content has a drawing, the reason and the next step', () => {
  const service = shareService();

  it('no token: the field, which has the focus', async () => {
    const page = await openPage(service().url);
    await drawing(page, 'no-token').waitFor();
    await expect.poll(() => page.evaluate('document.activeElement.name')).toBe('pasted');
    await page.getByRole('navigation').getByRole('link', { name: 'Leads' }).click();
    await page.getByRole('heading', { name: 'Leads' }).waitFor();
    await drawing(page, 'no-token').waitFor();
    await page.reload();
    await expect.poll(() => page.evaluate('document.activeElement.name')).toBe('pasted');
    await expectEveryLook(page);
  });

  it('no leads: that they come by themselves', async () => {
    const page = await openTab(service(), 'Leads', { user: 'rival' });
    await drawing(page, 'no-leads').waitFor();
    await page.getByText('They appear here by themselves.').waitFor();
    expect(await offCentre(page, '.empty-state')).toBeLessThan(2);
    await expectEveryLook(page);
  });

  it('refused: why, and the field for another token', async () => {
    const page = await openTab(service(), 'Leads', { user: 'starter' });
    await drawing(page, 'refused').waitFor();
    await page.getByText('The Professional plan is required.').waitFor();
    await page.getByLabel('Paste the token you were given').waitFor();
    await expectEveryLook(page);
    await page.getByRole('navigation').getByRole('link', { name: 'Overview' }).click();
    await drawing(page, 'refused').waitFor();
  });
});

describe('on a wide screen', () => {
  it('the content is in the middle', async () => {
    const service = await startService();
    await service.add({ fields: { firstName: 'Ada' } });
    const page = await openTab(service, 'Leads', { context: { viewport: { width: 2560, height: 1200 } } });
    await page.locator('.lead-row').waitFor();
    expect(await offCentre(page, '.split')).toBeLessThan(2);
    for (const tab of ['overview', 'explore', 'connect']) {
      await page.locator(`nav a[href="#${tab}"]`).click();
      await page.locator(`main.tab-${tab} > div`).waitFor();
      expect(await offCentre(page, `main.tab-${tab} > div`)).toBeLessThan(10);
    }
    const edges = await page.evaluate<number[]>(
      `['.brand', '.account'].map((it) => document.querySelector(it).getBoundingClientRect()).map(({ left, right }) => Math.min(left, innerWidth - right))`,
    );
    for (const edge of edges) expect(edge).toBeGreaterThan(400);
  });
});

describe('the tiles', () => {
  it('have the names of the platforms and letters of their own, no pictures, and are read as the names only', async () => {
    const page = await openTab(await startService(), 'Connect', { token: '' });
    const tiles = page.locator('.tiles a');
    await tiles.first().waitFor();
    expect(await page.locator('.tiles :is(img, svg)').count()).toBe(0);
    expect(await page.locator('.mark').allInnerTexts()).toContain('Za');
    await page.getByRole('link', { name: /^Zapier/ }).waitFor();
    const colours = await page.evaluate<string[]>(
      `[...document.querySelectorAll('.mark')].map((it) => getComputedStyle(it).backgroundColor)`,
    );
    expect(new Set(colours).size).toBe(await tiles.count());
    await expectEveryLook(page);
  });
});

it('prints whose leads they are, without the buttons', async () => {
  const service = await startService();
  await service.add({ fields: { firstName: 'Ada' } });
  const page = await openTab(service, 'Leads');
  await page.locator('.lead-row').waitFor();
  await page.emulateMedia({ media: 'print' });
  expect(await page.getByRole('banner').innerText()).toContain('boss');
  expect(await page.getByText('Pause', { exact: true }).isVisible()).toBe(false);
});
