import { expect, it } from 'vitest';
import { startService } from '../../testing/harness/service.ts';
import { answerLead } from './support/connections.ts';
import { openTab, showTab } from './support/open-tab.ts';

it('prints the whole list, or the whole lead that is open alone, and shows the current tab and status colours in forced colours', async () => {
  const service = await startService();
  await service.add(
    ...Array.from({ length: 80 }, (_, index) => ({ fields: { firstName: `Lead ${index}` } })),
  );
  const page = await openTab(service, 'Overview', { screen: 'phone' });
  await answerLead(page, () => [{ id: 'n8n', name: 'n8n', state: 'waiting', at: null, why: null }]);
  await showTab(page, 'Leads');
  await page.locator('.lead-row').first().waitFor();
  await page.emulateMedia({ media: 'print' });
  const hidden = `[...document.querySelectorAll('#app, main, .split, .list-side, .list, .rows, .detail')]
    .filter((it) => it.scrollHeight > it.clientHeight + 1).map((it) => it.className || it.localName)`;
  expect(await page.evaluate(hidden)).toEqual([]);
  expect(await page.evaluate('document.documentElement.scrollHeight')).toBeGreaterThan(80 * 30);
  const age = page.locator('.row-age').first();
  expect(await age.innerText()).toMatch(/^\d+ \w+ \d{4}, \d\d:\d\d:\d\d UTC$/);

  await page.emulateMedia({ media: 'screen' });
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.locator('.fates').waitFor();
  await page.emulateMedia({ media: 'print' });
  expect(await page.evaluate(hidden)).toEqual([]);
  expect(await page.locator('.list-side').isVisible()).toBe(false);
  expect(await page.locator('.copy-menu').isVisible()).toBe(false);
  expect((await page.locator('.fates').innerText()).trim()).toBe('n8n waiting');

  await page.emulateMedia({ media: 'screen', forcedColors: 'active' });
  const border = (selector: string) =>
    page.evaluate<string>(`getComputedStyle(document.querySelector('${selector}')).borderBottomColor`);
  expect(await border('.bar nav a[aria-current]')).not.toBe(await border('.bar nav a:not([aria-current])'));
  const dot = `getComputedStyle(document.querySelector('.dot')).backgroundColor`;
  const forced = await page.evaluate(dot);
  await page.emulateMedia({ forcedColors: 'none' });
  expect(await page.evaluate(dot)).toBe(forced);
});
