import type { Page, Request } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { expectAccessible, expectEveryLook } from '../../testing/browser/accessibility.ts';
import { openPage } from '../../testing/browser/page.ts';
import { untilHeld } from '../../testing/harness/long-polls.ts';
import { type ServiceOptions, startService, type TestService } from '../../testing/harness/service.ts';
import { addHistorical } from './support/historical-leads.ts';
import { openTab, showTab } from './support/open-tab.ts';
import { expectUnmoved, topOf } from './support/rows.ts';

const ENDPOINT = '**/automation/leads?*';
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

const row = (page: Page, name: string) => page.locator('.lead-row').filter({ hasText: name });
const names = (page: Page) => page.locator('.row-name').allTextContents();
const filter = (page: Page) => page.getByLabel('Search leads');
const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name });

const leadNames = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => `Lead ${from + index}.`);

/** `Lead 1.` is the newest, and each one is 20 minutes older than the one before it, so that the first page has more than a day. */
async function startWithLeads(
  count: number,
  options: ServiceOptions & { stepMs?: number } = {},
): Promise<TestService> {
  const { stepMs = 20 * MINUTE, ...rest } = options;
  const service = await startService(rest);
  const newest = Date.now() - 2 * MINUTE;
  const leads = leadNames(1, count).map((firstName, index) => ({
    createdAt: newest - index * stepMs,
    fields: { firstName, ...((index + 1) % 150 === 0 && { email: 'teal@example.com' }) },
  }));
  for (let first = 0; first < count; first += 1000)
    await addHistorical(service, ...leads.slice(first, first + 1000));
  return service;
}

/** Requests for older leads, and searches. */
function countOlder(page: Page): Request[] {
  const requests: Request[] = [];
  page.on('request', (request) => {
    if (request.url().includes('/automation/leads?')) requests.push(request);
  });
  return requests;
}

const scrollToEnd = (page: Page, selector = '.rows') =>
  page.evaluate(`document.querySelector('${selector}').scrollTo({ top: 1e9 })`);

describe('older leads', () => {
  it('are loaded at the end of the list, until there are none', async () => {
    const service = await startWithLeads(330);
    const page = await openTab(service, 'Leads');
    await row(page, 'Lead 1.').first().waitFor();
    expect(await names(page)).toEqual(leadNames(1, 100));
    await page.getByText(/^100 loaded leads, back to /).waitFor();
    await expectEveryLook(page);
    const loaded = async () => {
      await scrollToEnd(page);
      return page.locator('.loaded').innerText();
    };
    await expect.poll(loaded).toBe('330 leads');
    expect((await names(page)).slice(-230)).toEqual(leadNames(101, 330));
    expect(await button(page, 'Load older leads').count()).toBe(0);
  });

  it('are loaded on a phone, and with the keyboard by a button that keeps the focus', async () => {
    const service = await startWithLeads(300);
    const page = await openTab(service, 'Leads', { screen: 'phone' });
    await row(page, 'Lead 1.').first().waitFor();
    await scrollToEnd(page, 'html');
    await expect.poll(() => page.locator('.lead-row').count()).toBeGreaterThan(100);
    await page.setViewportSize({ width: 1280, height: 800 });
    const before = await page.locator('.lead-row').count();
    await page.evaluate(`document.querySelector('.list-end button').focus({ preventScroll: true })`);
    await page.keyboard.press('Enter');
    await expect.poll(() => page.locator('.lead-row').count()).toBeGreaterThan(before);
    expect(await page.evaluate(`document.activeElement.matches('.list-end button')`)).toBe(true);
  });

  it('do not move the rows, and those that arrive meanwhile wait above', async () => {
    const service = await startWithLeads(300);
    const page = await openTab(service, 'Leads');
    await row(page, 'Lead 1.').first().waitFor();
    await untilHeld(service);
    await row(page, 'Lead 90.').scrollIntoViewIfNeeded();
    const before = await topOf(row(page, 'Lead 90.'));
    await service.add({ fields: { firstName: 'Eve' } });
    await button(page, '1 new').waitFor();
    await expect.poll(async () => (await names(page)).slice(0, 150)).toEqual(leadNames(1, 150));
    await expectUnmoved(row(page, 'Lead 90.'), before);
    await button(page, '1 new').click();
    await expect.poll(async () => (await names(page)).slice(0, 2)).toEqual(['Eve', 'Lead 1.']);
  });

  it('are listed once each, although a new one arrives while they are loaded', async () => {
    const service = await startWithLeads(300);
    const page = await openTab(service, 'Leads');
    await row(page, 'Lead 1.').first().waitFor();
    await untilHeld(service);
    const requests = countOlder(page);
    let loadOlder = (): void => undefined;
    const mayLoad = new Promise<void>((resolve) => {
      loadOlder = resolve;
    });
    await page.route(ENDPOINT, async (route) => {
      if (requests.length > 0) await mayLoad;
      await route.continue();
    });
    await scrollToEnd(page);
    await expect.poll(() => requests.length).toBe(1);
    await service.add({ fields: { firstName: 'Eve' } });
    await button(page, '1 new').waitFor();
    loadOlder();
    await expect.poll(async () => (await names(page)).length).toBeGreaterThan(100);
    expect((await names(page)).slice(0, 150)).toEqual(leadNames(1, 150));
  });

  it('are 400 rows of the page at most, wherever it is scrolled, and a filter begins at the top', async () => {
    const service = await startWithLeads(900);
    const page = await openTab(service, 'Leads');
    await row(page, 'Lead 1.').first().waitFor();
    await untilHeld(service);
    const loaded = async () => {
      await scrollToEnd(page);
      expect(await page.locator('.lead-row').count()).toBeLessThanOrEqual(400);
      return (await names(page)).at(-1);
    };
    await expect.poll(loaded).toBe('Lead 900.');
    // The opened lead is far above.
    await page.keyboard.press('j');
    await expect.poll(() => page.evaluate('document.activeElement.innerText')).toContain('Lead 2.');
    await expect.poll(loaded).toBe('Lead 900.');
    /** The number of the lead in the middle of the list. */
    const visibleNumber = () =>
      page.evaluate<number>(`(() => {
        const { left, width, top, height } = document.querySelector('.rows').getBoundingClientRect();
        const row = document.elementFromPoint(left + width / 2, top + height / 2).closest('.lead-row');
        return Number(/Lead (\\d+)\\./.exec(row?.innerText)?.[1] ?? 0);
      })()`);
    const scrollTo = (share: number) =>
      page.evaluate(
        `{ const rows = document.querySelector('.rows'); rows.scrollTop = rows.scrollHeight * ${share} }`,
      );
    await service.add({ fields: { firstName: 'Eve' } });
    await button(page, '1 new').waitFor();
    await scrollTo(0.5);
    await expect.poll(visibleNumber).toBeGreaterThan(350);
    expect(await visibleNumber()).toBeLessThan(550);
    expect(await page.locator('.lead-row').count()).toBeLessThanOrEqual(400);
    await filter(page).fill('lead');
    await expect.poll(async () => (await names(page))[0]).toBe('Lead 1.');
    expect(await page.evaluate(`document.querySelector('.rows').scrollTop`)).toBe(0);
    await filter(page).fill('');
    await row(page, 'Eve').waitFor();
    expect((await names(page)).slice(0, 200)).toEqual(['Eve', ...leadNames(1, 99)]);
  });
});

/** Answers searches as a service with very many leads does: each request goes back by a day, and finds nothing. */
async function searchSlowly(
  page: Page,
  headers: () => Record<string, string> = () => ({}),
): Promise<Request[]> {
  const requests: Request[] = [];
  await page.route(ENDPOINT, (route) => {
    requests.push(route.request());
    const { searchParams } = new URL(route.request().url());
    const next = new Date(Date.parse(searchParams.get('before') ?? '') - DAY).toISOString();
    const link = `<https://leads.example.com/automation/leads?before=${next}&q=x&limit=100>; rel="next"`;
    return route.fulfill({ status: 200, json: [], headers: { link, ...headers() } });
  });
  return requests;
}

describe('a search', () => {
  it('finds any lead among many, without regard to case and accents', async () => {
    const service = await startWithLeads(2500);
    const createdAt = Date.now() - 300 * DAY;
    const fields = { fullName: 'Zoë Lefèvre', phone1: '+33 6 12 34 56 78' };
    await addHistorical(service, { createdAt, id: 'K-77', fields });
    const page = await openTab(service, 'Leads');
    await row(page, 'Lead 1.').first().waitFor();
    // Words of two digits alone would be found in the ids of other leads, too.
    for (const text of ['zoe LEFEVRE', '+33 6 12 34 56 78', 'k-77']) {
      await filter(page).fill(text);
      await row(page, 'Zoë Lefèvre').waitFor();
      await page.getByText('Searched all leads.').waitFor();
      await page.getByText('1 lead found').waitFor();
      expect(await names(page)).toEqual(['Zoë Lefèvre']);
    }
    await expectEveryLook(page);
    await filter(page).fill('nothing like this');
    await page.getByText('No lead matches.').waitFor();
    await expectAccessible(page);
    await button(page, 'Clear the filter').click();
    await expect.poll(async () => (await names(page))[0]).toBe('Lead 1.');
  });

  it('has what is loaded at once, and older leads on request', async () => {
    const service = await startWithLeads(400);
    const page = await openTab(service, 'Leads');
    await row(page, 'Lead 1.').first().waitFor();
    await filter(page).fill('lead');
    await page.getByText('100 leads found').waitFor();
    await page.getByText(/^Searched back to /).waitFor({ state: 'attached' });
    await scrollToEnd(page);
    await button(page, 'Search further back').click();
    await page.getByText('200 leads found').waitFor();
  });

  it('says how far back it is, and stops with a button, with another text and with the tab', async () => {
    const service = await startWithLeads(3);
    const page = await openTab(service, 'Leads');
    await row(page, 'Lead 3.').waitFor();
    const requests = await searchSlowly(page);
    await filter(page).fill('moreau');
    await page.getByText(/^Searched back to \d+ \w+/).waitFor();
    await expectAccessible(page);
    await button(page, 'Stop').click();
    await button(page, 'Search further back').waitFor();
    expect(await page.evaluate('document.activeElement.innerText')).toBe('Search further back');
    await filter(page).fill('weber');
    await expect.poll(() => requests.at(-1)?.url()).toContain('q=weber');
    const others = requests.slice(requests.findIndex((request) => request.url().includes('q=weber')));
    expect(others.every((request) => request.url().includes('q=weber'))).toBe(true);
    await showTab(page, 'Explore');
    const { length } = requests;
    await page.evaluate('new Promise((resolve) => setTimeout(resolve, 500))');
    expect(requests.length).toBeLessThanOrEqual(length + 1);
  });

  it('leaves a fifth of the limit to automations, and continues on request or in the next minute', async () => {
    const service = await startWithLeads(3);
    const page = await openTab(service, 'Leads');
    await row(page, 'Lead 3.').waitFor();
    let remaining = 24;
    const requests = await searchSlowly(page, () => {
      remaining -= 1;
      return { 'ratelimit-policy': '"minute";q=100;w=60', ratelimit: `"minute";r=${remaining};t=3600` };
    });
    await filter(page).fill('moreau');
    await page.getByText(/^Paused for .*: the rest of the limit is left to your automations\.$/).waitFor();
    expect(requests.length).toBeLessThanOrEqual(5);
    await expectEveryLook(page);
    const before = requests.length;
    await button(page, 'Continue now').click();
    await expect.poll(() => requests.length).toBeGreaterThan(before);
  });

  it.each([
    // The page counts down and goes on by itself.
    ['a 429', { status: 429, headers: { 'retry-after': '2' }, body: '' }, 'Paused for'],
    ['an error of the service', { status: 500, body: '' }, 'What was loaded is kept.'],
    ['an unreachable service', undefined, 'The service cannot be reached. What was loaded is kept.'],
  ])('goes on after %s', async (name, answer, text) => {
    const service = await startWithLeads(300);
    const page = await openTab(service, 'Leads');
    await row(page, 'Lead 1.').first().waitFor();
    await untilHeld(service);
    await page.route(ENDPOINT, (route) =>
      answer ? route.fulfill(answer) : route.abort('connectionrefused'),
    );
    await filter(page).fill('teal');
    await page.locator('.load-older').getByText(text).waitFor();
    await page.unroute(ENDPOINT);
    if (name !== 'a 429') await button(page, 'Try again').click();
    await expect.poll(() => names(page)).toEqual(['Lead 150.', 'Lead 300.']);
  });
});

describe('a day', () => {
  it('may be today, or in the future, which the page says', async () => {
    const service = await startService();
    await service.add({ fields: { firstName: 'Eve' } });
    await addHistorical(service, { createdAt: Date.now() - 2 * DAY, fields: { firstName: 'Ada' } });
    const page = await openTab(service, 'Leads');
    await row(page, 'Eve').waitFor();
    const field = page.getByLabel('Show the leads of a day');
    const date = (time: number) => new Date(time).toISOString().slice(0, 10);
    await field.fill(date(Date.now()));
    await page.getByText(/^\w+day,? \d+ \w+ \d{4}: 1 lead\. Older ones follow\.$/).waitFor();
    expect(await names(page)).toEqual(['Eve', 'Ada']);
    await field.fill(date(Date.now() + 3 * DAY));
    await page.getByText(/^\w+day,? \d+ \w+ \d{4} is in the future: it has no leads yet\.$/).waitFor();
    expect(await names(page)).toEqual([]);
    await expectAccessible(page);
    await button(page, 'Back to the newest').click();
    await expect.poll(() => names(page)).toEqual(['Eve', 'Ada']);
  });

  /** At noon, so many days ago. */
  const noon = (daysAgo: number) => {
    const time = new Date(Date.now() - daysAgo * DAY);
    time.setUTCHours(12, 0, 0, 0);
    return time.getTime();
  };
  const dateOf = (time: number) => new Date(time).toISOString().slice(0, 10);
  const onDay = (daysAgo: number, count: number) =>
    Array.from({ length: count }, (_, index) => ({
      createdAt: noon(daysAgo) + index * MINUTE,
      fields: { firstName: `Day ${daysAgo}, ${index + 1}.` },
    }));

  it('is shown with its leads and older ones after them; new leads do not disturb, and there is a way back', async () => {
    const service = await startWithLeads(150);
    await addHistorical(service, ...onDay(12, 3), ...onDay(9, 4));
    const page = await openTab(service, 'Leads');
    await row(page, 'Lead 1.').first().waitFor();
    await untilHeld(service);
    const requests = countOlder(page);
    const field = page.getByLabel('Show the leads of a day');
    await field.fill(dateOf(noon(9)));
    const weekday = new Intl.DateTimeFormat('en-GB', {
      weekday: 'long',
      year: 'numeric',
      month: 'long',
      day: 'numeric',
      timeZone: 'UTC',
    }).format(noon(9));
    await page.getByText(`${weekday}: 4 leads. Older ones follow.`, { exact: true }).waitFor();
    // Not one of another day.
    await page.locator('.detail h1').getByText('Day 9, 4.').waitFor();
    expect(requests).toHaveLength(1);
    const ofDay = [4, 3, 2, 1].map((number) => `Day 9, ${number}.`);
    const withOlder = [...ofDay, 'Day 12, 3.', 'Day 12, 2.', 'Day 12, 1.'];
    expect(await names(page)).toEqual(withOlder);
    await expectEveryLook(page);
    await service.add({ fields: { firstName: 'Eve' } });
    await button(page, 'Back to the newest (1 new)').waitFor();
    expect(await names(page)).toEqual(withOlder);
    await row(page, 'Day 9, 2.').click();
    await page.locator('.detail h1').getByText('Day 9, 2.').waitFor();
    await button(page, 'Back to the newest').click();
    await expect.poll(async () => (await names(page)).slice(0, 2)).toEqual(['Eve', 'Lead 1.']);
    expect(await field.inputValue()).toBe('');
    await expect.poll(() => page.evaluate(`document.activeElement.matches('.lead-row a')`)).toBe(true);
    expect(await page.locator('.detail h1').innerText()).toBe('Day 9, 2.');
  });

  it('without leads says so, and the key d goes to the field', async () => {
    const service = await startWithLeads(3);
    const page = await openTab(service, 'Leads');
    await row(page, 'Lead 3.').waitFor();
    await page.keyboard.press('d');
    expect(await page.evaluate('document.activeElement.id')).toBe('lead-day');
    await page.getByLabel('Show the leads of a day').fill(dateOf(noon(40)));
    await page.getByText(/: no leads on this day or before\.$/).waitFor();
    const text = await page.locator('.list-side').innerText();
    expect(text.match(/\b(0|no) leads/g)).toEqual(['no leads']);
    expect(await page.locator('.detail').count()).toBe(0);
    await expectAccessible(page);
    await page.getByLabel('Show the leads of a day').fill('');
    await row(page, 'Lead 3.').waitFor();
    await page.locator('.detail').waitFor();
  });
});

describe('a link', () => {
  async function openLink(service: TestService, path: string, user = 'boss'): Promise<Page> {
    const page = await openPage(`${service.url}/#leads/${path}`);
    await page.getByLabel('Paste the token you were given').fill(await service.token(user));
    await page.keyboard.press('Enter');
    return page;
  }
  const heading = (page: Page) => page.locator('.detail h1');

  /** The address of a lead, as its row has it. */
  async function findAddress(service: TestService, createdAt: number): Promise<{ id: string; link: string }> {
    const since = new Date(createdAt - 1).toISOString();
    const [lead] = await service.leads('boss', `limit=1&since=${since}`);
    if (!lead) throw new Error('there is no such lead');
    return { id: lead.automation_trigger_id, link: `${lead.automation_trigger_id}@${lead.createdAt}` };
  }

  it('opens a lead that is not loaded with one request, below a base path as well', async () => {
    const service = await startWithLeads(300, { env: { LEADTAP_BASE_PATH: '/api' } });
    const createdAt = Date.now() - 300 * DAY;
    await addHistorical(service, { createdAt, fields: { firstName: 'Needle' } });
    const { link } = await findAddress(service, createdAt);
    const page = await openPage(`${service.url}/#leads/${link}`);
    const requests = countOlder(page);
    await page.getByLabel('Paste the token you were given').fill(await service.token('boss'));
    await page.keyboard.press('Enter');
    await heading(page).getByText('Needle').waitFor();
    expect(requests).toHaveLength(1);
    expect(await names(page)).toEqual(leadNames(1, 100));
    await expectEveryLook(page);
  });

  it('is that of a row, and can be copied', async () => {
    const service = await startWithLeads(2);
    const page = await openTab(service, 'Leads', { clipboard: true });
    await row(page, 'Lead 2.').click();
    await heading(page).getByText('Lead 2.').waitFor();
    await page.getByText('Copy', { exact: true }).click();
    await button(page, 'Link to this lead').click();
    await page.getByText('copied', { exact: true }).waitFor();
    const copied = await page.evaluate<string>('navigator.clipboard.readText()');
    expect(copied).toMatch(/\/#leads\/[\w-]+@\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(new URL(copied).hash).toBe(await row(page, 'Lead 2.').locator('a').getAttribute('href'));
  });

  it('that no lead has, or one that the token may not see, says so', async () => {
    const service = await startWithLeads(130);
    const [createdAt = 0] = await service.add({ branchId: 'south', fields: { firstName: 'Hidden' } });
    const { link } = await findAddress(service, createdAt);
    for (const [path, user] of [
      ['unknown', 'boss'],
      ['unknown@2026-01-01T00:00:00.000Z', 'boss'],
      [link, 'north-lead'],
    ] as const) {
      const page = await openLink(service, path, user);
      await page.getByText('This token sees no lead with this address.').waitFor();
    }
  });

  it('is opened again after the service could not be reached', async () => {
    const service = await startWithLeads(101);
    const [oldest] = await service.leads('boss', 'limit=1&since=1970-01-01');
    const { link } = await findAddress(service, Date.parse(oldest?.createdAt ?? ''));
    const page = await openPage(`${service.url}/#leads/${link}`);
    await page.route('**/automation/leads?*limit=1', (route) => route.fulfill({ status: 500, body: '' }));
    await page.getByLabel('Paste the token you were given').fill(await service.token('boss'));
    await page.keyboard.press('Enter');
    await page.locator('.detail').getByRole('alert').waitFor();
    await page.unroute('**/automation/leads?*limit=1');
    await button(page, 'Try again').click();
    await heading(page).getByText('Lead 101.').waitFor();
  });
});

describe('the plot', () => {
  const plot = (page: Page) => page.getByRole('img', { name: /^Leads per hour/ });

  it('counts all leads of 24 hours, also those that were not loaded at first', async () => {
    // An hour has 20 of them, so that 24 hours have 460 to 480.
    const service = await startWithLeads(900, { stepMs: 3 * MINUTE });
    const page = await openTab(service, 'Leads');
    await page.getByText('24 h', { exact: true }).waitFor();
    const label = (await plot(page).getAttribute('aria-label')) ?? '';
    const [, total] =
      /^Leads per hour: (\d+) in the last 24 hours, at most 20 in one hour$/.exec(label) ?? [];
    // None of the hour that may have begun meanwhile.
    expect(Number(total)).toBeGreaterThanOrEqual(440);
    expect(Number(total)).toBeLessThanOrEqual(480);
  });

  it('is left out if there are too many leads for a few requests, or too few to say anything', async () => {
    for (const service of [await startWithLeads(3000, { stepMs: MINUTE / 4 }), await startWithLeads(1)]) {
      const page = await openPage(service.url);
      const requests = countOlder(page);
      await page.evaluate(`location.hash = '#token=${await service.token('boss')}'`);
      await showTab(page, 'Leads');
      await page.getByText(/^900 loaded leads|^1 lead$/).waitFor();
      expect(await plot(page).count()).toBe(0);
      expect(requests.length).toBeLessThanOrEqual(8);
    }
  });
});
