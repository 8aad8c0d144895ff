import { LEAD_FIELDS } from '@leadtap/contract';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { expectAccessible, expectEveryLook } from '../../testing/browser/accessibility.ts';
import { findOverflow, openPage } from '../../testing/browser/page.ts';
import { untilHeld } from '../../testing/harness/held-polls.ts';
import { startService } from '../../testing/harness/service.ts';
import { openTab } from './support/open-tab.ts';

const named = (firstName: string) => ({ fields: { firstName } });
const many = (count: number) => Array.from({ length: count }, (_, index) => named(`Lead ${index + 1}.`));

const row = (page: Page, name: string) => page.locator('.lead-row').filter({ hasText: name });
const names = (page: Page) => page.locator('.row-name').allInnerTexts();
const detail = (page: Page) => page.locator('.detail');

describe('the list', () => {
  it('has the newest leads first, each with status, place, appointment and age', async () => {
    const service = await startService();
    await service.add(named('Older'), {
      branchId: 'north',
      departmentId: 'sales',
      statusValue: 'QUOTED',
      fields: { firstName: 'Femke', appointmentDateTime: Date.parse('2030-12-15T14:00:00Z') },
    });
    const page = await openTab(service, 'Leads');
    await row(page, 'Femke').waitFor();
    expect(await names(page)).toEqual(['Femke', 'Older']);
    const text = (await row(page, 'Femke').innerText()).replace(/\s+/g, ' ');
    expect(text).toMatch(/^Femke \d+ s .*Quoted North · Sales appointment 15 Dec, 14:00$/);
    const time = row(page, 'Femke').locator('time');
    expect(await time.getAttribute('title')).toMatch(/\d{4}, \d\d:\d\d:\d\d UTC$/);
    expect(await time.locator('.vh').innerText()).toBe(await time.getAttribute('title'));
    const colour = `getComputedStyle(document.querySelector('.lead-row .dot')).backgroundColor`;
    expect(await page.evaluate<string>(colour)).toMatch(/^rgb\(/);
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
    const service = await startService();
    await service.add(...many(100));
    const page = await openPage(service.url);
    await page.clock.install();
    await page.evaluate(`location.hash = '#token=${await service.token('boss')}'`);
    await row(page, 'Lead 100.').waitFor();
    const ages = () =>
      page.evaluate<string[]>(
        `[...document.querySelectorAll('.row-age [aria-hidden]')].map((it) => it.textContent)`,
      );
    const before = await ages();
    // Not so long that the held request would time out: the clock of the next answer would count.
    await page.clock.runFor(65_000);
    await expect.poll(async () => (await ages())[0]).toMatch(/min$/);
    expect((await ages())[99]).toBe(before[99]);
    expect(
      await page.evaluate(`getComputedStyle(document.querySelector('.lead-row')).contentVisibility`),
    ).toBe('auto');
    await row(page, 'Lead 1.').scrollIntoViewIfNeeded();
    await expect.poll(async () => (await ages()).at(-1)).toMatch(/min$/);
  });

  it('is filtered by words and by status, in what is loaded', async () => {
    const service = await startService();
    await service.add(
      { ...named('Ada'), branchId: 'north', statusValue: 'WON' },
      { fields: { firstName: 'Ben', email: 'ben@example.com', customFields: { roof: 'Slate' } } },
      { ...named('Cleo'), branchId: 'south' },
    );
    const page = await openTab(service, 'Leads');
    await row(page, 'Cleo').waitFor();
    const filter = page.getByLabel('Filter the loaded leads');
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
    expect(await page.getByText('1 of 3', { exact: true }).count()).toBe(1);
    await filter.fill('nothing like this');
    await page.getByText('None of the 3 loaded leads matches.').waitFor();
    await page.getByRole('button', { name: 'Clear the filter' }).click();
    await expect.poll(() => names(page)).toEqual(['Cleo', 'Ben', 'Ada']);
  });

  it('loads 100 leads, says that there are older ones, and plots the hours that are loaded', async () => {
    const service = await startService();
    await service.add(...many(101));
    const page = await openTab(service, 'Leads');
    await row(page, 'Lead 101.').waitFor();
    expect(await page.locator('.lead-row').count()).toBe(100);
    await page.getByText('Older leads are not loaded.').waitFor({ state: 'attached' });
    const label = await page.getByRole('img', { name: /^Leads per hour/ }).getAttribute('aria-label');
    expect(label).toMatch(/^Leads per hour: 100 loaded since .*, at most \d+ in one hour$/);
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

  it('has all 24 fields beside the list, and links that are never loaded by themselves', async () => {
    const service = await startService();
    await service.add(lead);
    const page = await openTab(service, 'Leads');
    await detail(page).getByRole('heading', { name: 'Femke Moreau <b>&' }).waitFor();
    const labels = await detail(page).locator('dt').allInnerTexts();
    expect(labels.toSorted()).toEqual(LEAD_FIELDS.map(({ label }) => label).toSorted());
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
  });

  it('gives the JSON that automations get', async () => {
    const service = await startService();
    await service.add(lead);
    const page = await openTab(service, 'Leads', { clipboard: true });
    await page.getByRole('button', { name: 'Copy JSON' }).click();
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
    const top = await row(page, 'Lead 30.').boundingBox();
    for (let batch = 0; batch < 11; batch += 1) await service.add(...many(100));
    await page.getByRole('button', { name: '1100 new' }).waitFor();
    expect(await detail(page).getByRole('heading').first().innerText()).toBe('Lead 30.');
    expect(await names(page)).toEqual(before);
    expect(await row(page, 'Lead 30.').boundingBox()).toEqual(top);
    await page.getByRole('button', { name: '1100 new' }).click();
    await expect.poll(() => page.locator('.lead-row').count()).toBe(1000);
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

  it('says when the lead of an address is not loaded', async () => {
    const service = await startService();
    await service.add(named('First'));
    const page = await openPage(`${service.url}/#leads/unknown`);
    await page.getByLabel('Paste the token you were given').fill(await service.token('boss'));
    await page.keyboard.press('Enter');
    await page.getByText('This lead is not among the loaded ones.').waitFor();
  });
});
