import type { Connections } from '@leadtap/contract';
import type { Page } from 'playwright-core';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { connections, hours, WEBHOOK, wayIn, wayOut } from '../../console/test/support/connections.ts';
import { expectAccessible, expectEveryLook } from '../browser/accessibility.ts';
import { findOverflow, openPage, type PageOptions } from '../browser/page.ts';
import { type ManualClock, manualClock } from '../harness/manual-clock.ts';
import { startService, type TestService } from '../harness/service.ts';
import { share } from '../harness/shared.ts';
import type { WhenDone } from '../harness/temp-folder.ts';

const REFRESH_MS = 5000;

/** Connections of all kinds: good, silent, refused, and with a long name. */
const ALL = connections('error', '41 leads since Thursday 19 Nov. n8n has all. Zapier: silent since 14:10.', {
  in: [wayIn('Website form', 'good', '41 new', { hours: hours({ 20: 41 }) })],
  out: [
    wayOut('Zapier', 'error', 'silent since 14:10. 3 wait, safe', { fix: 'Look in `Zap history`.' }),
    wayOut('CRM', 'warning', '2 not received', { ...WEBHOOK, userId: 'north-lead' }),
    wayOut(`a-name-without-spaces-${'x'.repeat(70)}`, 'unknown', 'new connection'),
    wayOut('n8n', 'good', '41 sent'),
  ],
});

/** In place of what the service says of connections, for situations that would need failing platforms or hours. */
async function answerStatus(page: Page, read: () => Connections = () => ALL): Promise<void> {
  onTestFinished(() => page.unrouteAll({ behavior: 'ignoreErrors' }));
  await page.route('**/status.json', async (route) => {
    const response = await route.fetch();
    const { leads: _, ...rest } = read();
    await route.fulfill({ response, json: { ...((await response.json()) as object), ...rest } });
  });
}

const startOnClock = async (whenDone?: WhenDone) => {
  const clock = manualClock('2026-03-02T09:21:00.000Z');
  return { clock, service: await startService({ clock, ...(whenDone && { whenDone }) }) };
};

interface StatusOptions extends PageOptions {
  readonly read?: () => Connections;
}

async function openStatus({ statusUrl }: TestService, { read, ...options }: StatusOptions = {}) {
  // A page of the same origin.
  const page = await openPage(new URL('docs', statusUrl).href, options);
  await answerStatus(page, read);
  await page.goto(statusUrl);
  return page;
}

/** With timers that the test moves on. */
async function openWithTimers(service: TestService, options?: StatusOptions): Promise<Page> {
  const page = await openStatus(service, options);
  await page.clock.install();
  await page.reload();
  return page;
}

/** Lets the page refresh itself until it shows the status as of this time. On a slow machine it may have done so already. */
const refresh = (page: Page, clock: ManualClock): Promise<void> => {
  clock.advance(1000);
  return expect
    .poll(async () => {
      await page.clock.runFor(REFRESH_MS);
      return page.getAttribute('header time', 'datetime');
    })
    .toBe(new Date(clock()).toISOString());
};

const heading = (page: Page) => page.getByRole('heading', { level: 1 });
const part = (page: Page, name: string) => page.getByRole('region', { name, exact: true });
const rows = (page: Page, name = 'Leads go to') => part(page, name).getByRole('listitem');
const namesOf = (page: Page) => part(page, 'Leads go to').locator('.connection-name').allInnerTexts();

describe('the status page in a browser', () => {
  /** For tests that only look. */
  const shared = share(startOnClock);

  it('has the sentence and the rows of all users with what to do, fits every screen and is accessible', async () => {
    const page = await openStatus(shared().service);
    await heading(page).getByText('n8n has all.').waitFor();
    expect((await namesOf(page)).map((name) => name.slice(0, 6))).toEqual([
      'Zapier',
      'CRM → ',
      'a-name',
      'n8n',
    ]);
    const first = rows(page).first();
    expect((await first.innerText()).replace(/\s+/g, ' ')).toMatch(
      /^✗ Problem: Zapier silent since 14:10\. 3 wait, safe \(user boss\) What to do$/,
    );
    await first.getByRole('button', { name: 'What to do' }).click();
    await first.getByText('Zap history').waitFor();
    await rows(page, 'Leads come from').getByText('41 new').waitFor();
    await part(page, 'System').getByText('Database').waitFor();
    expect(await page.title()).toBe('(2) Leadtap status');
    await expectEveryLook(page);
  });

  it('is accessible while it is empty', async () => {
    const page = await openStatus(shared().service, {
      read: () => connections('unknown', 'Nothing is connected yet.'),
    });
    await heading(page).getByText('Nothing is connected yet.').waitFor();
    expect(await findOverflow(page)).toEqual([]);
    await expectAccessible(page);
  });

  it('refreshes itself without flicker: nodes, scroll position, focus and selection stay', async () => {
    const { service, clock } = await startOnClock();
    let read = ALL;
    const page = await openWithTimers(service, { screen: 'phone', read: () => read });
    await rows(page).first().waitFor();
    await page.evaluate(`
      document.getElementById('main')?.scrollTo(0, 300);
      document.querySelector('a[href="status.json"]').focus({ preventScroll: true });
      getSelection().selectAllChildren([...document.querySelectorAll('.connection-name')].find((it) => it.textContent === 'n8n'));
      window.kept = [...document.querySelectorAll('main *')];
      window.seen = document.elementFromPoint(180, 300);
      window.seenAt = Math.round(window.seen.getBoundingClientRect().top);`);
    const [zapier, ...others] = ALL.out;
    read = {
      ...ALL,
      out: [{ ...(zapier ?? wayOut('', 'good', '')), message: 'silent since 14:11' }, ...others],
    };
    await refresh(page, clock);
    await rows(page).getByText('silent since 14:11').waitFor();
    expect(
      await page.evaluate(`({
        moved: Math.round(window.seen.getBoundingClientRect().top) - window.seenAt,
        focus: document.activeElement.textContent,
        selection: getSelection().toString().trim(),
        lost: window.kept.filter((element) => !element.isConnected).length,
      })`),
    ).toEqual({ moved: 0, focus: 'status.json', selection: 'n8n', lost: 0 });
    read = { ...ALL, out: [wayOut('Pipedream', 'unknown', 'new connection'), ...ALL.out].reverse() };
    await refresh(page, clock);
    await expect.poll(async () => (await namesOf(page)).at(-1)).toBe('Pipedream');
    expect((await namesOf(page))[0]).toBe('n8n');
  });

  it('says instead of its sentence that the instance does not answer, keeps the rows, and recovers', async () => {
    const { service, clock } = await startOnClock();
    const page = await openWithTimers(service, { expectedErrors: /status 503|ERR_FAILED/ });
    await rows(page).first().waitFor();
    const before = await page.title();
    await page.route('**/status.json', (route) => route.abort(), { times: 1 });
    await page.clock.runFor(REFRESH_MS);
    await heading(page).getByText('This instance does not answer.').waitFor();
    expect(await page.title()).toBe('No answer: Leadtap status');
    expect(await rows(page).count()).toBe(4);
    await expectAccessible(page);
    await refresh(page, clock);
    await expect.poll(() => page.title()).toBe(before);
  });

  it('can be read on paper', async () => {
    const page = await openStatus(shared().service);
    await rows(page).first().waitFor();
    await page.emulateMedia({ media: 'print' });
    expect(await rows(page).count()).toBe(4);
    expect(await findOverflow(page)).toEqual([]);
  });

  it('refreshes also while its tab is hidden, so that the title says what is wrong', async () => {
    const page = await openWithTimers(shared().service);
    await page.evaluate(`Object.defineProperty(document, 'hidden', { get: () => true })`);
    const refreshed = page.waitForResponse('**/status.json');
    await page.clock.runFor(REFRESH_MS);
    await refreshed;
  });

  it('shows times in the zone of the visitor, and names it', async () => {
    const page = await openStatus(shared().service, { context: { timezoneId: 'Asia/Kolkata' } });
    await page.locator('header time').waitFor();
    expect(await page.locator('header time').innerText()).toBe('2 Mar 2026, 14:51:00 GMT+5:30');
  });

  it('has the last errors and the refused requests of the instance, and keeps what was opened', async () => {
    const { service, clock } = await startOnClock();
    /** So many requests get a 500. */
    const failAll = async (count: number) => {
      const { changeTracking } = service.store;
      const broken = vi.spyOn(changeTracking, 'revalidate').mockRejectedValue(new Error('out of memory'));
      for (let n = 0; n < count; n += 1) await service.poll('boss');
      broken.mockRestore();
    };
    await failAll(8);
    const page = await openWithTimers(service);
    await rows(page, 'Last errors').first().waitFor();
    const refused = rows(page, 'Refused requests').first();
    await refused.getByRole('button', { name: 'What to do' }).click();
    await refused.locator('.connection-fix').waitFor();
    await failAll(1);
    await refresh(page, clock);
    expect(await refused.locator('.connection-fix').isVisible()).toBe(true);
    await expectEveryLook(page);
  });

  it('says without JavaScript what says the same', async () => {
    // Its script is then not loaded ahead.
    const options = { javaScript: 'off', expectedErrors: /\.js \(csp\)/ } as const;
    const page = await openPage(shared().service.statusUrl, options);
    // Playwright finds no text in this element.
    const sentence = page.locator('noscript p');
    await sentence.waitFor();
    expect(await sentence.innerText()).toContain('JavaScript is needed; leadtap doctor says the same.');
  });

  it('shows hostile names as text', async () => {
    const name = '<img src=x onerror=alert(1)>\u202Eevil';
    const page = await openStatus(shared().service, {
      read: () => connections('good', 'All.', { out: [wayOut(name, 'good', '1 sent')] }),
    });
    await rows(page).first().waitFor();
    expect(await namesOf(page)).toEqual([name.replace('\u202E', '')]);
    expect(await page.locator('img').count()).toBe(0);
  });
});
