import type { Page, Request } from 'playwright-core';
import { expect, it } from 'vitest';
import { expectEveryLook } from '../../testing/browser/accessibility.ts';
import { untilHeld } from '../../testing/harness/long-polls.ts';
import { startService } from '../../testing/harness/service.ts';
import { forgetToken } from './support/menu.ts';
import { openTab } from './support/open-tab.ts';
import { expectUnmoved, topOf } from './support/rows.ts';

const named = (firstName: string) => ({ fields: { firstName } });
const names = (page: Page) => page.locator('.row-name').allInnerTexts();
const connection = (page: Page) => page.getByRole('region', { name: 'Connection' });
const button = (page: Page, name: string) => connection(page).getByRole('button', { name });

async function openPaused() {
  const service = await startService();
  await service.add(named('Ada'));
  const page = await openTab(service, 'Leads');
  await page.locator('.lead-row').waitFor();
  await untilHeld(service);
  await button(page, 'Pause').click();
  return { service, page };
}

it('keeps the list still, says how many leads wait, and shows them all when it is resumed', async () => {
  const { service, page } = await openPaused();
  await expect.poll(() => page.title()).toBe('Paused · Leads · Leadtap');
  await service.add(named('Ben'), named('Cleo'));
  await connection(page).getByText('2 new').waitFor();
  expect(await connection(page).getByRole('status').innerText()).toBe('paused');
  expect(await page.title()).toBe('(2) Paused · Leads · Leadtap');
  expect(await names(page)).toEqual(['Ada']);
  await page.getByRole('main').getByRole('button', { name: '2 new' }).waitFor();
  // A list at its top shows new leads, unless it is paused.
  await page.evaluate(`document.querySelector('.rows').dispatchEvent(new Event('scroll'))`);
  await untilHeld(service);
  await service.add(named('Dan'));
  await connection(page).getByText('3 new').waitFor();
  expect(await names(page)).toEqual(['Ada']);
  expect(await page.getByText('New lead:').count()).toBe(0);
  await expectEveryLook(page);

  await button(page, 'Resume').click();
  await expect.poll(() => names(page)).toEqual(['Dan', 'Cleo', 'Ben', 'Ada']);
  await connection(page).getByText('live', { exact: true }).waitFor();
  expect(await page.title()).toBe('Leads · Leadtap');
  expect(await page.getByRole('button', { name: /new$/ }).count()).toBe(0);
});

it('shows the leads that wait when the visitor asks for them, and stays paused', async () => {
  const { service, page } = await openPaused();
  await service.add(named('Ben'));
  await page.getByRole('main').getByRole('button', { name: '1 new' }).click();
  expect(await names(page)).toEqual(['Ben', 'Ada']);
  await button(page, 'Resume').waitFor();
  expect(await page.title()).toBe('Paused · Leads · Leadtap');
});

it('polls the service as often as without a pause', async () => {
  const { service, page } = await openPaused();
  const requests: Request[] = [];
  page.on('request', (request) => requests.push(request));
  /** How the page asks for what follows a lead. A held request that ends without a lead is sent again as it was. */
  const pollsAfterLead = async (name: string): Promise<Set<string | undefined>> => {
    const [createdAt = 0] = await service.add(named(name));
    const since = encodeURIComponent(new Date(createdAt).toISOString());
    const polls = () => requests.filter((request) => request.url().includes(since));
    await expect.poll(() => polls().length).toBeGreaterThan(0);
    await untilHeld(service);
    return new Set(
      polls().map((request) => `${request.url()} ${request.headers()['prefer']}`.replace(since, '')),
    );
  };
  const paused = await pollsAfterLead('Ben');
  expect(paused.size).toBe(1);
  await button(page, 'Resume').click();
  expect(await pollsAfterLead('Cleo')).toEqual(paused);
});

it('still says when the service fails', async () => {
  const { page } = await openPaused();
  await page.context().setOffline(true);
  await connection(page).getByText('The service cannot be reached').waitFor();
  await page.context().setOffline(false);
  await connection(page).getByText('paused', { exact: true }).waitFor();
});

it('ends with the token', async () => {
  const { service, page } = await openPaused();
  await page.getByRole('navigation').getByRole('link', { name: 'Overview' }).click();
  await forgetToken(page);
  await page.getByLabel('Paste the token you were given').fill(await service.token('boss'));
  await page.keyboard.press('Enter');
  await page.getByRole('main').getByText('live', { exact: true }).waitFor();
  expect(await page.title()).toBe('Overview · Leadtap');
});

it('does not move a list that is scrolled when it is resumed', async () => {
  const service = await startService();
  await service.add(...Array.from({ length: 60 }, (_, index) => named(`Lead ${60 - index}.`)).reverse());
  const page = await openTab(service, 'Leads');
  const read = page.locator('.lead-row').filter({ hasText: 'Lead 30.' });
  await read.waitFor();
  await untilHeld(service);
  await read.evaluate((row) => row.scrollIntoView());
  const before = await topOf(read);
  await button(page, 'Pause').click();
  await service.add(named('Ben'));
  await connection(page).getByText('1 new').waitFor();
  await button(page, 'Resume').click();
  await connection(page).getByText('live', { exact: true }).waitFor();
  await expectUnmoved(read, before);
  await page.getByRole('main').getByRole('button', { name: '1 new' }).click();
  await expect.poll(async () => (await names(page))[0]).toBe('Ben');
});
