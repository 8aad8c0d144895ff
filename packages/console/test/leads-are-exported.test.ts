import { readFile } from 'node:fs/promises';
import { escapeFormula } from '@leadtap/contract';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { expectAccessible } from '../../testing/browser/accessibility.ts';
import { startService } from '../../testing/harness/service.ts';
import { addHistorical } from './support/historical-leads.ts';
import { openTab } from './support/open-tab.ts';

async function download(page: Page, format: string): Promise<{ name: string; text: string }> {
  await page.getByRole('button', { name: 'Export' }).click();
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('dialog').getByRole('button', { name: format }).click(),
  ]);
  return { name: file.suggestedFilename(), text: await readFile(await file.path(), 'utf8') };
}

const today = () => new Date().toISOString().slice(0, 10);

/** Also when midnight has passed during the test. */
const namesFrom = (day: string, ending: string) => [day, today()].map((date) => `leads-${date}.${ending}`);

it('exports the filtered list as JSON, as automations get it, and says what is in the file', async () => {
  const service = await startService();
  await addHistorical(
    service,
    ...Array.from({ length: 120 }, (_, index) => ({
      createdAt: Date.now() - (index + 1) * 3_600_000,
      fields: { firstName: 'Ada', ...(index % 10 === 5 && { email: 'teal@example.com' }) },
    })),
  );
  const page = await openTab(service, 'Leads');
  await page.getByLabel('Search leads').fill('teal');
  await page.getByText('12 leads found').waitFor();
  await page.getByText('Searched all leads.').waitFor();
  await page.getByRole('button', { name: 'Export' }).click();
  const dialog = page.getByRole('dialog', { name: 'Export 12 leads' });
  await dialog.waitFor();
  await expectAccessible(page);
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'hidden' });
  // Escape has closed the dialog, and nothing else.
  expect(await page.getByLabel('Search leads').inputValue()).toBe('teal');
  const day = today();
  const { name, text } = await download(page, 'JSON');
  expect(namesFrom(day, 'json')).toContain(name);
  const all = (await service.leads('boss', 'since=1970-01-01')).concat(await service.leads('boss'));
  const byId = new Map(all.map((lead) => [lead.id, lead]));
  const teal = [...byId.values()].filter(({ email }) => email !== null);
  expect(JSON.parse(text)).toEqual(teal.toSorted((a, b) => b.createdAt.localeCompare(a.createdAt)));
});

it('exports CSV that spreadsheets open: umlauts, custom fields in columns, and no formulas', async () => {
  const service = await startService();
  const texts = ['=1+1', '+49-30-1234', '+33 1 99 00 12 34', "'=x", 'a "quoted", text', 'two\nlines'];
  await service.add({
    fields: {
      firstName: 'Jürgen',
      phone1: '+33 1 99 00 12 34',
      images: ['https://images.example.com/1.jpg', 'https://images.example.com/2.jpg'],
      customFields: {
        roof: 'tile',
        area: 120,
        ...Object.fromEntries(texts.map((text, index) => [index, text])),
      },
    },
  });
  await service.add({ fields: { firstName: 'Ada', customFields: { source: 'fair' } } });
  const page = await openTab(service, 'Leads');
  await page.locator('.lead-row').nth(1).waitFor();
  const day = today();
  const { name, text } = await download(page, 'CSV');
  expect(namesFrom(day, 'csv')).toContain(name);
  expect(text.startsWith('\uFEFFid,firstName,')).toBe(true);
  const rows = parseCsv(text.slice(1));
  const [header = [], ada = [], jurgen = []] = rows;
  expect(rows).toHaveLength(3);
  const cell = (row: readonly string[], column: string) => row[header.indexOf(column)];
  expect(cell(ada, 'customFields.source')).toBe('fair');
  expect(cell(ada, 'customFields.roof')).toBe('');
  expect(cell(jurgen, 'firstName')).toBe('Jürgen');
  expect(cell(jurgen, 'customFields.area')).toBe('120');
  expect(cell(jurgen, 'status.label')).toBe('New');
  expect(cell(jurgen, 'images')).toBe('https://images.example.com/1.jpg|https://images.example.com/2.jpg');
  for (const [index, given] of texts.entries())
    expect(cell(jurgen, `customFields.${index}`)).toBe(escapeFormula(given));
  const fields = Object.keys((await service.leads('boss'))[0] ?? {});
  expect(fields.filter((field) => !header.includes(field))).toEqual(['status', 'customFields']);
});

/** RFC 4180. */
function parseCsv(text: string): string[][] {
  const cells = [...text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/g)];
  const rows: string[][] = [[]];
  for (const [, quoted, plain = '', end] of cells) {
    rows.at(-1)?.push(quoted?.replaceAll('""', '"') ?? plain);
    if (end === '\r\n') rows.push([]);
  }
  return rows.slice(0, -1);
}
