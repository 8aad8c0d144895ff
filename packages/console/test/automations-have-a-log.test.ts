import type { Attempt, AttemptLog, Consumers, Senders } from '@leadtap/contract';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { expectAccessible, expectEveryLook } from '../../testing/browser/accessibility.ts';
import { openPage, type PageOptions } from '../../testing/browser/page.ts';
import { sendLeads } from '../../testing/harness/intake.ts';
import { startService, type TestService } from '../../testing/harness/service.ts';
import { addAutomation, setHidden } from './support/automation.ts';
import { openTab } from './support/open-tab.ts';
import { topOf } from './support/rows.ts';

const INTERVAL_MS = 5000;
const NOW = Date.UTC(2026, 2, 2, 16, 10);
const iso = (ms: number): string => new Date(ms).toISOString();

/** An entry of some seconds ago, as the service has it. */
const entry = (
  secondsAgo: number,
  kind: Attempt['kind'],
  message: string,
  facts: Partial<Attempt> = {},
): Attempt => {
  const at = iso(NOW - secondsAgo * 1000);
  return {
    ...{ at, firstAt: at, times: 1, kind, status: 200, code: null, leads: 0, since: null, through: null },
    ...{ durationMs: 4, heldMs: null, reason: null, nextTryAt: null, fields: [], message, fix: null },
    ...facts,
  };
};

/** In place of what the service has, for times that would need hours and receivers that fail. */
const answerWith = (page: Page, read: (parameters: URLSearchParams) => AttemptLog) =>
  page.route('**/log?*', (route) =>
    route.fulfill({ json: read(new URL(route.request().url()).searchParams) }),
  );

/** A page with a token, at an address that has a log. */
async function openAt(service: TestService, hash: string, options: PageOptions = {}): Promise<Page> {
  const page = await openPage(`${service.url}/#token=${await service.token('boss')}`, options);
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
  return page;
}

const openMocked = async (read: (parameters: URLSearchParams) => AttemptLog, parameters = '') => {
  const service = await startService();
  const page = await openAt(service, '#leads', { fixedTime: NOW });
  await answerWith(page, read);
  await page.evaluate(`location.hash = '#overview/consumers/one${parameters}'`);
  return { page, service };
};

const lines = (page: Page) => page.locator('.log-entries > li');
const line = (page: Page, name: string | RegExp) => page.getByRole('button', { name });
const textsOf = async (page: Page): Promise<string[]> => {
  await lines(page).first().waitFor();
  return (await lines(page).allInnerTexts()).map((text) => text.replace(/\s+/g, ' ').trim());
};

async function idOf(service: TestService, name: string): Promise<string> {
  const headers = { authorization: `Bearer ${await service.token('boss')}` };
  const response = await fetch(`${service.url}/automation/consumers`, { headers });
  const { consumers } = (await response.json()) as Consumers;
  return consumers.find((consumer) => consumer.name === name)?.id ?? '';
}

describe('an automation has a log', () => {
  it('of leads and refusals, which unfold to the request, the answer, the leads and what to do', async () => {
    const service = await startService({ env: { LEADTAP_BASE_PATH: '/api' } });
    const [ada = 0, grace = 0] = await service.add(
      { fields: { firstName: 'Ada' } },
      { fields: { firstName: 'Grace' } },
    );
    const { poll } = await addAutomation(service, 'Zapier');
    await poll(`since=${iso(ada - 1)}`);
    expect(await poll('limit=0')).toBe(400);
    const page = await openAt(service, `#overview/consumers/${await idOf(service, 'Zapier')}`);
    expect(await textsOf(page)).toEqual([
      expect.stringMatching(/^\d\d:\d\d:\d\d ✗ Problem: 400 the query is not valid$/),
      expect.stringMatching(/^\d\d:\d\d:\d\d ✓ Good: 2 leads$/),
    ]);
    expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe('Log of Zapier');
    expect(await page.title()).toBe('Log · Leadtap');
    await line(page, /400/).press('Enter');
    expect(await line(page, /400/).getAttribute('aria-expanded')).toBe('true');
    const refused = (await lines(page).first().innerText()).replace(/\s+/g, ' ');
    expect(refused).toMatch(/What to do \w.+ Time \d.+ Answer 400 invalid-query in \d+ ms$/);
    await line(page, /2 leads/).click();
    await page.getByRole('link', { name: 'Grace' }).waitFor();
    const [, received = ''] = await textsOf(page);
    expect(received).toContain(`after ${iso(ada - 1)}, up to ${iso(grace)} Answer 200 in`);
    expect(received).toMatch(/Leads Grace .+Ada .+/);
    await expectEveryLook(page);
    await page.emulateMedia({ media: 'print' });
    expect(await line(page, /2 leads/).isVisible()).toBe(true);
    expect(await page.getByRole('button', { name: 'Failed' }).isVisible()).toBe(false);
    await page.emulateMedia({ media: 'screen' });
    await page.getByRole('link', { name: 'Ada' }).click();
    await page.getByRole('heading', { level: 1, name: 'Ada' }).waitFor();
    await page.goBack();
    await line(page, /2 leads/).waitFor();
  });

  it('is opened from its row in the Overview, which has the focus again when one returns', async () => {
    const service = await startService();
    await service.add({ fields: { firstName: 'Ada' } });
    for (const name of ['n8n', 'Zapier']) await (await addAutomation(service, name)).poll();
    const page = await openTab(service, 'Overview');
    const row = page.getByRole('link', { name: 'Zapier' });
    const focused = () => page.evaluate('document.activeElement.textContent');
    await row.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Log of Zapier' }).waitFor();
    await page.goBack();
    await expect.poll(focused).toBe('Zapier');
    await row.press('Enter');
    await page.getByRole('link', { name: '← Overview' }).press('Enter');
    await expect.poll(focused).toBe('Zapier');
  });

  it('a lead leads to the entry of each automation that got it', async () => {
    const service = await startService();
    const [ada = 0, grace = 0] = await service.add(
      { fields: { firstName: 'Ada' } },
      { fields: { firstName: 'Grace' } },
    );
    const { poll } = await addAutomation(service, 'Zapier');
    await poll(`since=${iso(ada - 1)}&limit=1`);
    await poll(`since=${iso(ada)}`);
    await poll(`since=${iso(grace)}`);
    const page = await openTab(service, 'Leads');
    await page.getByRole('link', { name: /^Ada/ }).click();
    await page.getByRole('heading', { level: 1, name: 'Ada' }).waitFor();
    await page.getByRole('button', { name: /^Zapier/ }).click();
    await page.getByRole('link', { name: 'Zapier' }).click();
    const opened = page.locator('.log-line[aria-expanded="true"]');
    await opened.waitFor();
    await page.getByRole('main').getByRole('link', { name: 'Ada' }).waitFor();
    expect(await page.getByRole('link', { name: 'Grace' }).count()).toBe(0);
    expect(await page.evaluate(`document.activeElement.getAttribute('aria-expanded')`)).toBe('true');
    await page.evaluate(`location.hash = location.hash.replace(/lead=.*/, 'lead=2020-01-01T00:00:00.000Z')`);
    await page.getByText('The lead is not in this log').waitFor();
  });

  it('shows of a webhook when it tries again, and what its receiver said as text', async () => {
    const fix = 'Look in its platform at `Zap history`.';
    const { page } = await openMocked(() => ({
      name: 'Zapier',
      log: [
        entry(10, 'refused', '503 from hooks.zapier.com, next try in 4 min', {
          ...{ status: 503, reason: '<b>Try later</b>\u202e', nextTryAt: iso(Date.now() + 245_000), fix },
        }),
        entry(12, 'empty', '212 polls without new leads', { times: 212, firstAt: iso(NOW - 7 * 3_600_000) }),
        entry(90_000, 'leads', '3 leads'),
        entry(90_010, 'empty', '', { times: 2 }),
      ],
    }));
    expect(await textsOf(page)).toEqual([
      '16:09:50 ✗ Problem: 503 from hooks.zapier.com, next try in 4 min',
      '212 empty polls, 09:10 to 16:09',
      '15:10:00 ✓ Good: 3 leads',
      '2 empty polls, 15:09',
    ]);
    expect(await page.getByRole('heading', { level: 2 }).allInnerTexts()).toEqual([
      'Monday, 2 March 2026',
      'Sunday, 1 March 2026',
    ]);
    await line(page, /503/).click();
    const details = (await lines(page).first().innerText()).replace(/\s+/g, ' ');
    expect(details).toContain('What to do Look in its platform at Zap history. Time 2 Mar 2026');
    expect(details).toMatch(/It said “?<b>Try later<\/b>”? Next try in 4 min/);
    await expectEveryLook(page);
  });

  it('of a form: what came in, and the fields that were refused', async () => {
    const service = await startService();
    await sendLeads(service, [{ firstName: 'Ada' }]);
    await sendLeads(service, [{ email: 'not an address' }]);
    await service.service.senders?.flush();
    const headers = { authorization: `Bearer ${await service.token('boss')}` };
    const response = await fetch(`${service.url}/automation/senders`, { headers });
    const { senders } = (await response.json()) as Senders;
    const page = await openAt(service, `#overview/senders/${senders[0]?.id}`);
    expect(await textsOf(page)).toEqual([
      expect.stringMatching(/✗ Problem: 422 .*email$/),
      expect.stringMatching(/✓ Good: 1 lead$/),
    ]);
    await line(page, /422/).click();
    expect(await lines(page).first().innerText()).toMatch(/Fields\s+email/);
    await expectAccessible(page);
  });
});

describe('the log while one watches', () => {
  it('adds entries at its top, but none while one reads', async () => {
    const log = [entry(60, 'leads', '1 lead'), entry(70, 'refused', '401 the access token has expired')];
    const { page } = await openMocked(() => ({ name: 'Zapier', log }));
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

  it('has older entries on demand, and a filter in the address that looks at all of them', async () => {
    const log = Array.from({ length: 90 }, (_, index) =>
      index % 40 === 39
        ? entry(index * 60, 'failed', `500 number ${index}`)
        : entry(index * 60, 'leads', `${index} leads`),
    );
    const { page } = await openMocked((parameters) => {
      const before = parameters.get('before') ?? '9';
      const limit = Number(parameters.get('limit'));
      return { name: 'Zapier', log: log.filter(({ at }) => at < before).slice(0, limit) };
    });
    expect(await textsOf(page)).toHaveLength(30);
    await page.getByRole('button', { name: 'Show older' }).click();
    await line(page, /89 leads/).waitFor();
    expect(await textsOf(page)).toHaveLength(90);
    expect(await page.getByRole('button', { name: 'Show older' }).count()).toBe(0);
    // Another log, with a filter from the start.
    await page.evaluate(`location.hash = '#overview/consumers/two?show=failed'`);
    await line(page, /500 number 79/).waitFor();
    expect(await textsOf(page)).toHaveLength(2);
    expect(await page.getByRole('button', { name: 'Failed' }).getAttribute('aria-pressed')).toBe('true');
    await page.getByRole('button', { name: 'With leads' }).click();
    expect(await textsOf(page)).toHaveLength(88);
    expect(page.url()).toMatch(/#overview\/consumers\/two\?show=leads$/);
    await page.goBack();
    expect(page.url()).toMatch(/#overview\/consumers\/one$/);
    await page.getByRole('link', { name: '← Overview' }).click();
    await page.getByRole('heading', { name: 'Leads out' }).or(page.locator('.headline')).first().waitFor();
  });
});

describe('a log without entries', () => {
  it('says that nothing has happened yet, or that nothing has failed', async () => {
    const { page } = await openMocked(() => ({ name: null, log: [] }));
    await page.getByText(/^Nothing yet: /).waitFor();
    expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe('Log');
    await expectEveryLook(page);
    await page.getByRole('button', { name: 'Failed' }).click();
    await page.getByText('Nothing has failed.').waitFor();
  });

  it('says that there is no such log, and leads back', async () => {
    const service = await startService();
    const page = await openAt(service, '#overview/consumers/unknown');
    await page.getByRole('heading', { name: 'No such log' }).waitFor();
    await expectEveryLook(page);
    await page.getByRole('main').getByRole('link', { name: 'Overview', exact: true }).click();
    await page.locator('.headline').waitFor();
  });

  it('keeps its entries and says so while the service cannot be reached', async () => {
    const log = [entry(60, 'leads', '1 lead')];
    const { page } = await openMocked(() => ({ name: 'Zapier', log }));
    await line(page, /1 lead/).waitFor();
    await page.route('**/automation/**', (route) => route.abort());
    await page.clock.setFixedTime(NOW + INTERVAL_MS);
    await page.getByText('The service cannot be reached').first().waitFor();
    expect(await textsOf(page)).toHaveLength(1);
    await expectEveryLook(page);
  });
});
