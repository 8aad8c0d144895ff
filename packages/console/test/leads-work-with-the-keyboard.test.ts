import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { expectAccessible } from '../../testing/browser/accessibility.ts';
import { openPage } from '../../testing/browser/page.ts';
import { startService } from '../../testing/harness/service.ts';
import { forgetToken } from './support/menu.ts';
import { openTab } from './support/open-tab.ts';

const focused = (page: Page) => page.evaluate<string>('document.activeElement.innerText.split("\\n")[0]');
const heading = (page: Page) => page.locator('.detail h1').innerText();

async function openWithLeads(): Promise<Page> {
  const service = await startService();
  await service.add(...['Carl', 'Beth', 'Anna'].map((firstName) => ({ fields: { firstName } })));
  const page = await openTab(service, 'Leads');
  await page.locator('.detail h1').getByText('Anna').waitFor();
  return page;
}

it('moves with j and k, and stops at both ends', async () => {
  const page = await openWithLeads();
  for (const [key, expected] of [
    ['j', 'Beth'],
    ['j', 'Carl'],
    ['j', 'Carl'],
    ['k', 'Beth'],
    ['k', 'Anna'],
    ['k', 'Anna'],
  ] as const) {
    await page.keyboard.press(key);
    await expect.poll(() => heading(page)).toBe(expected);
    expect(await focused(page)).toBe(expected);
  }
});

it('goes into the lead with Enter, and back to the list with Escape', async () => {
  const page = await openWithLeads();
  await page.keyboard.press('j');
  await page.keyboard.press('Enter');
  await expect.poll(() => page.evaluate<string>('document.activeElement.id')).toBe('lead-heading');
  expect(await heading(page)).toBe('Beth');
  await page.keyboard.press('Escape');
  await expect.poll(() => page.evaluate<boolean>(`document.activeElement.matches('.lead-row a')`)).toBe(true);
  expect(await focused(page)).toBe('Beth');
});

it('goes to the filter with /, where letters are letters, and clears and leaves it with Escape', async () => {
  const page = await openWithLeads();
  await page.keyboard.press('/');
  await page.keyboard.type('j?k/');
  expect(await page.getByLabel('Search leads').inputValue()).toBe('j?k/');
  expect(await page.getByRole('dialog').count()).toBe(0);
  await page.locator('.filter select').selectOption('NEW');
  await page.getByLabel('Search leads').focus();
  await page.keyboard.press('Escape');
  expect(await page.getByLabel('Search leads').inputValue()).toBe('');
  expect(await page.locator('.filter select').inputValue()).toBe('');
  await expect.poll(() => page.locator('.lead-row').count()).toBe(3);
  await expect.poll(() => focused(page)).toBe('Anna');
});

it('has the focus in a sensible place at the start, and after Clear, Forget and Back', async () => {
  const service = await startService();
  await service.add({ fields: { firstName: 'Anna' } });
  const page = await openPage(service.url);
  const focusedName = () => page.evaluate<string>('document.activeElement.name ?? document.activeElement.id');
  await expect.poll(focusedName).toBe('pasted');
  await page.keyboard.insertText(await service.token('boss'));
  await page.keyboard.press('Enter');
  await expect.poll(focusedName).toBe('main');
  await page.getByRole('link', { name: 'Last lead' }).click();
  await page.locator('.lead-row').waitFor();
  await page.getByLabel('Search leads').fill('nothing like this');
  await page.getByRole('button', { name: 'Clear the filter' }).click();
  expect(await page.evaluate('document.activeElement.id')).toBe('lead-filter');
  await page.setViewportSize({ width: 360, height: 740 });
  await page.getByRole('button', { name: 'All leads' }).click();
  await expect.poll(() => focused(page)).toBe('Anna');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'All leads' }).click();
  await expect.poll(() => focused(page)).toBe('Anna');
  await forgetToken(page);
  await expect.poll(focusedName).toBe('pasted');
  await page.getByRole('navigation').getByRole('link', { name: 'Connect' }).click();
  await page.getByRole('link', { name: 'Zapier' }).click();
  await expect.poll(focusedName).not.toBe('');
});

it('lists the keys with ?', async () => {
  const page = await openWithLeads();
  await page.keyboard.press('?');
  const dialog = page.getByRole('dialog', { name: 'Keyboard' });
  await dialog.waitFor();
  expect(await dialog.locator('kbd').allInnerTexts()).toEqual(['j', 'k', 'Enter', '/', 'd', 'Esc', '?']);
  await expectAccessible(page);
  await page.keyboard.press('j');
  expect(await heading(page)).toBe('Anna');
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'hidden' });
});

it('leaves keys with Ctrl, Alt and Meta to the browser', async () => {
  const page = await openWithLeads();
  for (const key of ['Control+j', 'Alt+j', 'Meta+k']) await page.keyboard.press(key);
  expect(await heading(page)).toBe('Anna');
});

it('reaches everything with Tab, beginning with a way past the tabs', async () => {
  const page = await openWithLeads();
  await page.keyboard.press('Shift+Tab');
  await page.keyboard.press('Shift+Tab');
  expect(await focused(page)).toBe('Skip to the content');
  await page.keyboard.press('Enter');
  expect(await page.evaluate<string>('document.activeElement.id')).toBe('main');
  const reached = new Set<string>();
  for (let step = 0; step < 30; step += 1) {
    await page.keyboard.press('Tab');
    reached.add(await focused(page));
  }
  for (const name of ['Anna', 'Beth', 'Carl', 'Copy']) expect(reached).toContain(name);
});
