import { LEAD_FIELDS } from '@leadtap/contract';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { expectAccessible, expectEveryLook } from '../../testing/browser/accessibility.ts';
import { findOverflow, openPage } from '../../testing/browser/page.ts';
import { untilHeld } from '../../testing/harness/long-polls.ts';
import { startService } from '../../testing/harness/service.ts';
import { addHistorical } from './support/historical-leads.ts';
import { openTab, showTab } from './support/open-tab.ts';
import { expectUnmoved, topOf } from './support/rows.ts';

const named = (firstName: string) => ({ fields: { firstName } });
const many = (count: number) => Array.from({ length: count }, (_, index) => named(`Lead ${index + 1}.`));

const row = (page: Page, name: string) => page.locator('.lead-row').filter({ hasText: name });
const names = (page: Page) => page.locator('.row-name').allInnerTexts();
const detail = (page: Page) => page.locator('.detail');

describe('the list', () => {
  it('has the newest leads first, each with contact, source, status, place, appointment and age', async () => {
    const service = await startService();
    await service.add(named('Older'), {
      branchId: 'north',
      departmentId: 'sales',
      statusValue: 'QUOTED',
      fields: {
        firstName: 'Femke',
        phone1: '+33 1 99 00 12 34',
        email: 'femke@example.com',
        customFields: { roof: 'tile', UTM_Source: 'newsletter' },
        appointmentDateTime: Date.parse('2030-12-15T14:00:00Z'),
      },
    });
    const page = await openTab(service, 'Leads');
    await row(page, 'Femke').waitFor();
    expect(await names(page)).toEqual(['Femke', 'Older']);
    const text = (await row(page, 'Femke').innerText()).replace(/\s+/g, ' ');
    expect(text).toMatch(
      /^Femke via newsletter \d+ (s|min) .*Quoted \+33 1 99 00 12 34 North · Sales Appointment 15 Dec 2030, 14:00$/,
    );
    const time = row(page, 'Femke').locator('time');
    expect(await time.getAttribute('title')).toMatch(/\d{4}, \d\d:\d\d:\d\d UTC$/);
    expect(await time.locator('.vh').innerText()).toBe(await time.getAttribute('title'));
    const colour = `getComputedStyle(document.querySelector('.lead-row .dot')).backgroundColor`;
    expect(await page.evaluate<string>(colour)).toMatch(/^rgb\(/);
  });

  it('has the e-mail address of a lead without a phone, a campaign as its source, and the date of one that is old', async () => {
    const service = await startService();
    await addHistorical(service, {
      createdAt: Date.parse('2025-03-04T09:12:00Z'),
      fields: { firstName: 'Bo', email: 'bo@example.com', customFields: { Campaign: 'spring', source: '' } },
    });
    const page = await openTab(service, 'Leads');
    const text = (await row(page, 'Bo').innerText()).replace(/\s+/g, ' ');
    expect(text).toMatch(/^Bo via spring 4 Mar 2025, 09:12 .*New bo@example.com$/);
  });

  it('says that a lead has no name, also if that is a space', async () => {
    const service = await startService();
    await service.add({ fields: { fullName: ' ', phone1: '123' } });
    const page = await openTab(service, 'Leads');
    await row(page, 'Without a name').waitFor();
    await page.locator('.detail h1').getByText('Without a name').waitFor();
  });

  it('shows a lead as soon as it is stored, although the page sends no request', async () => {
    const service = await startService();
    await service.add(named('First'));
    const page = await openTab(service, 'Leads', { motion: 'no-preference' });
    await row(page, 'First').waitFor();
    await untilHeld(service);
    await service.add(named('Second'));
    await row(page, 'Second').waitFor();
    expect(await names(page)).toEqual(['Second', 'First']);
    expect(await page.getByText('New lead: Second. 1 since you opened the page.').count()).toBe(1);
  });

  it('keeps its place while it is scrolled, and shows how many leads wait above it', async () => {
    const service = await startService();
    await service.add(...many(60));
    const page = await openTab(service, 'Leads');
    await row(page, 'Lead 60.').waitFor();
    await untilHeld(service);
    await page.evaluate(`document.querySelector('.rows').scrollTop = 600`);
    const firstSeen = () =>
      page.evaluate<string>(`[...document.querySelectorAll('.lead-row')].find((row) =>
        row.getBoundingClientRect().top >= row.parentElement.getBoundingClientRect().top).innerText.split('\\n')[0]`);
    const scrollTop = () => page.evaluate<number>(`document.querySelector('.rows').scrollTop`);
    const before = await firstSeen();
    await service.add(named('Eve'), named('Fay'), named('Gus'));
    const pill = page.getByRole('button', { name: '3 new' });
    await pill.waitFor();
    expect(await firstSeen()).toBe(before);
    expect(await scrollTop()).toBe(600);
    expect(await row(page, 'Gus').count()).toBe(0);
    await expectAccessible(page);
    await pill.click();
    await row(page, 'Gus').waitFor();
    expect((await names(page)).slice(0, 3)).toEqual(['Gus', 'Fay', 'Eve']);
    expect(await scrollTop()).toBe(0);
    expect(await pill.count()).toBe(0);
  });

  it('updates the ages of rows in sight only, and lays out no others', async () => {
    // Who has it is not answered, there are fewer leads than a page, and no held request is answered: nothing sets the clock of the page.
    const service = await startService();
    await service.add(...many(99));
    const page = await openPage(service.url);
    await page.route('**/automation/connections*', () => undefined);
    await page.route('**/automation/new-leads*', (route) =>
      route.request().headers()['prefer'] === undefined ? route.continue() : undefined,
    );
    await page.clock.install();
    await page.evaluate(`location.hash = '#token=${await service.token('boss')}'`);
    await showTab(page, 'Leads');
    await row(page, 'Lead 99.').waitFor();
    const ages = () =>
      page.evaluate<string[]>(
        `[...document.querySelectorAll('.row-age [aria-hidden]')].map((it) => it.textContent)`,
      );
    const before = await ages();
    await page.clock.runFor(65_000);
    await expect.poll(async () => (await ages())[0]).toMatch(/min$/);
    expect((await ages())[98]).toBe(before[98]);
    expect(
      await page.evaluate(`getComputedStyle(document.querySelector('.lead-row')).contentVisibility`),
    ).toBe('auto');
    await row(page, 'Lead 1.').scrollIntoViewIfNeeded();
    await expect.poll(async () => (await ages()).at(-1)).toMatch(/min$/);
  });

  it('is filtered by words and by status', async () => {
    const service = await startService();
    await service.add(
      { ...named('Ada'), branchId: 'north', statusValue: 'WON' },
      { fields: { firstName: 'Ben', email: 'ben@example.com', customFields: { roof: 'Slate' } } },
      { ...named('Cleo'), branchId: 'south' },
    );
    const page = await openTab(service, 'Leads');
    await row(page, 'Cleo').waitFor();
    const filter = page.getByLabel('Search leads');
    for (const [text, expected] of [
      ['NORTH', ['Ada']],
      ['slate', ['Ben']],
      ['ben@ example', ['Ben']],
      ['won', ['Ada']],
      ['', ['Cleo', 'Ben', 'Ada']],
    ] as const) {
      await filter.fill(text);
      await expect.poll(() => names(page)).toEqual(expected);
    }
    await page.getByRole('combobox', { name: 'Status' }).selectOption('Won');
    await expect.poll(() => names(page)).toEqual(['Ada']);
    expect(await page.getByText('1 of 3 leads', { exact: true }).count()).toBe(1);
    await filter.fill('nothing like this');
    await page.getByText('No lead matches.').waitFor();
    await page.getByRole('button', { name: 'Clear the filter' }).click();
    await expect.poll(() => names(page)).toEqual(['Cleo', 'Ben', 'Ada']);
  });

  it('has a title with the number of leads that arrive in the background', async () => {
    const service = await startService();
    const page = await openTab(service, 'Leads');
    await untilHeld(service);
    await page.evaluate(`Object.defineProperty(document, 'hidden', { get: () => true });
      document.dispatchEvent(new Event('visibilitychange'))`);
    await service.add(named('Eve'), named('Fay'));
    await expect.poll(() => page.title()).toBe('(2) Leads · Leadtap');
  });
});

/** What is too small for a finger: less than 44 pixels high. */
const SMALL_TARGETS = `[...document.querySelectorAll('a, button, select, summary, label, input:not([type="checkbox"])')]
  .filter((it) => it.checkVisibility() && !it.closest('[inert]') && !it.matches('.vh, .skip'))
  .filter((it) => it.getBoundingClientRect().height < 44)
  .map((it) => it.outerHTML)`;

describe('the detail', () => {
  const lead = {
    id: 'lead-7',
    branchId: 'north',
    departmentId: 'sales',
    fields: {
      firstName: 'Femke',
      lastName: 'Moreau <b>&',
      phone1: '+33 1 99 00 12 34',
      email: 'femke@example.com',
      customFields: { roof: 'tile', area: 120 },
      images: ['https://images.example.com/roof.jpg', 'https://images.example.com/door.jpg'],
      sameDay: true,
    },
  } as const;

  it('has all fields with a value beside the list, the empty ones on demand, and links that are never loaded by themselves', async () => {
    const service = await startService();
    await service.add(lead);
    const page = await openTab(service, 'Leads');
    await detail(page).getByRole('heading', { name: 'Femke Moreau <b>&' }).waitFor();
    const labels = async () => (await detail(page).locator('dt').allInnerTexts()).toSorted();
    const inHeading = ['fullName', 'firstName', 'lastName', 'status', 'statusValue'];
    const listed = LEAD_FIELDS.filter(({ name }) => !inHeading.includes(name));
    const all = listed.map(({ label }) => label).toSorted();
    const isEmpty = (name: string) => !(name in lead.fields);
    const empty = listed
      .filter(({ name, default: byDefault }) => byDefault === null && isEmpty(name))
      .map(({ label }) => label);
    expect(await labels()).toEqual(all.filter((label) => !empty.includes(label)));
    await expectAccessible(page);
    await page.getByRole('button', { name: `Show ${empty.length} empty fields` }).click();
    expect(await labels()).toEqual(all);
    const fields = (await detail(page).innerText()).replace(/\s+/g, ' ');
    for (const text of [
      'lead-7',
      'roof: tile',
      'area: 120',
      'North',
      'Sales',
      'Acme',
      'Same day yes',
      'Second phone none',
    ])
      expect(fields).toContain(text);
    const link = detail(page).getByRole('link', { name: 'https://images.example.com/roof.jpg' });
    expect(await link.getAttribute('rel')).toBe('noopener noreferrer');
    expect(await page.locator('img').count()).toBe(0);
    expect(await detail(page).getByRole('link', { name: '+33' }).getAttribute('href')).toBe(
      'tel:+33199001234',
    );
    await expectEveryLook(page);
    await page.getByRole('button', { name: `Hide ${empty.length} empty fields` }).click();
    expect(await labels()).toEqual(all.filter((label) => !empty.includes(label)));
  });

  it('has times in words, and the exact ones for a pointer, a screen reader, a click and a key', async () => {
    const service = await startService();
    const at = Date.now() + 30.5 * 86_400_000;
    await service.add({ fields: { firstName: 'Femke', appointmentDateTime: at } });
    const page = await openTab(service, 'Leads');
    const field = (label: string) =>
      detail(page)
        .locator('dl > div')
        .filter({ has: page.getByText(label, { exact: true }) })
        .locator('dd');
    await expect
      .poll(() => field('Appointment').innerText())
      .toMatch(/^\d+ \w+( \d+)?, \d\d:\d\d, in 30 days/);
    const created = field('Created at');
    expect(await created.locator('[aria-hidden]').innerText()).toMatch(/^(now|\d+ (s|min) ago)$/);
    expect(await created.locator('time').getAttribute('title')).toMatch(/\d{4}, \d\d:\d\d:\d\d UTC$/);
    expect(await created.locator('.vh').innerText()).toMatch(/\d{4}, \d\d:\d\d:\d\d UTC$/);
    const exact = created.locator('code');
    expect(await exact.isVisible()).toBe(false);
    await created.locator('summary').focus();
    await page.keyboard.press('Enter');
    await exact.waitFor();
    const [lead] = await service.leads('boss');
    expect(await exact.innerText()).toBe(lead?.createdAt);
    await expectEveryLook(page);
    await created.locator('summary').click();
    await exact.waitFor({ state: 'hidden' });
  });

  it('gives the JSON that automations get', async () => {
    const service = await startService();
    await service.add(lead);
    const page = await openTab(service, 'Leads', { clipboard: true });
    await page.getByText('Copy', { exact: true }).click();
    await page.getByRole('button', { name: 'JSON', exact: true }).click();
    await page.getByText('copied', { exact: true }).waitFor();
    const [expected] = await service.leads('boss');
    expect(JSON.parse(await page.evaluate<string>('navigator.clipboard.readText()'))).toEqual(expected);
    await page.getByText('JSON, as automations get it').click();
    expect(JSON.parse(await detail(page).locator('pre').innerText())).toEqual(expected);
  });

  it('stays with the lead that is read while others arrive', async () => {
    const service = await startService();
    await service.add(named('First'), named('Second'));
    const page = await openTab(service, 'Leads');
    await row(page, 'First').click();
    await detail(page).getByRole('heading', { name: 'First' }).waitFor();
    await untilHeld(service);
    await service.add(named('Third'));
    await row(page, 'Third').waitFor();
    expect(await detail(page).getByRole('heading').first().innerText()).toBe('First');
    expect(await row(page, 'First').locator('a').getAttribute('aria-current')).toBe('true');
  });

  it('stays with the lead that is read, and a scrolled list with its rows, although 1,000 newer ones arrive', async () => {
    const service = await startService();
    await service.add(...many(60));
    const page = await openTab(service, 'Leads');
    await row(page, 'Lead 30.').click();
    await page.evaluate(`document.querySelector('.rows').scrollTop = 700`);
    const before = await names(page);
    const top = await topOf(row(page, 'Lead 30.'));
    for (let batch = 0; batch < 11; batch += 1) await service.add(...many(100));
    await page.getByRole('button', { name: '1100 new' }).waitFor();
    expect(await detail(page).getByRole('heading').first().innerText()).toBe('Lead 30.');
    expect(await names(page)).toEqual(before);
    await expectUnmoved(row(page, 'Lead 30.'), top);
    await page.getByRole('button', { name: '1100 new' }).click();
    await page.getByText('1,160 leads', { exact: true }).waitFor();
    expect(await detail(page).getByRole('heading').first().innerText()).toBe('Lead 30.');
  });

  it('opens another lead at its top', async () => {
    const service = await startService();
    await service.add(named('First'), named('Second'));
    const page = await openTab(service, 'Leads');
    await row(page, 'First').click();
    await page.setViewportSize({ width: 1280, height: 300 });
    await page.evaluate(`document.querySelector('.detail').scrollTop = 400`);
    await row(page, 'Second').click();
    await detail(page).getByRole('heading', { name: 'Second' }).waitFor();
    expect(await page.evaluate(`document.querySelector('.detail').scrollTop`)).toBe(0);
  });

  it('shows texts of any length and direction: whole names wrap, very long values are cut until asked for', async () => {
    const service = await startService();
    const name = 'Donaudampfschifffahrtsgesellschaftskapitaenswitwe'.repeat(8);
    const note = 'x'.repeat(60_000);
    await service.add({
      fields: { firstName: name, email: 'a+b@example.com', customFields: { note, [name]: 'שלום 42' } },
    });
    const page = await openTab(service, 'Leads');
    await detail(page).getByRole('heading', { name }).waitFor();
    expect(await findOverflow(page)).toEqual([]);
    const noteRow = detail(page).locator('li', { hasText: 'note:' });
    expect((await noteRow.innerText()).length).toBeLessThan(1100);
    await noteRow.getByRole('button', { name: 'Show all 60,000 characters' }).click();
    expect((await noteRow.innerText()).length).toBeGreaterThan(60_000);
    expect(await page.locator('.row-name').evaluate((element) => element.localName)).toBe('bdi');
    const mail = detail(page).getByRole('link', { name: 'a+b@example.com' });
    expect(await mail.getAttribute('href')).toBe('mailto:a%2Bb@example.com');
    await page.setViewportSize({ width: 360, height: 740 });
    expect(await findOverflow(page)).toEqual([]);
  });

  it('is a page of its own on a phone, and the way back leads to the same place of the list', async () => {
    const service = await startService();
    await service.add(...many(40));
    const page = await openTab(service, 'Leads', { screen: 'phone' });
    await row(page, 'Lead 40.').waitFor();
    expect(await detail(page).count()).toBe(0);
    expect(await page.evaluate<string[]>(SMALL_TARGETS)).toEqual([]);
    await row(page, 'Lead 20.').scrollIntoViewIfNeeded();
    const scrollY = () => page.evaluate<number>('scrollY');
    const before = await scrollY();
    expect(before).toBeGreaterThan(100);
    for (const goBack of [
      () => page.getByRole('button', { name: 'All leads' }).click(),
      () => page.goBack(),
      () => page.keyboard.press('Escape'),
    ]) {
      await row(page, 'Lead 20.').click();
      await detail(page).getByRole('heading', { name: 'Lead 20.' }).waitFor();
      expect(await page.evaluate<string[]>(SMALL_TARGETS)).toEqual([]);
      // What is below it cannot be reached by keyboard or screen reader.
      expect(await page.locator('.bar[inert], .status-line[inert], .list-side[inert]').count()).toBe(3);
      await goBack();
      await detail(page).waitFor({ state: 'detached' });
      expect(await scrollY()).toBe(before);
    }
    await expectEveryLook(page);
  });
});
