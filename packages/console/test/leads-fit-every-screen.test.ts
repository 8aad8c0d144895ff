import type { Locator, Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { expectAccessible, expectEveryLook } from '../../testing/browser/accessibility.ts';
import { findOverflow } from '../../testing/browser/page.ts';
import { untilHeld } from '../../testing/harness/long-polls.ts';
import { startService } from '../../testing/harness/service.ts';
import { openTab, showTab } from './support/open-tab.ts';

const row = (page: Page, name: string) => page.locator('.lead-row').filter({ hasText: name });
const leadNames = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ fields: { firstName: `Lead ${index + 1}.` } }));

const boxOf = async (element: Locator) => {
  const box = await element.boundingBox();
  if (!box) throw new Error('the element is not shown');
  return { ...box, right: box.x + box.width, bottom: box.y + box.height };
};

it.each([768, 820, 1024, 1100])('at %i pixels, the tools of the list are beside the lead', async (width) => {
  const service = await startService();
  await service.add(...leadNames(3));
  const page = await openTab(service, 'Leads', { context: { viewport: { width, height: 700 } } });
  await page.locator('.detail h1').waitFor();
  const { x: detailLeft } = await boxOf(page.locator('.detail'));
  for (const tool of await page.locator('.filter > :is(input, select, button)').all())
    expect((await boxOf(tool)).right).toBeLessThanOrEqual(detailLeft);
  expect((await boxOf(page.getByLabel('Search leads'))).width).toBeGreaterThan(120);
  await page.getByRole('button', { name: 'Export' }).click();
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('button', { name: 'Keyboard shortcuts' }).click();
  await page.getByRole('button', { name: 'Close' }).click();
});

it('at 390 pixels, the field for a day has room for a date and its button', async () => {
  const service = await startService();
  await service.add(...leadNames(3));
  const page = await openTab(service, 'Leads', { context: { viewport: { width: 390, height: 700 } } });
  expect((await boxOf(page.getByLabel('Show the leads of a day'))).width).toBeGreaterThanOrEqual(160);
  expect(await findOverflow(page)).toEqual([]);
});

it('at 320 pixels, the names of the tabs are on one line, and no field is wider', async () => {
  const service = await startService();
  const page = await openTab(service, 'Leads', { context: { viewport: { width: 320, height: 600 } } });
  const tabs = await page.locator('.bar nav a').all();
  const heights = await Promise.all(tabs.map(async (tab) => (await boxOf(tab)).height));
  expect(Math.max(...heights)).toBeLessThan(60);
  expect(await findOverflow(page)).toEqual([]);
  await showTab(page, 'Explore');
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor();
  expect(await findOverflow(page)).toEqual([]);
});

it('e-mail addresses break before @ and full stops, and are copied as they are', async () => {
  const service = await startService();
  const email = 'maximiliane.schulenburg@mail.examplecompany.com';
  await service.add({ fields: { firstName: 'Eve', email } });
  const page = await openTab(service, 'Leads');
  await page.locator('.detail h1').waitFor();
  for (const shown of [page.locator('.detail a[href^="mailto:"]'), page.locator('.row-contact')]) {
    expect(await shown.innerText()).toBe(email);
    expect((await shown.innerHTML()).match(/<wbr>./g)).toEqual(['<wbr>.', '<wbr>@', '<wbr>.', '<wbr>.']);
  }
});

describe('the number of new leads', () => {
  it.each(['desktop', 'phone'] as const)('covers no row, and moves none (%s)', async (screen) => {
    const service = await startService();
    await service.add(...leadNames(60));
    const page = await openTab(service, 'Leads', { screen });
    await row(page, 'Lead 60.').waitFor();
    await untilHeld(service);
    const scroller = screen === 'phone' ? 'html' : '.rows';
    await page.evaluate(`document.querySelector('${scroller}').scrollTo(0, 700)`);
    const before = (await boxOf(row(page, 'Lead 40.'))).y;
    await service.add({ fields: { firstName: 'Eve' } });
    const button = page.getByRole('button', { name: '1 new' });
    await button.waitFor();
    expect((await boxOf(row(page, 'Lead 40.'))).y).toBe(before);
    const { y, bottom } = await boxOf(page.locator('.list-line'));
    const box = await boxOf(button);
    expect(box.y).toBeGreaterThanOrEqual(y);
    expect(box.bottom).toBeLessThanOrEqual(bottom);
    await expectAccessible(page);
    await button.click();
    await row(page, 'Eve').waitFor();
    expect(await page.evaluate(`document.querySelector('${scroller}').scrollTop`)).toBe(0);
  });
});

describe('a search', () => {
  it('shows what it has found while it goes on, above the list, and a button that stops it', async () => {
    const service = await startService();
    await service.add(...leadNames(60), { fields: { firstName: 'Zoë', lastName: 'Lefèvre' } });
    const page = await openTab(service, 'Leads');
    await row(page, 'Lead 60.').waitFor();
    const texts: (string | null)[] = [];
    await page.route('**/automation/leads?*', (route) => {
      texts.push(new URL(route.request().url()).searchParams.get('q'));
    });
    await page.getByLabel('Search leads').pressSequentially('zoe lefevre');
    await row(page, 'Zoë Lefèvre').waitFor();
    const line = page.locator('.list-line');
    await line.getByText('1 lead found so far').waitFor();
    await line.getByText('Searching older leads…').waitFor();
    // None for the letters before.
    await expect.poll(() => texts).toEqual(['zoe lefevre']);
    await expectEveryLook(page);
    await line.getByRole('button', { name: 'Stop' }).click();
    await line.getByText('1 lead found', { exact: true }).waitFor();
    await line.getByRole('button', { name: 'Search further back' }).waitFor();
  });
});
