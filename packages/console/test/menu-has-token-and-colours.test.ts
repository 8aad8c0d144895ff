import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { expectEveryLook } from '../../testing/browser/accessibility.ts';
import { openPage } from '../../testing/browser/page.ts';
import { startService } from '../../testing/harness/service.ts';
import { menuButton, openMenu } from './support/menu.ts';
import { openTab } from './support/open-tab.ts';

const menu = (page: Page) => page.locator('[popover]');
const focused = (page: Page) =>
  page.evaluate<string>('document.activeElement.innerText || document.activeElement.id');

it('is named after the user, and has words instead of signs', async () => {
  const service = await startService();
  await service.add({ fields: { firstName: 'Ada' } });
  const page = await openTab(service, 'Leads');
  await page.locator('.lead-row').waitFor();
  expect(await menuButton(page).innerText()).toContain('boss');
  expect(await page.getByRole('banner').innerText()).not.toMatch(/[✕◐☀☾]/);
  await openMenu(page);
  await page.getByRole('button', { name: 'Forget the token' }).waitFor();
  await expectEveryLook(page);
});

it('closes with Esc, which does nothing else, with a click outside, and when the focus leaves it', async () => {
  const service = await startService();
  await service.add({ fields: { firstName: 'Ada' } });
  const page = await openTab(service, 'Leads');
  const filter = page.getByLabel('Search leads');
  await filter.fill('Ada');
  await menuButton(page).focus();
  await page.keyboard.press('Enter');
  await menu(page).waitFor();
  await page.keyboard.press('Tab');
  expect(await focused(page)).not.toContain('boss');
  await page.keyboard.press('Escape');
  await menu(page).waitFor({ state: 'hidden' });
  expect(await filter.inputValue()).toBe('Ada');
  expect(await focused(page)).toContain('boss');

  await page.keyboard.press('Enter');
  await menu(page).waitFor();
  await page.mouse.click(300, 600);
  await menu(page).waitFor({ state: 'hidden' });

  await openMenu(page);
  await menu(page).waitFor();
  await filter.focus();
  await menu(page).waitFor({ state: 'hidden' });
});

it('chooses the colours with the arrow keys, and is there without a token', async () => {
  const { url } = await startService();
  const page = await openPage(url);
  await page.getByRole('button', { name: 'Settings' }).click();
  await page.getByRole('radio', { name: 'System' }).focus();
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowRight');
  expect(await page.getByRole('radio', { name: 'Dark' }).isChecked()).toBe(true);
  expect(await page.evaluate('document.documentElement.dataset.theme')).toBe('dark');
  expect(await page.getByRole('button', { name: 'Forget the token' }).count()).toBe(0);
  await expectEveryLook(page);
});

it('has targets for fingers on a phone, and stays on the screen', async () => {
  const service = await startService();
  const page = await openTab(service, 'Overview', { screen: 'phone' });
  await openMenu(page);
  const box = await menu(page).boundingBox();
  expect(box?.x).toBeGreaterThanOrEqual(0);
  expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(360);
  const small = await page.evaluate<string[]>(
    `[...document.querySelectorAll('header button, [popover] label, [popover] button')]
      .filter((it) => it.getBoundingClientRect().height < 44).map((it) => it.outerHTML)`,
  );
  expect(small).toEqual([]);
});
