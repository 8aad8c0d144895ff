import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { startService } from '../../testing/harness/service.ts';
import { addressOf, platforms } from '../src/connect/platforms.ts';
import { openTab } from './support/open-tab.ts';

/** It reverses what follows it: `‮gpj.exe` is shown as `exe.jpg`. */
const OVERRIDE = '\u202E';

const BUILT = new URL('../../server/dist/console/console/', import.meta.url);

describe('texts', () => {
  it('have no words of the API where a person reads them', () => {
    const built = readdirSync(BUILT)
      .filter((name) => /^(index|row|status|texts)-.*\.js(on)?$/.test(name))
      .map((name) => readFileSync(new URL(name, BUILT), 'utf8'));
    expect(built).toHaveLength(4);
    expect(built.join().match(/\b2xx|refused with|trigger id|`detail` names/gi)).toBeNull();
    const texts = platforms({ ...addressOf('https://leads.example.com'), hasHooks: true, version: '1.0.0' });
    const sentences = texts.flatMap(({ webhook, setup, ways, notes }) => [
      ...[...(webhook?.before ?? []), ...(webhook?.after ?? []), ...setup].map(({ text }) => text),
      ...ways.flatMap(({ steps, result }) => [result, ...steps.map(({ text }) => text)]),
      ...notes,
    ]);
    expect(sentences.join('\n')).not.toMatch(/\bposition\b|\bsubscribed\b|\bstale\b/i);
  });

  it('are English in a browser of another language, dates included', async () => {
    const service = await startService();
    await service.add({ fields: { firstName: 'Eve', appointmentDateTime: Date.UTC(2100, 4, 3, 12, 30) } });
    const page = await openTab(service, 'Leads', { context: { locale: 'de-DE' } });
    await page.locator('.row-appointment').getByText('Appointment 3 May 2100, 12:30').waitFor();
    await page.getByRole('navigation').getByRole('link', { name: 'Overview' }).click();
    const months = 'Jan|Feb|Mar|Apr|May|June?|July?|Aug|Sept?|Oct|Nov|Dec';
    await page.getByText(new RegExp(`until \\d+ (${months})`)).waitFor();
  });

  it('of others have no characters that change the order in which texts are shown', async () => {
    const service = await startService();
    await service.add({
      fields: {
        firstName: `Eve${OVERRIDE}gpj`,
        lastName: '\u0007\u2066bell',
        phone1: `1${OVERRIDE}23`,
        address: `Main\n${OVERRIDE}Street`,
        customFields: { [`so${OVERRIDE}urce`]: `fa${OVERRIDE}ir` },
      },
    });
    await service.add({ fields: { firstName: `${OVERRIDE}\u200B` } });
    const page = await openTab(service, 'Leads');
    await page.locator('.lead-row', { hasText: 'Evegpj bell' }).getByRole('link').click();
    await page.getByRole('heading', { name: 'Evegpj bell' }).waitFor();
    await page.locator('.lead-row', { hasText: 'Without a name' }).waitFor();
    await page.locator('.json summary').click();
    const shown = await page.evaluate<string>(`document.body.textContent + document.title`);
    expect(shown).toContain('Main\nStreet');
    expect(shown).toContain('\\u202egpj');
    expect(shown.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
  });

  it('speak of one as of one', async () => {
    const service = await startService();
    await service.add({ fields: { firstName: 'Eve' } });
    const page = await openTab(service, 'Leads');
    await page.getByText('1 lead', { exact: true }).waitFor();
    await page.getByLabel('Search leads').fill('no such name');
    await page.getByText('No lead matches.').waitFor();
  });
});

it('Back returns to the lead before, with the token', async () => {
  const service = await startService();
  for (const firstName of ['Ada', 'Bea', 'Eve']) await service.add({ fields: { firstName } });
  const page = await openTab(service, 'Leads');
  const heading = (name: string) => page.getByRole('heading', { name, level: 1 });
  await heading('Eve').waitFor();
  for (const name of ['Bea', 'Ada']) {
    await page.locator('.lead-row', { hasText: name }).getByRole('link').click();
    await heading(name).waitFor();
  }
  for (const name of ['Bea', 'Eve']) {
    await page.goBack();
    await heading(name).waitFor();
  }
  await page.getByText('live', { exact: true }).waitFor();
});
