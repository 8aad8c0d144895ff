import type { ConnectionLog, LogEntry } from '@leadtap/contract';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { expectEveryLook } from '../../testing/browser/accessibility.ts';
import { openPage, type PageOptions } from '../../testing/browser/page.ts';
import { startService, type TestService } from '../../testing/harness/service.ts';
import { setHidden } from './support/automation.ts';
import {
  answerConnections,
  answerLog,
  connections,
  iso,
  recordChanges,
  WEBHOOK,
  wayOut,
} from './support/connections.ts';
import { topOf } from './support/rows.ts';

const INTERVAL_MS = 5000;
const NOW = Date.UTC(2026, 2, 2, 16, 10);

/** An entry of some seconds ago, as the service has it. */
const entry = (
  secondsAgo: number,
  kind: LogEntry['kind'],
  message: string,
  facts: Partial<LogEntry> = {},
): LogEntry => {
  const at = iso(NOW - secondsAgo * 1000);
  return {
    ...{ at, firstAt: at, times: 1, kind, status: 200, code: null, leads: 0, leadIds: [] },
    ...{ durationMs: 4, reason: null, nextTryAt: null, fields: [], message, fix: null },
    ...facts,
  };
};

interface LogOptions extends PageOptions {
  readonly service?: TestService;
  readonly connection?: ReturnType<typeof wayOut>;
  readonly hash?: string;
}

/** The log of a connection. In place of what the service has, for times that would need hours and receivers that fail. */
async function openLog(
  read: (limit: number) => ConnectionLog['log'],
  { service, connection, hash = '#overview/crm', ...options }: LogOptions = {},
): Promise<Page> {
  const { url, token } = service ?? (await startService());
  const page = await openPage(url, { fixedTime: NOW, ...options });
  await answerLog(page, (limit) => ({ name: 'CRM', log: read(limit) }));
  await answerConnections(page, () =>
    connections('good', 'All.', { out: [connection ?? wayOut('CRM', 'good', '41 sent', WEBHOOK)] }),
  );
  await page.evaluate(`location.hash = '#token=${await token('boss')}'`);
  await page.getByRole('heading', { level: 1, name: 'All.' }).waitFor();
  await page.evaluate(`location.hash = '${hash}'`);
  return page;
}

const lines = (page: Page) => page.locator('.log-entries > li');
const line = (page: Page, name: string | RegExp) => page.getByRole('button', { name });
const textsOf = async (page: Page): Promise<string[]> => {
  await lines(page).first().waitFor();
  return (await lines(page).allInnerTexts()).map((text) => text.replace(/\s+/g, ' ').trim());
};

describe('a connection has a log', () => {
  it('below its state and what to do: one timeline, whose entries unfold to the answer and what to do', async () => {
    const fix = 'Look in its platform at `Zap history`.';
    const page = await openLog(
      () => [
        entry(10, 'refused', '503 from crm.example.com, next try in 4 min', {
          ...{ status: 503, reason: '<b>Try later</b>\u202e', nextTryAt: iso(Date.now() + 245_000), fix },
        }),
        entry(12, 'empty', '212 polls', { times: 212, firstAt: iso(NOW - 7 * 3_600_000) }),
        entry(90_000, 'leads', '3 leads', { leads: 3 }),
        entry(90_010, 'empty', '', { times: 2 }),
        entry(90_020, 'changed', 'renamed by Ada', { status: null }),
        entry(90_030, 'refused', '422 email', { status: 422, code: 'invalid-lead', fields: ['email'] }),
      ],
      { connection: wayOut('CRM', 'error', 'failing since 16:00', { ...WEBHOOK, fix: 'Call the CRM.' }) },
    );
    expect(await textsOf(page)).toEqual([
      '16:09:50 ✗ Problem: 503 from crm.example.com, next try in 4 min',
      '212 empty polls, 09:10 to 16:09',
      '15:10:00 ✓ Good: 3 leads',
      '2 empty polls, 15:09',
      '15:09:40 renamed by Ada',
      '15:09:30 ✗ Problem: 422 email',
    ]);
    expect(await page.getByRole('heading', { level: 2 }).allInnerTexts()).toEqual([
      'Monday, 2 March 2026',
      'Sunday, 1 March 2026',
    ]);
    expect(await page.title()).toBe('Log · Leadtap');
    await page.locator('.connection').getByText('failing since 16:00').waitFor();
    await page.locator('.connection').getByText('Call the CRM.').waitFor();
    await line(page, /503/).press('Enter');
    const details = (await lines(page).first().innerText()).replace(/\s+/g, ' ');
    expect(details).toContain('What to do Look in its platform at Zap history. Time 2 Mar 2026');
    expect(details).toMatch(/Answer 503 in 4 ms It said “?<b>Try later<\/b>”? Next try in 4 min/);
    await line(page, /422/).click();
    expect(await lines(page).last().innerText()).toMatch(/invalid-lead[\s\S]*Fields\s+email/);
    await expectEveryLook(page);
    await page.emulateMedia({ media: 'print' });
    expect(await line(page, /3 leads/).isVisible()).toBe(true);
  });

  it('names the leads of an entry, which open, and sends them again', async () => {
    const service = await startService();
    await service.add({ id: 'ada', fields: { firstName: 'Ada', phone1: '+33 1' } });
    const log = [entry(-600_000_000, 'leads', '3 leads', { leads: 3, leadIds: ['ada', 'elsewhere'] })];
    const page = await openLog(() => log, { service });
    const changes = await recordChanges(page, 202);
    await line(page, /3 leads/).click();
    await page.getByRole('link', { name: 'Ada' }).waitFor();
    const text = (await lines(page).first().innerText()).replace(/\s+/g, ' ');
    expect(text).toMatch(/Leads Ada \+33 1 elsewhere 1 more cannot be shown/);
    await expectEveryLook(page);
    await page.getByRole('button', { name: 'Send again' }).click();
    await lines(page).getByText('2 leads will be sent to crm.example.com.').waitFor();
    expect(changes).toEqual(['POST crm/send {"leads":["ada","elsewhere"]}']);
    await page.getByRole('link', { name: 'elsewhere' }).click();
    await page.getByText('This token sees no lead with this address.').waitFor();
    await page.goBack();
    await line(page, /3 leads/).click();
    await page.getByRole('link', { name: 'Ada' }).click();
    await page.getByRole('heading', { level: 1, name: 'Ada' }).waitFor();
  });

  it('is opened from its row, which has the focus again when one returns', async () => {
    const page = await openLog(() => [entry(10, 'leads', '1 lead')], { hash: '#overview' });
    const name = page.getByRole('region', { name: 'Leads go to' }).getByRole('link');
    const focused = () => page.evaluate('document.activeElement.textContent');
    for (const leave of [
      () => page.goBack(),
      () => page.getByRole('link', { name: '← Overview' }).press('Enter'),
    ]) {
      await name.press('Enter');
      await page.getByRole('heading', { level: 1, name: 'CRM' }).waitFor();
      await leave();
      await expect.poll(focused).toContain('CRM');
    }
  });

  it('unfolds the entry of a lead, if the address has one', async () => {
    const log = [
      entry(10, 'leads', '2 leads', { leads: 2, leadIds: ['femke', 'bo'] }),
      ...Array.from({ length: 60 }, (_, index) => entry(60 + index, 'refused', `401 number ${index}`)),
      entry(900, 'leads', '1 lead', { leads: 1, leadIds: ['ada'] }),
    ];
    const page = await openLog((limit) => log.slice(0, limit), { hash: '#overview/crm?lead=ada' });
    await page.locator('.log-line[aria-expanded="true"]').getByText('1 lead').waitFor();
    await expect
      .poll(() => page.evaluate(`document.activeElement.getAttribute('aria-expanded')`))
      .toBe('true');
    await page.evaluate(`location.hash = location.hash.replace('ada', 'eve')`);
    await page.getByText('The lead is not in this log').waitFor();
  });

  it('has what is seldom done: pause, and another name', async () => {
    let crm = wayOut('CRM', 'good', '41 sent', WEBHOOK);
    const service = await startService();
    const page = await openLog(() => [], { service });
    await answerConnections(page, () => connections('good', 'All.', { out: [crm] }));
    const changes = await recordChanges(page);
    await page.getByText('Nothing yet: leads appear here').waitFor();
    await page.getByRole('button', { name: 'Rename' }).click();
    expect(await page.getByLabel('New name').inputValue()).toBe('CRM');
    await page.getByLabel('New name').fill('Sales');
    await expectEveryLook(page);
    crm = { ...crm, name: 'Sales' };
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Sales' }).waitFor();
    crm = { ...crm, state: 'paused', level: 'unknown', message: 'paused' };
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByRole('button', { name: 'Go on' }).waitFor();
    expect(changes).toEqual(['PATCH crm {"name":"Sales"}', 'PATCH crm {"paused":true}']);
  });
});

describe('the log while one watches', () => {
  it('adds entries at its top, but none while one reads', async () => {
    const log = [entry(60, 'leads', '1 lead'), entry(70, 'refused', '401 the access token has expired')];
    const page = await openLog(() => log);
    await line(page, /1 lead/).waitFor();
    let now = NOW;
    const passInterval = async () => {
      const answered = page.waitForResponse('**/log?*');
      now += INTERVAL_MS;
      await page.clock.setFixedTime(now);
      await answered;
    };
    log.unshift(entry(50, 'leads', '2 leads'));
    await passInterval();
    await line(page, /2 leads/).waitFor();
    await line(page, /401/).click();
    const top = await topOf(line(page, /401/));
    log.unshift(entry(40, 'leads', '3 leads'), entry(41, 'empty', '', { times: 3 }));
    log[3] = { ...entry(60, 'leads', '1 lead, 2 times'), times: 2 };
    await passInterval();
    const pill = page.getByRole('button', { name: '1 new' });
    await pill.waitFor();
    await line(page, /1 lead, 2 times/).waitFor();
    expect(await topOf(line(page, /401/))).toBe(top);
    expect(await line(page, /3 leads/).count()).toBe(0);
    await expectEveryLook(page);
    await pill.click();
    await line(page, /3 leads/).waitFor();
    expect(await textsOf(page)).toHaveLength(5);
    expect(await page.evaluate('document.activeElement.innerText')).toContain('3 leads');
    expect(await line(page, /401/).getAttribute('aria-expanded')).toBe('true');
    await setHidden(page, true);
    let isAsked = false;
    page.on('request', (request) => {
      isAsked ||= request.url().includes('/log?');
    });
    await page.clock.setFixedTime(now + 10 * INTERVAL_MS);
    await page.evaluate('new Promise((resolve) => setTimeout(resolve, 1000))');
    expect(isAsked).toBe(false);
  });

  it('has older entries on demand', async () => {
    const log = Array.from({ length: 90 }, (_, index) => entry(index * 60, 'leads', `${index} leads`));
    const page = await openLog((limit) => log.slice(0, limit));
    expect(await textsOf(page)).toHaveLength(30);
    await page.getByRole('button', { name: 'Show older' }).click();
    await line(page, /89 leads/).waitFor();
    expect(await textsOf(page)).toHaveLength(90);
    expect(await page.getByRole('button', { name: 'Show older' }).count()).toBe(0);
  });

  it('keeps its entries and says so while the service cannot be reached', async () => {
    const page = await openLog(() => [entry(60, 'leads', '1 lead')]);
    await line(page, /1 lead/).waitFor();
    await page.route('**/automation/**', (route) => route.abort());
    await page.clock.setFixedTime(NOW + INTERVAL_MS);
    await page.getByText('The service cannot be reached').first().waitFor();
    expect(await textsOf(page)).toHaveLength(1);
    await expectEveryLook(page);
  });
});

it('says that there is no such log, and leads back', async () => {
  const page = await openLog(() => [], { expectedErrors: /404/ });
  await page.route('**/log?*', (route) =>
    route.fulfill({
      status: 404,
      json: { code: 'no-such-resource', status: 404, title: 'No', detail: 'No' },
    }),
  );
  await page.evaluate(`location.hash = '#overview/unknown'`);
  await page.getByRole('heading', { name: 'No such log' }).waitFor();
  await expectEveryLook(page);
  await page.getByRole('main').getByRole('link', { name: 'Overview', exact: true }).click();
  await page.getByRole('region', { name: 'Leads go to' }).waitFor();
});
