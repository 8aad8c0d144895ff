import type { Page } from 'playwright-core';
import { describe, expect, it, vi } from 'vitest';
import type { Clock } from '../../server/src/lib/clock.ts';
import { addClient, writePolls } from '../../server/test/status/support/status.ts';
import { expectAccessible, expectEveryLook } from '../browser/accessibility.ts';
import { findOverflow, openPage, type PageOptions } from '../browser/page.ts';
import { manualClock } from '../harness/manual-clock.ts';
import { startService, type TestService } from '../harness/service.ts';
import { share } from '../harness/shared.ts';
import type { WhenDone } from '../harness/temp-folder.ts';

const REFRESH_MS = 5000;

/** Consumers of all kinds: active, stale, refused, and with a long name. */
async function startWithConsumers(whenDone?: WhenDone) {
  const clock = manualClock('2026-03-02T09:21:00.000Z');
  const service = await startService({ clock, ...(whenDone && { whenDone }) });
  const clients = await Promise.all([
    addClient(service, 'boss', 'token-1', 'zapier'),
    addClient(service, 'north-lead', 'token-2', 'n8n'),
    addClient(service, 'starter', 'token-3', 'make'),
    addClient(service, 'boss', 'token-4', `a-token-with-a-name-without-spaces-${'x'.repeat(80)}`),
  ]);
  const pollAll = async (polling: readonly (() => Promise<number>)[]) => {
    await Promise.all(polling.map((poll) => poll()));
    await writePolls(service);
    clock.advance(60_000);
  };
  // Often enough for consumers that can be stale.
  for (let round = 0; round < 9; round += 1) await pollAll(clients);
  await service.add({}, {}, {});
  await pollAll(clients);
  await pollAll(clients);
  await pollAll(clients.slice(1));
  await pollAll(clients.slice(1));
  return { service, clock, clients, pollAll };
}

/** A stale consumer, a refused one, a token that expires, a webhook that fails, and errors. */
async function startBadNight() {
  const { service, clock, clients, pollAll } = await startWithConsumers();
  const expiresAt = clock() + 2 * 86_400_000;
  const issued = { issuedAt: expiresAt - 90 * 86_400_000, expiresAt, scopes: ['leads:read'] as const };
  await service.store.recordTokens([{ id: 'token-9', userId: 'seller', name: 'old n8n', ...issued }]);
  const token = await service.token('seller', { tokenId: 'token-9', expiresInMs: 2 * 86_400_000 });
  const headers = { authorization: `Bearer ${token}` };
  const url = `${service.url}/automation/new-leads`;
  await pollAll([...clients.slice(1), async () => (await fetch(url, { headers })).status]);
  const { hooks, changeTracking } = service.store;
  const key = { userId: 'seller', tokenId: 'token-9', tokenExpiresAt: expiresAt, baseUrl: service.url };
  const subscribed = { ...key, id: '3'.repeat(32), url: 'https://hooks.zapier.com/a' };
  await hooks.subscribe({ ...subscribed, send: 'event', since: undefined }, 20);
  const hook = await hooks.find(subscribed.id);
  if (!hook) throw new Error('there is no hook');
  const failing = { failures: 4, failingSince: clock() - 20 * 60_000, lastEventAt: clock(), lastStatus: 502 };
  await hooks.settle([
    { claimed: hook, progress: { ...hook, ...failing, notBefore: clock() + 86_400_000, checkAt: null } },
  ]);
  /** So many requests of a client get a 500. */
  const failAll = async (count: number) => {
    const broken = vi.spyOn(changeTracking, 'revalidate').mockRejectedValue(new Error('out of memory'));
    for (let n = 0; n < count; n += 1) await service.poll('boss');
    broken.mockRestore();
  };
  await failAll(8);
  return { service, clock, failAll };
}

/** With timers that the test moves on. */
async function openWithTimers({ statusUrl }: TestService, options: PageOptions = {}): Promise<Page> {
  const page = await openPage(statusUrl, options);
  await page.clock.install();
  await page.reload();
  return page;
}

/** Lets the page refresh itself until it shows the status as of this time. On a slow machine it may have done so already. */
const refresh = (page: Page, clock: Clock): Promise<void> =>
  expect
    .poll(async () => {
      await page.clock.runFor(REFRESH_MS);
      return page.getAttribute('header time', 'datetime');
    })
    .toBe(new Date(clock()).toISOString());

const headline = (page: Page) => page.getByRole('heading', { level: 1 });
const part = (page: Page, name: string) => page.getByRole('region', { name, exact: true });
const rows = (page: Page, name: string) => part(page, name).getByRole('listitem');
const namesOf = (page: Page) => part(page, 'Leads out').locator('.consumer-name').allInnerTexts();
const begin = (names: readonly string[]) => names.map((name) => name.slice(0, 6));

describe('the status page in a browser', () => {
  /** For tests that only look. */
  const shared = share(startWithConsumers);

  it('has the rows of all users and companies with what to do, fits every screen and is accessible', async () => {
    const { service } = shared();
    const page = await openPage(service.statusUrl);
    await rows(page, 'Problems').getByText('zapier (user boss) has not polled for').waitFor();
    expect(begin(await namesOf(page))[0]).toBe('zapier');
    const first = rows(page, 'Leads out').first();
    expect((await first.innerText()).replace(/\s+/g, ' ')).toMatch(
      /^✗ Problem: zapier has not polled for .+ boss, acme/,
    );
    await first.getByRole('button', { name: 'What to do' }).click();
    await first.locator('.consumer-fix').waitFor();
    await part(page, 'System').getByText('Database').waitFor();
    expect(await page.title()).toBe('(2) Leadtap status');
    await expectEveryLook(page);
  });

  it('is accessible while it is empty', async () => {
    const { statusUrl } = await startService();
    const page = await openPage(statusUrl);
    await headline(page).getByText('No consumer has polled yet.').waitFor();
    expect(await findOverflow(page)).toEqual([]);
    await expectAccessible(page);
  });

  it('refreshes itself without flicker: nodes, scroll position, focus and selection stay', async () => {
    const { service, clock, clients } = await startWithConsumers();
    const page = await openWithTimers(service, { screen: 'phone' });
    await rows(page, 'Leads out').first().waitFor();
    await page.evaluate(`
      document.getElementById('main')?.scrollTo(0, 300);
      document.querySelector('a[href="status.json"]').focus({ preventScroll: true });
      getSelection().selectAllChildren([...document.querySelectorAll('.consumer-name')].find((it) => it.textContent === 'n8n'));
      window.kept = [...document.querySelectorAll('main *')];
      window.seen = document.elementFromPoint(180, 300);
      window.seenAt = Math.round(window.seen.getBoundingClientRect().top);`);
    const [, n8n] = clients;
    await n8n();
    await writePolls(service);
    clock.advance(1000);
    await refresh(page, clock);
    await rows(page, 'Leads out').getByText('polled 1 s ago').waitFor();
    expect(
      await page.evaluate(`({
        moved: Math.round(window.seen.getBoundingClientRect().top) - window.seenAt,
        focus: document.activeElement.textContent,
        selection: getSelection().toString().trim(),
        lost: window.kept.filter((element) => !element.isConnected).length,
      })`),
    ).toEqual({ moved: 0, focus: 'status.json', selection: 'n8n', lost: 0 });
  });

  it('adds new consumers, moves those that became stale, and changes the sentences', async () => {
    const { service, clock, pollAll, clients } = await startWithConsumers();
    const page = await openWithTimers(service);
    await rows(page, 'Leads out').first().waitFor();
    expect(begin(await namesOf(page))).toEqual(['zapier', 'make', 'a-toke', 'n8n']);
    const another = await addClient(service, 'seller', 'token-5', 'pipedream');
    const [zapier, , make, longName] = clients;
    await pollAll([zapier, make, longName, another]);
    await pollAll([zapier, make, longName, another]);
    await refresh(page, clock);
    await expect
      .poll(async () => begin(await namesOf(page)))
      .toEqual(['n8n', 'make', 'a-toke', 'pipedr', 'zapier']);
    await rows(page, 'Problems')
      .getByText(/^n8n \(user north-lead\) has not polled for/)
      .waitFor();
  });

  it('says instead of its headline that the instance does not answer, keeps the figures, and recovers', async () => {
    const { service, clock } = await startWithConsumers();
    const page = await openWithTimers(service, { expectedErrors: /status 503|ERR_FAILED/ });
    await rows(page, 'Leads out').first().waitFor();
    const before = await page.title();
    await page.route('**/status.json', (route) => route.abort());
    await page.clock.runFor(REFRESH_MS);
    await headline(page).getByText('This instance does not answer.').waitFor();
    expect(await page.title()).toBe('No answer: Leadtap status');
    expect(await rows(page, 'Leads out').count()).toBe(4);
    await expectAccessible(page);
    await page.unroute('**/status.json');
    clock.advance(1000);
    await refresh(page, clock);
    await expect.poll(() => page.title()).toBe(before);
  });

  it('can be read on paper', async () => {
    const { service } = shared();
    const page = await openPage(service.statusUrl);
    await rows(page, 'Leads out').first().waitFor();
    await page.emulateMedia({ media: 'print' });
    expect(await rows(page, 'Leads out').count()).toBe(4);
    expect(await findOverflow(page)).toEqual([]);
  });

  it('refreshes also while its tab is hidden, so that the title says what is wrong', async () => {
    const { service } = shared();
    const page = await openWithTimers(service);
    await page.evaluate(`Object.defineProperty(document, 'hidden', { get: () => true })`);
    const refreshed = page.waitForResponse('**/status.json');
    await page.clock.runFor(REFRESH_MS);
    await refreshed;
  });

  it('shows times in the zone of the visitor, and names it', async () => {
    const { service } = shared();
    const page = await openPage(service.statusUrl, { context: { timezoneId: 'Asia/Kolkata' } });
    await page.locator('header time').waitFor();
    expect(await page.locator('header time').innerText()).toBe('2 Mar 2026, 15:04:00 GMT+5:30');
  });

  it('keeps what was opened, in every state of a bad night', async () => {
    const { service, clock, failAll } = await startBadNight();
    const page = await openWithTimers(service);
    await rows(page, 'Last errors').first().waitFor();
    expect(await rows(page, 'Problems').locator('.sign.error').count()).toBeGreaterThan(1);
    expect(await rows(page, 'Problems').locator('.sign.warning').count()).toBe(2);
    const refused = rows(page, 'Refused requests').first();
    await refused.getByRole('button', { name: 'What to do' }).click();
    await refused.locator('.consumer-fix').waitFor();
    clock.advance(1000);
    await failAll(1);
    await refresh(page, clock);
    expect(await refused.locator('.consumer-fix').isVisible()).toBe(true);
    await expectEveryLook(page);
  });

  it('says without JavaScript what says the same', async () => {
    const { service } = shared();
    // Its script is then not loaded ahead.
    const page = await openPage(service.statusUrl, { javaScript: 'off', expectedErrors: /\.js \(csp\)/ });
    // Playwright finds no text in this element.
    const sentence = page.locator('noscript p');
    await sentence.waitFor();
    expect(await sentence.innerText()).toContain('JavaScript is needed; leadtap doctor says the same.');
  });

  it('shows hostile names as text', async () => {
    const clock = manualClock();
    const service = await startService({ clock });
    const name = '<img src=x onerror=alert(1)>\u202Eevil';
    const poll = await addClient(service, 'boss', 'token-1', name);
    await poll();
    await writePolls(service);
    const page = await openPage(service.statusUrl);
    await rows(page, 'Leads out').first().waitFor();
    expect(await namesOf(page)).toEqual([name.replace('\u202E', '')]);
    expect(await page.locator('img').count()).toBe(0);
  });
});
