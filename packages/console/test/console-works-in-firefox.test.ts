// @nightly and after a change of packages/console/src/ packages/console/package.json packages/testing/browser/ package-lock.json
import { describe, it } from 'vitest';
import { openPage } from '../../testing/browser/page.ts';
import { untilHeld } from '../../testing/harness/long-polls.ts';
import { startService } from '../../testing/harness/service.ts';
import { answerLog, iso } from './support/connections.ts';
import { openTab } from './support/open-tab.ts';

const browser = 'firefox';

describe('the main paths in Firefox', () => {
  it('the overview says whose the token is', async () => {
    const service = await startService();
    const page = await openPage(service.url, { browser });
    await page.getByLabel('Paste the token you were given').fill(await service.token('boss'));
    await page.keyboard.press('Enter');
    await page.getByText(/^boss · /).waitFor();
  });

  it('Leads shows a lead that arrives, and its detail', async () => {
    const service = await startService();
    await service.add({ fields: { firstName: 'Femke', lastName: 'Moreau', phone1: '+33 1 23 45' } });
    const page = await openTab(service, 'Leads', { browser });
    await page.getByText('Femke Moreau').first().waitFor();
    await untilHeld(service);
    await service.add({ fields: { firstName: 'Jonas', lastName: 'Weber', phone1: '+49 30 678' } });
    await page.getByText('Jonas Weber').first().click();
    await page.getByRole('heading', { name: 'Jonas Weber' }).waitFor();
    await page.getByRole('link', { name: '+49 30 678', exact: true }).waitFor();
  });

  it('Explore sends a request and shows the answer', async () => {
    const service = await startService();
    await service.add({ fields: { firstName: 'Femke', lastName: 'Moreau' } });
    const page = await openTab(service, 'Explore', { browser });
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    const answer = page.getByRole('region', { name: 'Answer' });
    await answer.getByText('200 OK').first().waitFor();
    await answer.getByText('Femke Moreau').first().waitFor();
  });

  it('Connect shows the steps of a platform with the address of this service', async () => {
    const service = await startService();
    const page = await openTab(service, 'Connect', { browser });
    await page.getByRole('main').getByRole('link', { name: 'n8n' }).first().click();
    await page.getByRole('heading', { name: 'n8n', level: 1 }).waitFor();
    await page.getByLabel('Production URL of n8n').waitFor();
    await page.getByText('With the app').click();
    await page.getByText('On new lead').first().waitFor();
    await page.getByText(service.url).first().waitFor();
  });

  it('the log of a connection unfolds', async () => {
    const service = await startService();
    const page = await openTab(service, 'Overview', { browser });
    const at = iso(Date.now());
    const facts = { status: 401, code: 'token-expired', leads: 0, leadIds: [], durationMs: 4, reason: null };
    const texts = { nextTryAt: null, fields: [], message: '401 the token has expired', fix: null };
    const entry = { at, firstAt: at, times: 1, kind: 'refused', ...facts, ...texts } as const;
    await answerLog(page, () => ({ name: 'CRM', log: [entry] }));
    await page.evaluate(`location.hash = '#overview/crm'`);
    await page.getByRole('heading', { name: 'CRM' }).waitFor();
    await page.getByRole('button', { name: '401' }).click();
    await page.getByText('token-expired').waitFor();
  });

  it('the status page has all of its parts', async () => {
    const page = await openPage((await startService()).statusUrl, { browser });
    await page.getByRole('region', { name: 'System' }).waitFor();
  });
});
