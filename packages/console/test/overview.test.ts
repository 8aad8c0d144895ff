import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { expectAccessible, expectEveryLook } from '../../testing/browser/accessibility.ts';
import { openPage } from '../../testing/browser/page.ts';
import { startService, type TestService } from '../../testing/harness/service.ts';
import {
  answerConnections,
  connections,
  countRequests,
  hours,
  isListRequest,
  recordChanges,
  WEBHOOK,
  wayIn,
  wayOut,
} from './support/connections.ts';

const HOUR_MS = 3_600_000;

const heading = (page: Page) => page.getByRole('heading', { level: 1 });
const rows = (page: Page, of: 'come from' | 'go to' = 'go to') =>
  page.getByRole('region', { name: `Leads ${of}` }).getByRole('listitem');
const row = (page: Page, name: string, of?: 'come from') =>
  rows(page, of).filter({ has: page.locator('.connection-name').getByText(name, { exact: true }) });
const textsOf = async (page: Page, of?: 'come from' | 'go to') => {
  await rows(page, of).first().waitFor();
  return (await rows(page, of).allInnerTexts()).map((text) => text.replace(/\s+/g, ' ').trim());
};

/** As the address of the demo does. */
async function openConsole(
  service: TestService,
  answer?: Parameters<typeof answerConnections>[1],
  options: Parameters<typeof openPage>[1] = {},
): Promise<Page> {
  const page = await openPage(service.url, options);
  if (answer) await answerConnections(page, answer);
  const token = await service.token('boss', { expiresInMs: 2400 * HOUR_MS });
  await page.evaluate(`location.hash = '#token=${token}'`);
  return page;
}

describe('the overview says whether every lead arrived', () => {
  it('the sentence with its level, then all ways in and out, in the order of the service', async () => {
    const service = await startService({ env: { LEADTAP_BASE_PATH: '/api' } });
    await service.add({ fields: { firstName: 'Ada' } });
    const page = await openConsole(service, () =>
      connections(
        'error',
        '41 leads since Thursday 19 Nov. Slack has all. CRM: 38 sent, 3 not received. To do: 15 held back. Gone: 41 refused, not saved.',
        {
          in: [
            wayIn('Landing page', 'error', '15 held back, safe', { fix: 'Run `leadtap token renew`.' }),
            wayIn('Website form', 'good', '41 new, 3 updated'),
          ],
          out: [
            wayOut('CRM', 'error', '38 sent, 3 not received', { ...WEBHOOK, hours: hours({ 3: 2 }) }),
            wayOut('Nowhere yet', 'warning', '4 leads that no automation gets'),
            wayOut('Slack', 'good', '41 sent'),
            wayOut('Workato', 'unknown', 'new connection: asked twice'),
          ],
        },
      ),
    );
    expect(await textsOf(page, 'come from')).toEqual([
      '✗ Problem: Landing page 15 held back, safe What to do',
      '✓ Good: Website form 41 new, 3 updated',
    ]);
    expect(await textsOf(page)).toEqual([
      '✗ Problem: CRM → crm.example.com 38 sent, 3 not received',
      '! Warning: Nowhere yet 4 leads that no automation gets',
      '✓ Good: Slack 41 sent',
      '· Not known: Workato new connection: asked twice',
    ]);
    expect(await heading(page).innerText()).toMatch(/^✗\s+Problem:\s+41 leads since .+ 3 not received\.$/);
    await page.getByText('To do: 15 held back. Gone: 41 refused, not saved.').waitFor();
    expect(await page.title()).toBe('Overview · Leadtap');
    await page.getByText(/^Last lead (now|\d+ (s|min) ago)/).waitFor();
    await page.getByText(/^boss · whole company · until \d+ \w{3}/).waitFor();
    await expectEveryLook(page);
  });

  it('What to do unfolds, also with the keyboard', async () => {
    const fix = 'Look in Sheets. If it is off on purpose: `npx leadtap connections handled Sheets`.';
    const page = await openConsole(await startService(), () =>
      connections('error', '3 leads.', { out: [wayOut('Sheets', 'error', 'silent', { fix })] }),
    );
    const button = row(page, 'Sheets').getByRole('button', { name: 'What to do' });
    await button.press('Enter');
    expect(await row(page, 'Sheets').locator('code').innerText()).toBe(
      'npx leadtap connections handled Sheets',
    );
    expect(await button.getAttribute('aria-expanded')).toBe('true');
    await expectEveryLook(page);
    await button.press('Enter');
    await row(page, 'Sheets').locator('code').waitFor({ state: 'hidden' });
  });

  it('leads to Connect and to a test lead if nothing is connected', async () => {
    const service = await startService();
    const page = await openPage(service.url);
    await answerConnections(page, () => connections('unknown', 'Nothing is connected yet.'));
    const token = await service.token('boss', { scopes: ['leads:read', 'leads:write'] });
    await page.evaluate(`location.hash = '#token=${token}'`);
    await heading(page).getByText('Connect your first automation').waitFor();
    expect(await page.locator('.primary').allInnerTexts()).toEqual(['Connect a URL']);
    await page.getByText('No lead has come in over HTTP yet.').waitFor();
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
    const page = await openConsole(await startService(), () => connections('good', 'All.'));
    await page.getByRole('button', { name: 'Send a test lead' }).click();
    await page.getByText('npx leadtap leads send-test --company ID').waitFor();
    await expectAccessible(page);
  });
});

describe('the buttons of a row', () => {
  it('do what the row needs, and its result is in the row', async () => {
    const paused = { state: 'paused', action: 'resume', ...WEBHOOK } as const;
    let crm = wayOut('CRM', 'error', '38 sent, 3 not received', { missed: 3, action: 'send', ...WEBHOOK });
    const page = await openConsole(await startService(), () =>
      connections('error', 'Said by the service.', {
        in: [wayIn('Unknown sender', 'warning', '5', { id: 'door', userId: '', lost: 5, action: 'handled' })],
        out: [
          crm,
          wayOut('Workato', 'unknown', 'new', { state: 'new', waiting: 12, action: 'handled' }),
          wayOut('Backup', 'unknown', 'paused', paused),
          wayOut('Nowhere yet', 'warning', '4 leads', {
            ...{ id: 'unassigned', userId: '', state: 'new', waiting: 4, action: 'connect' },
          }),
          wayOut('Poller', 'error', '2 not received', { missed: 2, action: 'handled' }),
        ],
      }),
    );
    const changes = await recordChanges(page);
    const buttons = (name: string, of?: 'come from') =>
      row(page, name, of).locator('.connection-buttons :is(button, a)').allInnerTexts();
    await rows(page).first().waitFor();
    expect(await buttons('CRM')).toEqual(['Show 3', 'Send 3', 'Mark as handled']);
    expect(await buttons('Workato')).toEqual(['It was a test']);
    expect(await buttons('Backup')).toEqual(['Go on']);
    expect(await buttons('Nowhere yet')).toEqual(['Show 4', 'Choose where', 'Mark as handled']);
    expect(await buttons('Poller')).toEqual(['Show 2', 'Mark as handled']);
    expect(await buttons('Unknown sender', 'come from')).toEqual(['Mark as handled']);
    await expectEveryLook(page);
    await row(page, 'CRM').getByRole('button', { name: 'Send 3' }).focus();
    crm = wayOut('CRM', 'good', '41 sent', WEBHOOK);
    await page.keyboard.press('Enter');
    await row(page, 'CRM')
      .getByText('3 leads will be sent to crm.example.com. A person may be contacted twice.')
      .waitFor();
    await row(page, 'CRM').getByText('41 sent').waitFor();
    await expect.poll(() => page.evaluate('document.activeElement.textContent')).toContain('CRM');
    for (const [name, button] of [
      ['Workato', 'It was a test'],
      ['Backup', 'Go on'],
      ['Poller', 'Mark as handled'],
    ] as const) {
      await row(page, name).getByRole('button', { name: button }).click();
      await row(page, name).locator('.result').getByText(/\w/).waitFor();
    }
    expect(changes).toEqual([
      'POST crm/send {"missed":true}',
      'POST workato/handled',
      'PATCH backup {"paused":false}',
      'POST poller/handled',
    ]);
  });

  it('show the command instead where this token may not do it', async () => {
    const fix = 'Run `npx leadtap connections handled CRM`.';
    const owed = { missed: 3, action: 'handled', fix } as const;
    const page = await openConsole(
      await startService(),
      () =>
        connections('error', 'Said by the service.', {
          out: [
            wayOut('Of Ada', 'error', '3 not received', { ...owed, userId: 'ada' }),
            wayOut('CRM', 'error', '3 not received', owed),
          ],
        }),
      { expectedErrors: /403/ },
    );
    const problem = { code: 'insufficient-scope', title: 'The scope is not sufficient', detail: 'no' };
    const changes = await recordChanges(page, 403, problem);
    for (const name of ['Of Ada', 'CRM']) {
      await row(page, name).getByRole('button', { name: 'Mark as handled' }).click();
      await row(page, name).getByText('npx leadtap connections handled CRM').waitFor();
    }
    await row(page, 'CRM').getByText('Not done: The scope is not sufficient.').waitFor();
    expect(changes).toEqual(['POST crm/handled']);
    await expectAccessible(page);
  });
});

it('the last 24 hours of a row are a cell for each hour, and one sentence', async () => {
  const page = await openConsole(await startService(), () =>
    connections('good', 'All.', {
      out: [wayOut('n8n', 'good', '41 sent', { hours: hours({ 10: 40, 23: 1 }, { 20: 2 }, [0, 1, 2]) })],
    }),
  );
  const bar = rows(page).getByRole('img');
  expect(await bar.getAttribute('aria-label')).toBe(
    'Last 24 hours: 41 leads, 2 failures, not known for 3 hours',
  );
  const titles = await bar.locator('i').evaluateAll((cells) => cells.map((it) => it.getAttribute('title')));
  expect(titles).toHaveLength(24);
  for (const [index, text] of [
    [0, 'not known'],
    [3, 'nothing'],
    [10, '40 leads'],
    [20, '2 failures'],
  ] as const)
    expect(titles[index]).toMatch(new RegExp(`^\\w{3},? \\d\\d:00 to \\d\\d:00: ${text}$`));
  await expectEveryLook(page);
  // Each kind has another height or border, where all colours are those of the system.
  await page.emulateMedia({ forcedColors: 'active' });
  const shapes = await bar.locator('i').evaluateAll((cells) =>
    cells.map((cell) => {
      const style = cell.ownerDocument.defaultView?.getComputedStyle(cell);
      return `${cell.clientHeight} ${style?.borderBottomStyle} ${style?.backgroundColor}`;
    }),
  );
  expect(new Set([0, 3, 10, 20].map((index) => shapes[index])).size).toBe(4);
});

describe('the overview moves nothing that is being read', () => {
  it('the first answers appear at once, and a new order waits until the pointer has left the list', async () => {
    const service = await startService();
    await service.add({ fields: { firstName: 'Ada' } });
    const now = Date.now();
    const page = await openPage(service.url, { fixedTime: now });
    await page.evaluate(`
      self.shift = 0;
      new PerformanceObserver((list) => { for (const { value } of list.getEntries()) self.shift += value; })
        .observe({ type: 'layout-shift' });`);
    let out = [wayOut('Airtable', 'good', '1 sent'), wayOut('Zapier', 'good', '1 sent')];
    await answerConnections(page, () => connections('good', `${out[0]?.name} is first.`, { out }));
    await page.evaluate(`location.hash = '#token=${await service.token('boss')}'`);
    await page.locator('.newest').getByText('Ada').waitFor();
    expect(await page.evaluate('self.shift')).toBeLessThan(0.01);
    const names = () => page.locator('.connection-name').allInnerTexts();
    expect(await names()).toEqual(['Airtable', 'Zapier']);
    await rows(page).first().hover();
    out = out.reverse();
    await page.clock.setFixedTime(now + 31_000);
    await heading(page).getByText('Zapier is first.').waitFor();
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
    const page = await openConsole(service, () => connections('good', 'All.'));
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

describe('the overview is never green for what it does not know', () => {
  const GOOD = connections('good', 'Slack has all.', { out: [wayOut('Slack', 'good', '41 sent')] });

  it('while the service cannot be reached, and continues', async () => {
    const service = await startService();
    await service.add({});
    const page = await openConsole(service, () => GOOD);
    await heading(page).getByText('Slack has all.').waitFor();
    const green = await page.evaluate<string>(`getComputedStyle(document.querySelector('h1')).color`);
    expect(green).toBe('rgb(26, 107, 60)');
    await page.route('**/automation/**', (route) => route.abort());
    await page.context().setOffline(true);
    await heading(page).getByText('Not known right now').waitFor();
    await page.getByText('The service cannot be reached.').first().waitFor();
    // What was known is kept, and says when it was true.
    await rows(page).getByText('Slack').waitFor();
    await page.getByText(/^Checked/).waitFor();
    await expectEveryLook(page);
    await page.unroute('**/automation/**');
    await page.context().setOffline(false);
    await heading(page).getByText('Slack has all.').waitFor();
  });

  it.each([
    [503, 'unavailable', 'The service cannot answer right now'],
    [429, 'rate-limit-exceeded', 'Too many requests'],
  ])('while the service answers with %i', async (status, code, title) => {
    const service = await startService();
    await service.add({});
    const page = await openPage(service.url, { expectedErrors: /status of (503|429)/ });
    await page.route('**/automation/connections', (route) =>
      route.fulfill({
        ...{ status, headers: { 'retry-after': '3600' } },
        json: { code, status, title, detail: 'later' },
      }),
    );
    await page.goto(`${service.url}/#token=${await service.token('boss')}`);
    await heading(page).getByText('Not known right now').waitFor();
    await page.getByText(`${title}. It is checked again.`).waitFor();
    expect(await page.locator('.good').count()).toBe(0);
    await expectAccessible(page);
  });
});

it('the overview says when it has checked by the clock of the service, also if that of the visitor is wrong', async () => {
  const fixedTime = Date.now() - 48 * HOUR_MS;
  const page = await openConsole(await startService(), () => connections('good', 'All.'), { fixedTime });
  await page.getByText(/^Checked (now|\d s ago)/).waitFor();
});

it('the overview asks every 30 seconds, and sooner after a lead', async () => {
  const service = await startService();
  const now = Date.now();
  const answer = connections('good', 'All.', { out: [wayOut('n8n', 'good', '1 sent')] });
  const page = await openConsole(service, () => answer, { fixedTime: now });
  await rows(page).first().waitFor();
  const count = countRequests(page, isListRequest);
  await service.add({ createdAt: now + 20_000, fields: { firstName: 'Ada' } });
  await page.getByText(/^Last lead/).waitFor();
  expect(count()).toBe(0);
  const sooner = page.waitForResponse(isListRequest);
  await page.clock.setFixedTime(now + 15_000);
  await sooner;
  await page.getByRole('navigation').getByRole('link', { name: 'Explore' }).click();
  await page.clock.setFixedTime(now + 90_000);
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor();
  expect(count()).toBe(1);
});

it('names from others are shown as text', async () => {
  const out = [wayOut('\u202eevil<b>', 'good', '<i>\u202esent')];
  const page = await openConsole(await startService(), () => connections('good', 'All.', { out }));
  expect(await textsOf(page)).toEqual(['✓ Good: evil<b> <i>sent']);
});
