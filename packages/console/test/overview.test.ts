import type { Consumers } from '@leadtap/contract';
import { describe, expect, it } from 'vitest';
import { expectAccessible, expectEveryLook } from '../../testing/browser/accessibility.ts';
import { openPage } from '../../testing/browser/page.ts';
import { startIntake } from '../../testing/harness/intake.ts';
import { startService, type TestService } from '../../testing/harness/service.ts';
import { addAutomation, countConsumersRequests, isConsumersRequest } from './support/automation.ts';
import { consumer, diagnose } from './support/diagnosis.ts';

const HOUR_MS = 3_600_000;

/** As the address of the demo does. */
const openConsole = async (service: TestService, options: Parameters<typeof openPage>[1] = {}) =>
  openPage(`${service.url}/#token=${await service.token('boss', { expiresInMs: 2400 * HOUR_MS })}`, options);

const headline = (page: Awaited<ReturnType<typeof openPage>>) => page.getByRole('heading', { level: 1 });
const rows = (page: Awaited<ReturnType<typeof openPage>>) =>
  page.getByRole('region', { name: 'Automations' }).getByRole('listitem');

describe('the overview answers whether everything is all right', () => {
  it('without a click: the sentence and the rows of the service, green when every lead was picked up', async () => {
    const service = await startService({ env: { LEADTAP_BASE_PATH: '/api' } });
    await service.add({ fields: { firstName: 'Ada' } });
    for (const name of ['n8n', 'Zapier']) await (await addAutomation(service, name)).poll();
    const page = await openConsole(service);
    await headline(page)
      .getByText(/lead.* since .+ that your automations may see reached one of them/)
      .waitFor();
    expect(await page.title()).toBe('Overview · Leadtap');
    await page.getByText(/^Last lead (now|\d+ (s|min) ago)/).waitFor();
    await page.getByText(/^boss · whole company · until \d+ \w{3}/).waitFor();
    expect((await rows(page).allInnerTexts()).map((text) => text.replace(/\s+/g, ' '))).toEqual([
      expect.stringMatching(/^✓ Good: Zapier polled \d+ (s|min) ago$/),
      expect.stringMatching(/^✓ Good: n8n polled \d+ (s|min) ago$/),
    ]);
    const green = await page.evaluate<string>(`getComputedStyle(document.querySelector('h1')).color`);
    expect(green).toBe('rgb(26, 107, 60)');
    await expectEveryLook(page);
  });

  it('a problem is first, and says what to do', async () => {
    const service = await startService();
    await service.add({});
    const [zapier, workato] = [
      await addAutomation(service, 'Zapier'),
      await addAutomation(service, 'Workato'),
    ];
    await zapier.poll();
    expect(await workato.poll('limit=0')).toBe(400);
    const page = await openConsole(service);
    await headline(page).getByText('Workato').waitFor();
    expect(await rows(page).first().innerText()).toContain('Workato');
    const button = rows(page).first().getByRole('button', { name: 'What to do' });
    const fix = rows(page).first().locator('.consumer-fix');
    expect(await fix.isVisible()).toBe(false);
    await button.focus();
    await page.keyboard.press('Enter');
    await fix.waitFor();
    expect(await button.getAttribute('aria-expanded')).toBe('true');
    await expectEveryLook(page);
  });

  it('each level has a mark and a word; what is not in use is folded', async () => {
    const service = await startService();
    const page = await openPage(service.url);
    const answer: Consumers = {
      summary: { level: 'error', message: 'Two: refused.' },
      consumers: [
        consumer('One', 'good', 'polled 4 s ago'),
        consumer('Two', 'error', 'refused', { fix: 'Run `leadtap doctor`.' }),
        consumer('Three', 'warning', 'its token expires'),
        consumer('Four', 'unknown', 'has not polled yet'),
        consumer('Five', 'inactive', 'last polled 40 days ago'),
      ],
    };
    await diagnose(page, () => answer);
    await page.goto(`${service.url}/#token=${await service.token('boss')}`);
    await rows(page).first().waitFor();
    expect((await rows(page).allInnerTexts()).map((text) => text.replace(/\s+/g, ' '))).toEqual([
      '✗ Problem: Two refused What to do',
      '! Warning: Three its token expires',
      '? Not known: Four has not polled yet',
      '✓ Good: One polled 4 s ago',
    ]);
    await page.getByText('1 not in use').click();
    await page.getByText('last polled 40 days ago').waitFor();
    await expectEveryLook(page);
  });

  it('leads to Connect and to a test lead if nothing is connected', async () => {
    const service = await startIntake({});
    const token = await service.token('boss', { scopes: ['leads:read', 'leads:write'] });
    const page = await openPage(`${service.url}/#token=${token}`);
    await headline(page).getByText('Nothing polls yet').waitFor();
    expect(await page.locator('.primary').allInnerTexts()).toEqual(['Connect a platform']);
    await expectEveryLook(page);
    await page.getByRole('button', { name: 'Send a test lead' }).click();
    await page.getByText('Test lead stored at').waitFor();
    await page.getByRole('link', { name: 'Connect a platform' }).first().click();
    await page.getByRole('heading', { name: 'Connect a platform' }).waitFor();
  });

  it('says who can send a test lead if this token cannot', async () => {
    const service = await startService();
    const page = await openConsole(service);
    await page.getByRole('button', { name: 'Send a test lead' }).click();
    await page.getByText('npx leadtap leads send-test --company ID').waitFor();
    await expectAccessible(page);
  });
});

describe('the overview is never green for what it does not know', () => {
  it('while the service cannot be reached, and continues', async () => {
    const service = await startService();
    await service.add({});
    await (await addAutomation(service, 'n8n')).poll();
    const page = await openConsole(service);
    await headline(page)
      .getByText(/lead.* since .+ that your automations may see reached one of them/)
      .waitFor();
    await page.context().setOffline(true);
    await headline(page).getByText('Not known right now').waitFor();
    await page.getByText('The service cannot be reached.').first().waitFor();
    // What was known is kept, and says when it was true.
    await rows(page).getByText('n8n').waitFor();
    await page.getByText(/^Checked/).waitFor();
    await expectEveryLook(page);
    await page.context().setOffline(false);
    await headline(page)
      .getByText(/lead.* since .+ that your automations may see reached one of them/)
      .waitFor();
  });

  it.each([
    [503, { code: 'unavailable', status: 503, detail: 'later' }, 'The service cannot answer right now'],
    [429, { code: 'rate-limit-exceeded', status: 429, detail: 'later' }, 'Too many requests'],
  ])('while the service answers with %i', async (status, json, title) => {
    const service = await startService();
    await service.add({});
    await (await addAutomation(service, 'n8n')).poll();
    const page = await openPage(service.url, { expectedErrors: /status of (503|429)/ });
    await page.route('**/automation/consumers', (route) =>
      route.fulfill({ status, json, headers: { 'retry-after': '3600' } }),
    );
    await page.goto(`${service.url}/#token=${await service.token('boss')}`);
    await headline(page).getByText('Not known right now').waitFor();
    await page.getByText(`${title}. It is checked again.`).waitFor();
    expect(await page.locator('.good').count()).toBe(0);
    await expectAccessible(page);
  });

  it('where the service does not record who polls', async () => {
    const service = await startService({ env: { LEADTAP_CONSUMERS: 'off' } });
    await service.add({});
    const page = await openConsole(service);
    await headline(page).getByText('This service does not record who polls').waitFor();
    expect(await page.locator('.good').count()).toBe(0);
    await expectAccessible(page);
  });
});

it('the overview says when it has checked by the clock of the service, also if that of the visitor is wrong', async () => {
  const service = await startService();
  const page = await openConsole(service, { fixedTime: Date.now() - 48 * HOUR_MS });
  await page.getByText(/^Checked (now|\d s ago)/).waitFor();
});

it('the overview asks every 30 seconds, and sooner after a lead', async () => {
  const service = await startService();
  await (await addAutomation(service, 'n8n')).poll();
  const now = Date.now();
  const page = await openConsole(service, { fixedTime: now });
  await rows(page).first().waitFor();
  const count = countConsumersRequests(page);
  await service.add({ createdAt: now + 20_000, fields: { firstName: 'Ada' } });
  await page.getByText(/^Last lead/).waitFor();
  expect(count()).toBe(0);
  const sooner = page.waitForResponse(isConsumersRequest);
  await page.clock.setFixedTime(now + 15_000);
  await sooner;
  await page.getByRole('navigation').getByRole('link', { name: 'Explore' }).click();
  await page.clock.setFixedTime(now + 90_000);
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor();
  expect(count()).toBe(1);
});
