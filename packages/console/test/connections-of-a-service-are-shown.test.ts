/** The pages with the answers of the service itself; situations that need hours are in the tests of each page. */
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { expectEveryLook } from '../../testing/browser/accessibility.ts';
import { openPage } from '../../testing/browser/page.ts';
import { manualClock } from '../../testing/harness/manual-clock.ts';
import { startService, type TestService } from '../../testing/harness/service.ts';
import { addAutomation } from './support/automation.ts';
import { openTab, showTab } from './support/open-tab.ts';

const row = (page: Page, name: string) =>
  page
    .getByRole('listitem')
    .filter({ has: page.locator('.connection-name').getByText(name, { exact: true }) });

/** An automation that works: it has got Ada, and what came after it. */
async function addWorking(service: TestService, name: string, afterPoll: () => void = () => undefined) {
  const automation = await addAutomation(service, name);
  await automation.poll();
  for (const firstName of ['Ada', 'Grace', 'Joan']) {
    await service.add({ id: firstName.toLowerCase(), fields: { firstName } });
    await automation.poll();
    afterPoll();
  }
  await automation.poll();
  afterPoll();
  return automation;
}

async function addWebhook(service: TestService, name: string) {
  const response = await fetch(`${service.url}/automation/hooks`, {
    method: 'POST',
    headers: { authorization: `Bearer ${await service.token('boss')}`, 'content-type': 'application/json' },
    body: JSON.stringify({ url: 'https://hooks.zapier.com/hooks/catch/1/abc', send: 'lead', name }),
  });
  expect(response.status).toBe(201);
}

it('an automation that works is green, and its lead leads to the entry of its log, and back', async () => {
  const service = await startService({ env: { LEADTAP_BASE_PATH: '/api' } });
  await addWorking(service, 'n8n');
  const page = await openTab(service, 'Overview');
  await page
    .getByRole('heading', { level: 1 })
    .getByText(/^3 leads since .+\. n8n has all\.$/)
    .waitFor();
  await row(page, 'n8n').getByText('3 sent').waitFor();
  await row(page, 'n8n').getByText('Good').waitFor({ state: 'attached' });
  await expectEveryLook(page);
  await showTab(page, 'Leads');
  await page.getByRole('link', { name: /^Ada/ }).click();
  await page.getByRole('heading', { level: 1, name: 'Ada' }).waitFor();
  const whoHasIt = page.getByRole('region', { name: 'Who has it' });
  await whoHasIt.getByText(/sent \d\d:\d\d:\d\d/).waitFor();
  await whoHasIt.getByRole('link', { name: 'n8n' }).click();
  await page.locator('.log-line[aria-expanded="true"]').waitFor();
  await page.getByRole('main').getByRole('link', { name: 'Ada' }).click();
  await page.getByRole('heading', { level: 1, name: 'Ada' }).waitFor();
});

it('leads that an automation asked past are red until they are marked as handled; it gets another name', async () => {
  const clock = manualClock();
  const service = await startService({ clock });
  const { poll } = await addWorking(service, 'CRM', () => clock.advance(120_000));
  const [, stamp = 0] = await service.add(
    { fields: { firstName: 'Lost' } },
    { fields: { firstName: 'Last' } },
  );
  await poll(`since=${new Date(stamp).toISOString()}`);
  for (let run = 0; run < 3; run += 1) {
    clock.advance(60_000);
    await service.service.connections.audit();
  }
  await addWebhook(service, 'Mail');
  const page = await openTab(service, 'Overview');
  await row(page, 'CRM').getByText('CRM asked past them').waitFor();
  await expectEveryLook(page);
  await row(page, 'CRM').getByRole('button', { name: 'Show 2' }).click();
  await row(page, 'CRM').getByRole('link', { name: 'Lost' }).waitFor();
  await expectEveryLook(page);
  const downloading = page.waitForEvent('download');
  await row(page, 'CRM').getByRole('button', { name: 'Download 2 leads' }).click();
  expect((await downloading).suggestedFilename()).toMatch(/\.csv$/);
  await row(page, 'CRM').getByLabel('Send them to').selectOption('Mail');
  await row(page, 'CRM').getByRole('button', { name: 'Send', exact: true }).click();
  await row(page, 'CRM').getByText('2 leads will be sent to hooks.zapier.com.').waitFor();
  await row(page, 'Mail').getByText('2 wait, safe').waitFor();
  await row(page, 'CRM').locator('.connection-name a').click();
  await page.getByRole('button', { name: 'Rename' }).click();
  await page.getByLabel('New name').fill('Sales');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'Sales' }).waitFor();
  await page.getByRole('link', { name: '← Overview' }).click();
  await row(page, 'Sales').getByRole('button', { name: 'Mark as handled' }).click();
  await row(page, 'Sales').getByText('Marked as handled.').waitFor();
  await row(page, 'Sales').getByText('Good').waitFor({ state: 'attached' });
});

it('a form is listed with what it added and what is held back; its log has the fields', async () => {
  const service = await startService();
  const { send } = await addAutomation(service, 'Web form', 'leads:write');
  expect(await send({ firstName: 'Ada' })).toBe(201);
  expect(await send({ firstName: 'Ada', phone_number: '1' })).toBe(422);
  await service.service.refusedLeads.flush();
  const page = await openTab(service, 'Overview');
  await row(page, 'Web form').getByText('1 held back, safe').waitFor();
  await page.getByText('To do: 1 held back.').waitFor();
  await row(page, 'Web form').getByRole('link', { name: 'Show 1' }).click();
  await page.getByRole('button', { name: '422' }).click();
  await page.locator('.log').getByText('phone_number').first().waitFor();
});

it('the first poll of a platform makes its row in Connect', async () => {
  const service = await startService();
  const { poll } = await addAutomation(service, 'n8n');
  const page = await openTab(service, 'Connect');
  await page.getByRole('link', { name: 'n8n' }).click();
  await page.getByText('the first poll with a token named “n8n”…').waitFor();
  await poll();
  await page.getByRole('button', { name: 'Check now' }).click();
  await row(page, 'n8n').getByText('new connection').waitFor();
  await page.locator('.first-poll.seen').waitFor();
});

it('the status page has the same rows', async () => {
  const service = await startService();
  await addWorking(service, 'n8n');
  const page = await openPage(service.statusUrl);
  await page.getByRole('heading', { level: 1 }).getByText('n8n has all.').waitFor();
  await row(page, 'n8n').getByText('3 sent').waitFor();
  await expectEveryLook(page);
});
