import type { Page } from 'playwright-core';
import { describe, expect, it, vi } from 'vitest';
import type { Clock } from '../../server/src/lib/clock.ts';
import { addClient, writePolls } from '../../server/test/status/support/status.ts';
import { expectAccessible, expectEveryLook } from '../browser/accessibility.ts';
import { findOverflow, openPage, type PageOptions, VIEWPORTS } from '../browser/page.ts';
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

/** A token without a name, whose id is as long as those that are issued. */
async function startWithLongIds() {
  const service = await startService();
  const token = await service.token('north-lead', { tokenId: '019ca9d2-8f40-7c1e-9d55-0c3f6a1be7d4' });
  const poll = () =>
    fetch(`${service.url}/automation/new-leads`, { headers: { authorization: `Bearer ${token}` } });
  return { service, poll };
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
      return page.getAttribute('.refreshed time', 'datetime');
    })
    .toBe(new Date(clock()).toISOString());

describe('the status page in a browser', () => {
  /** For tests that only look. */
  const shared = share(startWithConsumers);

  it('fits every screen and is accessible', async () => {
    const { service } = shared();
    const page = await openPage(service.statusUrl);
    expect(await page.locator('.summary').innerText()).toContain('zapier (user boss) has not polled for');
    expect(await page.locator('tr.stale th').innerText()).toBe('zapier stale');
    await expectEveryLook(page);
  });

  it('is accessible while it is empty', async () => {
    const { statusUrl } = await startService();
    const page = await openPage(statusUrl);
    expect(await page.locator('.summary').innerText()).toContain('No consumer has polled yet.');
    expect(await findOverflow(page)).toEqual([]);
    await expectAccessible(page);
  });

  it('is red where a consumer is stale, and red alone does not say it', async () => {
    const { service } = shared();
    const page = await openPage(service.statusUrl);
    const colour = (selector: string) =>
      page.evaluate<number[]>(
        `getComputedStyle(document.querySelector('${selector}')).backgroundColor.match(/\\d+/g).map(Number)`,
      );
    const [red = 0, green = 0, blue = 0] = await colour('tr.stale .badge');
    expect(red).toBeGreaterThan(2 * Math.max(green, blue));
    const [rowRed = 0, rowGreen = 0] = await colour('tr.stale');
    expect(rowRed).toBeGreaterThan(rowGreen);
    expect(await page.locator('tr.stale .badge').innerText()).toBe('stale');
    expect(await page.title()).toBe('(2) Leadtap status');
  });

  it('refreshes itself without flicker: nodes, scroll position, focus and selection stay', async () => {
    const { service, clock, clients } = await startWithConsumers();
    const page = await openWithTimers(service, { screen: 'phone' });
    await page.evaluate(`
      scrollTo(0, 900);
      document.querySelector('footer a').focus({ preventScroll: true });
      getSelection().selectAllChildren(document.querySelector('[data-key="token-2 north-lead"] th'));
      window.seen = document.elementFromPoint(180, 80);
      window.seenAt = Math.round(window.seen.getBoundingClientRect().top);
      window.kept = [...document.querySelectorAll('main *')];
      window.removed = [];
      new MutationObserver((changes) => {
        for (const change of changes) for (const node of change.removedNodes) window.removed.push(node.nodeName);
      }).observe(document.body, { subtree: true, childList: true });`);
    const [, n8n] = clients;
    await n8n();
    await writePolls(service);
    clock.advance(1000);
    await refresh(page, clock);
    expect(await page.locator('[data-key="token-2 north-lead"] td').nth(1).innerText()).toMatch(/^1 s ago/);
    const after = await page.evaluate(`({
      moved: Math.round(window.seen.getBoundingClientRect().top) - window.seenAt,
      focus: document.activeElement.textContent,
      selection: getSelection().toString().trim(),
      lost: window.kept.filter((element) => !element.isConnected).length,
      removed: window.removed,
    })`);
    expect(after).toEqual({ moved: 0, focus: 'status.json', selection: 'n8n', lost: 0, removed: [] });
  });

  it('adds new consumers, moves those that became stale, and changes the sentence', async () => {
    const { service, clock, pollAll, clients } = await startWithConsumers();
    const page = await openWithTimers(service);
    const names = () => page.locator('.consumers tbody th').allInnerTexts();
    expect((await names()).map((name) => name.slice(0, 6))).toEqual(['zapier', 'make', 'a-toke', 'n8n']);
    await page.evaluate(
      `for (const row of document.querySelectorAll('.consumers tbody tr')) row.isKept = true`,
    );
    const another = await addClient(service, 'seller', 'token-5', 'pipedream');
    const [zapier, , make, longName] = clients;
    await pollAll([zapier, make, longName, another]);
    await pollAll([zapier, make, longName, another]);
    await refresh(page, clock);
    expect((await names()).map((name) => name.slice(0, 6))).toEqual([
      ...['n8n st', 'make', 'a-toke', 'pipedr', 'zapier'],
    ]);
    const kept = await page.evaluate(
      `[...document.querySelectorAll('.consumers tbody tr')].map((row) => row.isKept === true)`,
    );
    expect(kept).toEqual([true, true, true, false, true]);
    expect(await page.locator('.summary').innerText()).toMatch(/^n8n \(user north-lead\) has not polled for/);
  });

  it('says instead of its summary that the instance does not answer, keeps the figures, and recovers', async () => {
    const { service, clock } = await startWithConsumers();
    const page = await openWithTimers(service, { expectedErrors: /status 503|ERR_FAILED/ });
    const summary = page.locator('.summary');
    const before = { text: await summary.innerText(), title: await page.title() };
    await page.route('**/status', (route) => route.abort());
    await page.clock.runFor(REFRESH_MS);
    await page.locator('.summary:has-text("does not answer")').waitFor();
    expect(await summary.innerText()).toBe(
      'This instance does not answer. The figures are of 2 Mar 09:34:00 UTC. Trying again every 5 seconds.',
    );
    expect(await page.title()).toBe('No answer: Leadtap status');
    expect(await page.locator('.consumers tbody tr').count()).toBe(4);
    await expectAccessible(page);
    await page.unroute('**/status');
    clock.advance(1000);
    await refresh(page, clock);
    expect(await summary.innerText()).toContain('zapier (user boss) has not polled for');
    expect(await page.title()).toBe(before.title);
  });

  it('shows each id in one line, and long names in several, on every screen', async () => {
    const { service, poll } = await startWithLongIds();
    await poll();
    await writePolls(service);
    const page = await openPage(service.statusUrl);
    for (const viewport of Object.values(VIEWPORTS)) {
      await page.setViewportSize(viewport);
      const lines = await page.evaluate<number[]>(
        `[...document.querySelectorAll('.id')].map((id) => id.getClientRects().length)`,
      );
      expect(lines).toEqual([1, 1]);
      const isCut = `[...document.querySelectorAll('.id')].some((id) => id.scrollWidth > id.clientWidth)`;
      expect(await page.evaluate(isCut)).toBe(false);
      expect(await findOverflow(page)).toEqual([]);
    }
  });

  it('can be read on paper', async () => {
    const { service } = shared();
    const page = await openPage(service.statusUrl);
    await page.emulateMedia({ media: 'print' });
    expect(await page.locator('footer').isVisible()).toBe(false);
    expect(await page.locator('.consumers tbody tr').count()).toBe(4);
    expect(await findOverflow(page)).toEqual([]);
  });

  it('refreshes also while its tab is hidden, so that the title says what is wrong', async () => {
    const { service } = shared();
    const page = await openWithTimers(service);
    await page.evaluate(`Object.defineProperty(document, 'hidden', { get: () => true })`);
    const refreshed = page.waitForResponse('**/status');
    await page.clock.runFor(REFRESH_MS);
    await refreshed;
  });

  it('shows local times beside UTC', async () => {
    const { service, clock } = await startWithConsumers();
    const page = await openWithTimers(service, { context: { timezoneId: 'Asia/Kolkata' } });
    const header = page.locator('.refreshed time');
    expect(await header.innerText()).toBe('2 Mar 09:34:00 UTC (15:04:00 GMT+5:30)');
    clock.advance(10 * 3_600_000);
    await refresh(page, clock);
    expect(await header.innerText()).toBe('2 Mar 19:34:00 UTC (3 Mar 01:04:00 GMT+5:30)');
    const lastPoll = page.locator('[data-key="token-2 north-lead"] td time').first();
    expect(await lastPoll.getAttribute('title')).toBe('2 Mar 09:33:00 UTC (15:03:00 GMT+5:30)');
    await expectEveryLook(page);
  });

  it('keeps what was opened, in every state of a bad night', async () => {
    const { service, clock, failAll } = await startBadNight();
    const page = await openWithTimers(service);
    expect(await page.locator('.finding.error').count()).toBeGreaterThan(1);
    expect(await page.locator('.finding.warning').count()).toBe(2);
    const details = page.locator('details');
    await details.locator('summary').click();
    const older = details.locator('tbody tr').first();
    await older.waitFor({ state: 'visible' });
    clock.advance(1000);
    await failAll(1);
    await refresh(page, clock);
    expect(await older.isVisible()).toBe(true);
    await expectEveryLook(page);
  });

  it('is a snapshot without JavaScript', async () => {
    const { service } = shared();
    const page = await openPage(service.statusUrl, { javaScript: 'off' });
    expect(await page.locator('.refreshed').innerText()).toMatch(/^Snapshot of 2 Mar 09:34:00 UTC · Reload$/);
    expect(await page.locator('.consumers tbody tr').count()).toBe(4);
    await page.locator('.refreshed a').click();
    expect(await page.locator('.summary').innerText()).toContain('zapier');
  });

  it('shows hostile names as text', async () => {
    const clock = manualClock();
    const service = await startService({ clock });
    const name = '<img src=x onerror=alert(1)>';
    const poll = await addClient(service, 'boss', 'token-1', name);
    await poll();
    await writePolls(service);
    const page = await openWithTimers(service);
    clock.advance(1000);
    await refresh(page, clock);
    expect(await page.locator('tbody th').innerText()).toBe(name);
    expect(await page.locator('img').count()).toBe(0);
  });
});
