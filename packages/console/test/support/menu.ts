import type { Page } from 'playwright-core';

/** The button in the header that opens the menu. */
export const menuButton = (page: Page) => page.locator('button[popovertarget]');

export const openMenu = (page: Page): Promise<void> => menuButton(page).click();

export async function forgetToken(page: Page): Promise<void> {
  await openMenu(page);
  await page.getByRole('button', { name: 'Forget the token' }).click();
}
