import type { Consumers } from '@leadtap/contract';
import { describe, expect, it } from 'vitest';
import { expectAccessible, expectEveryLook } from '../../testing/browser/accessibility.ts';
import { openPage } from '../../testing/browser/page.ts';
import { startService, type TestService } from '../../testing/harness/service.ts';
import { addAutomation, countConsumersRequests, isConsumersRequest } from './support/automation.ts';
import { consumer, diagnose } from './support/diagnosis.ts';

const HOUR_MS = 3_600_000;

/** As the address of the demo does. */
const openConsole = async (service: TestService, options: Parameters<typeof openPage>[1] = {}) =>
  openPage(`${service.url}/#token=${await service.token('boss', { expiresInMs: 2400 * HOUR_MS })}`, options);

const headline = (page: Awaited<ReturnType<typeof openPage>>) => page.getByRole('heading', { level: 1 });
const rows = (page: Awaited<ReturnType<typeof openPage>>) =>
  page.getByRole('region', { name: 'Leads out' }).getByRole('listitem');

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
      expect.stringMatching(/^✓ Good: n8n polled \d+ (s|min) ago$/),
      expect.stringMatching(/^✓ Good: Zapier polled \d+ (s|min) ago$/),
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
    await fix.waitFor();
    await expectEveryLook(page);
    await button.focus();
    await page.keyboard.press('Enter');
    await fix.waitFor({ state: 'hidden' });
    expect(await button.getAttribute('aria-expanded')).toBe('false');
    expect(await page.locator('.primary').allInnerTexts()).toEqual(['Fix']);
    await page.getByRole('button', { name: 'Fix' }).click();
    await fix.waitFor();
    await expect.poll(() => fix.evaluate((it) => it === it.ownerDocument.activeElement)).toBe(true);
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
      '✗ Problem: Two refused What to do Run leadtap doctor.',
      '! Warning: Three its token expires',
      '? Not known: Four has not polled yet',
      '✓ Good: One polled 4 s ago',
    ]);
    await page.getByText('1 not in use').click();
    await page.getByText('last polled 40 days ago').waitFor();
    await expectEveryLook(page);
  });

  it('leads to Connect and to a test lead if nothing is connected', async () => {
    const service = await startService();
    const token = await service.token('boss', { scopes: ['leads:read', 'leads:write'] });
    const page = await openPage(`${service.url}/#token=${token}`);
    await headline(page).getByText('Connect your first automation').waitFor();
    expect(await page.locator('.primary').allInnerTexts()).toEqual(['Connect a URL']);
    await expectEveryLook(page);
    await page.getByRole('button', { name: 'Send a test lead' }).click();
    await page.getByText('Test lead stored at').waitFor();
    for (const [way, found, isOther] of [
      ['Connect a URL', 'Call it', 'Zapier'],
      ['Choose a platform', 'Zapier', 'curl'],
      ['See the code', 'curl', 'Zapier'],
    ] as const) {
      await page.getByRole('link', { name: way }).click();
      await page.getByRole('main').getByText(found).first().waitFor();
      expect(await page.getByRole('main').getByRole('link', { name: isOther }).count()).toBe(0);
      await page.goBack();
    }
  });

  it('says who can send a test lead if this token cannot', async () => {
    const service = await startService();
    const page = await openConsole(service);
    await page.getByRole('button', { name: 'Send a test lead' }).click();
    await page.getByText('npx leadtap leads send-test --company ID').waitFor();
    await expectAccessible(page);
  });
});

const HOURS_24 = Array.from({ length: 24 }, (_, index) => {
  if (index < 3) return null;
  return { leads: index === 10 ? 40 : index === 23 ? 1 : 0, failed: index === 20 ? 2 : 0 };
});

describe('the last 24 hours of a row', () => {
  it('are a cell for each hour, and one sentence', async () => {
    const service = await startService();
    const page = await openPage(service.url);
    const row = { ...consumer('n8n', 'good', 'polled 4 s ago'), last24h: HOURS_24 };
    await diagnose(page, () => ({ summary: { level: 'good', message: 'All.' }, consumers: [row] }));
    await page.goto(`${service.url}/#token=${await service.token('boss')}`);
    const hours = rows(page).getByRole('img');
    expect(await hours.getAttribute('aria-label')).toBe(
      'Last 24 hours: 41 leads, 2 failures in 1 hour, not known for 3 hours',
    );
    const titles = await hours
      .locator('i')
      .evaluateAll((cells) => cells.map((it) => it.getAttribute('title')));
    expect(titles).toHaveLength(24);
    for (const [index, text] of [
      [0, 'not known'],
      [3, 'nothing'],
      [10, '40 leads'],
      [20, '2 failures'],
    ] as const)
      expect(titles[index]).toMatch(new RegExp(`^\\w{3},? \\d\\d:00 to \\d\\d:00: ${text}$`));
    const hourNow = new Date().getUTCHours();
    expect(titles[23]).toContain(` ${String(hourNow).padStart(2, '0')}:00 to `);
    await expectEveryLook(page);
    // Each kind has another height or border, where all colours are those of the system.
    await page.emulateMedia({ forcedColors: 'active' });
    const shapes = await hours.locator('i').evaluateAll((cells) =>
      cells.map((cell) => {
        const style = cell.ownerDocument.defaultView?.getComputedStyle(cell);
        return `${cell.clientHeight} ${style?.borderBottomStyle} ${style?.backgroundColor}`;
      }),
    );
    expect(new Set([0, 3, 10, 20].map((index) => shapes[index])).size).toBe(4);
  });
});

describe('the overview moves nothing that is being read', () => {
  it('the first answers appear at once, and a new problem waits until the pointer has left the list', async () => {
    const service = await startService();
    await service.add({ fields: { firstName: 'Ada' } });
    const now = Date.now();
    const page = await openPage(service.url, { fixedTime: now });
    await page.evaluate(`
      self.shift = 0;
      new PerformanceObserver((list) => { for (const { value } of list.getEntries()) self.shift += value; })
        .observe({ type: 'layout-shift' });`);
    let level: 'good' | 'error' = 'good';
    await diagnose(page, () => ({
      summary: { level, message: 'Said by the service.' },
      consumers: [
        consumer('Airtable', 'good', 'polled 4 s ago'),
        consumer('Zapier', level, 'its state', { fix: 'Do it.' }),
      ],
    }));
    await page.goto(`${service.url}/#token=${await service.token('boss')}`);
    await page.locator('.newest').getByText('Ada').waitFor();
    expect(await page.evaluate('self.shift')).toBeLessThan(0.01);
    const names = () => page.locator('.consumer-name').allInnerTexts();
    expect(await names()).toEqual(['Airtable', 'Zapier']);
    await rows(page).first().hover();
    level = 'error';
    await page.clock.setFixedTime(now + 31_000);
    await headline(page).getByText('Zapier needs attention').waitFor();
    await page.getByText('1 other works.').waitFor();
    expect(await names()).toEqual(['Airtable', 'Zapier']);
    await page.mouse.move(0, 0);
    await page.clock.setFixedTime(now + 62_000);
    await expect.poll(names).toEqual(['Zapier', 'Airtable']);
  });

  it('has the five newest leads, which come by themselves, and opens them', async () => {
    const service = await startService();
    await service.add(
      ...Array.from({ length: 6 }, (_, index) => ({ fields: { firstName: `Lead ${index}` } })),
    );
    const page = await openConsole(service);
    const newest = page.locator('.newest .row-name');
    await newest.first().waitFor();
    expect(await newest.allInnerTexts()).toEqual(['Lead 5', 'Lead 4', 'Lead 3', 'Lead 2', 'Lead 1']);
    await service.add({ fields: { firstName: 'Zoë' } });
    await newest.getByText('Zoë').waitFor();
    expect(await newest.count()).toBe(5);
    await newest.getByText('Lead 3').click();
    await page.getByRole('article').getByRole('heading', { name: 'Lead 3' }).waitFor();
    await page.goBack();
    await newest.getByText('Lead 3').waitFor();
  });
});

it('a webhook is named when it is subscribed, and renamed in its row', async () => {
  const service = await startService();
  const page = await openConsole(service);
  await page.getByRole('link', { name: 'Choose a platform' }).click();
  await page.getByRole('link', { name: 'Zapier' }).click();
  expect(await page.getByLabel('Call it').inputValue()).toBe('Zapier');
  await page.getByLabel('URL').first().fill('https://hooks.zapier.com/hooks/catch/1');
  await page.keyboard.press('Enter');
  await page.getByText('Connected.').waitFor();
  await page.getByRole('navigation').getByRole('link', { name: 'Overview' }).click();
  await rows(page).getByRole('link', { name: 'Zapier' }).waitFor();
  await rows(page).getByRole('button', { name: 'More' }).click();
  await rows(page).getByRole('button', { name: 'Rename' }).click();
  await expectEveryLook(page);
  expect(await page.getByLabel('New name').inputValue()).toBe('Zapier');
  await page.getByLabel('New name').fill('Sales in Slack');
  await page.keyboard.press('Enter');
  const link = rows(page).getByRole('link', { name: /Sales in Slack/ });
  await link.waitFor();
  expect(await link.getAttribute('href')).toMatch(/^#overview\/consumers\/./);
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
    [
      503,
      { code: 'unavailable', status: 503, title: 'The service cannot answer right now', detail: 'later' },
      'The service cannot answer right now',
    ],
    [
      429,
      { code: 'rate-limit-exceeded', status: 429, title: 'Too many requests', detail: 'later' },
      'Too many requests',
    ],
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
