import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { expectEveryLook } from '../../testing/browser/accessibility.ts';
import { openPage } from '../../testing/browser/page.ts';
import { startService } from '../../testing/harness/service.ts';
import { forgetToken, openMenu } from './support/menu.ts';

const field = (page: Page) => page.getByLabel('Paste the token you were given');
const keep = (page: Page) => page.getByRole('checkbox', { name: 'Keep the token in this tab' });
const live = (page: Page) => page.getByText('live', { exact: true }).waitFor();
const stored = (page: Page) =>
  page.evaluate<string>('JSON.stringify([{ ...sessionStorage }, { ...localStorage }, document.cookie])');

it('keeps it over a reload if the visitor chose so, says why not to, and forgets it with the token', async () => {
  const service = await startService();
  const page = await openPage(service.url);
  const token = await service.token('boss');
  expect(await keep(page).isChecked()).toBe(false);
  const about = await keep(page).getAttribute('aria-describedby');
  const reason = await page.locator(`[id="${about}"]`).innerText();
  expect(reason).toContain('Leave this off on a computer that others use');
  expect(reason).toContain('a duplicated or reopened tab has it, too');
  await keep(page).click();
  await field(page).fill(token);
  expect(await stored(page)).not.toContain(token);
  await page.keyboard.press('Enter');
  await live(page);
  expect(await stored(page)).toContain(token);
  await page.reload();
  await live(page);
  expect(await page.getByText('loaded again').count()).toBe(0);

  await forgetToken(page);
  expect(await stored(page)).toBe('[{},{},""]');
  await page.reload();
  await field(page).waitFor();
  expect(await keep(page).isChecked()).toBe(false);
});

it('can be chosen and revoked for a token that came with the address', async () => {
  const service = await startService();
  const token = await service.token('boss');
  const page = await openPage(`${service.url}/#token=${token}`);
  await live(page);
  expect(await stored(page)).not.toContain(token);
  await openMenu(page);
  await keep(page).click();
  await expect.poll(() => keep(page).isChecked()).toBe(true);
  await page.reload();
  await live(page);
  await openMenu(page);
  await expectEveryLook(page);
  await keep(page).click();
  expect(await stored(page)).not.toContain(token);
  await page.reload();
  await page.getByText('loaded again').waitFor();
});

it('gives a token of an address precedence, and keeps that one instead', async () => {
  const service = await startService();
  const page = await openPage(service.url);
  await keep(page).click();
  const [first, second] = [await service.token('boss'), await service.token('rival')];
  await field(page).fill(first);
  await page.keyboard.press('Enter');
  await live(page);
  await page.goto('about:blank');
  await page.goto(`${service.url}/#token=${second}`);
  await page.getByRole('button', { name: 'rival' }).waitFor();
  expect(await stored(page)).not.toContain(first);
  expect(await stored(page)).toContain(second);
});

it('is not given to a service at another path of the same origin', async () => {
  const service = await startService({ env: { LEADTAP_BASE_PATH: '/api' } });
  const page = await openPage(`${service.url}/`);
  await keep(page).click();
  const token = await service.token('boss');
  await field(page).fill(token);
  await page.keyboard.press('Enter');
  await live(page);
  expect(await page.evaluate<string>('Object.keys(sessionStorage).join()')).toBe('leadtap-token /api/');
  await page.reload();
  await live(page);
});
