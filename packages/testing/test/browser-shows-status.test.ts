import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { addClient, writePolls } from '../../server/test/status/support/status.ts';
import { expectAccessible, expectEveryLook } from '../browser/accessibility.ts';
import { findOverflow, openPage, type PageOptions, VIEWPORTS } from '../browser/page.ts';
import { manualClock } from '../harness/manual-clock.ts';
import { startService, type TestService } from '../harness/service.ts';

const REFRESH_MS = 5000;

/** Consumers of all kinds: active, stale, refused, and with a long name. */
async function startWithConsumers() {
  const clock = manualClock();
  const service = await startService({ clock });
  await service.add({}, {}, {});
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
  await pollAll(clients);
  await pollAll(clients);
  await pollAll(clients.slice(1));
  await pollAll(clients.slice(1));
  return { service, clock, clients, pollAll };
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

const refreshedAt = (page: Page) => page.getAttribute('.refreshed time', 'datetime');

/** Lets the page refresh itself, and waits for the answer. */
async function refresh(page: Page): Promise<void> {
  const before = await refreshedAt(page);
  await page.clock.runFor(REFRESH_MS);
  await page.locator(`.refreshed time:not([datetime="${before}"])`).waitFor();
}

describe('the status page in a browser', () => {
  it('fits every screen and is accessible', async () => {
    const { service } = await startWithConsumers();
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

  it('shows the last 24 hours, and keeps showing them', async () => {
    const { service, clock } = await startWithConsumers();
    const page = await openWithTimers(service);
    await page.click('text=Last 24 hours');
    const title = page.locator('.plot-title').nth(2);
    expect(await title.innerText()).toBe('Leads in per hour');
    clock.advance(1000);
    await refresh(page);
    expect(await title.innerText()).toBe('Leads in per hour');
    expect(await page.locator('nav [aria-current]').innerText()).toBe('Last 24 hours');
  });

  it('is red where a consumer is stale, and red alone does not say it', async () => {
    const { service } = await startWithConsumers();
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
    expect(await page.title()).toBe('(1) Leadtap status');
  });

  it('refreshes itself without flicker: nodes, scroll position, focus and selection stay', async () => {
    const { service, clock, clients } = await startWithConsumers();
    const page = await openWithTimers(service, { screen: 'phone' });
    await page.evaluate(`
      scrollTo(0, 900);
      document.querySelector('footer a').focus({ preventScroll: true });
      getSelection().selectAllChildren(document.querySelector('[data-key="token-2 north-lead"] th'));
      window.kept = [...document.querySelectorAll('main *')];
      window.removed = [];
      new MutationObserver((changes) => {
        for (const change of changes) for (const node of change.removedNodes) window.removed.push(node.nodeName);
      }).observe(document.body, { subtree: true, childList: true });`);
    const [, n8n] = clients;
    await n8n();
    await writePolls(service);
    clock.advance(1000);
    await refresh(page);
    expect(await page.locator('[data-key="token-2 north-lead"] td').nth(1).innerText()).toMatch(/^1 s ago/);
    const after = await page.evaluate(`({
      scrolled: scrollY,
      focus: document.activeElement.textContent,
      selection: getSelection().toString().trim(),
      lost: window.kept.filter((element) => !element.isConnected).length,
      removed: window.removed,
    })`);
    expect(after).toEqual({ scrolled: 900, focus: 'status.json', selection: 'n8n', lost: 0, removed: [] });
  });

  it('adds new consumers, moves those that became stale, and changes the sentence', async () => {
    const { service, pollAll, clients } = await startWithConsumers();
    const page = await openWithTimers(service);
    const names = () => page.locator('tbody th').allInnerTexts();
    expect((await names()).map((name) => name.slice(0, 6))).toEqual(['zapier', 'a-toke', 'make', 'n8n']);
    await page.evaluate(`for (const row of document.querySelectorAll('tbody tr')) row.isKept = true`);
    const another = await addClient(service, 'seller', 'token-5', 'pipedream');
    const [zapier, , make, longName] = clients;
    await pollAll([zapier, make, longName, another]);
    await pollAll([zapier, make, longName, another]);
    await refresh(page);
    expect((await names()).map((name) => name.slice(0, 6))).toEqual([
      ...['n8n st', 'a-toke', 'make', 'pipedr', 'zapier'],
    ]);
    const kept = await page.evaluate(
      `[...document.querySelectorAll('tbody tr')].map((row) => row.isKept === true)`,
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
    expect(await page.locator('tbody tr').count()).toBe(4);
    await expectAccessible(page);
    await page.unroute('**/status');
    clock.advance(1000);
    await refresh(page);
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

  it('can be read in forced colours and on paper', async () => {
    const { service } = await startWithConsumers();
    const page = await openPage(service.statusUrl);
    await page.emulateMedia({ forcedColors: 'active' });
    const bar = `getComputedStyle(document.querySelector('.hours .bar')).fill`;
    const text = `getComputedStyle(document.body).color`;
    expect(await page.evaluate(bar)).toBe(await page.evaluate(text));
    await page.emulateMedia({ forcedColors: 'none', media: 'print' });
    expect(await page.locator('nav').isVisible()).toBe(false);
    expect(await page.locator('tbody tr').count()).toBe(4);
    expect(await findOverflow(page)).toEqual([]);
  });

  it('asks nothing while its tab is hidden', async () => {
    const { service } = await startWithConsumers();
    const page = await openWithTimers(service);
    const requests: string[] = [];
    page.on('request', (request) => requests.push(request.url()));
    await page.evaluate(`Object.defineProperty(document, 'hidden', { get: () => window.isHidden === true });
      window.isHidden = true`);
    await page.clock.runFor(4 * REFRESH_MS);
    expect(requests).toEqual([]);
    const refreshed = page.waitForResponse('**/status');
    await page.evaluate(`window.isHidden = false; document.dispatchEvent(new Event('visibilitychange'))`);
    await refreshed;
    expect(requests).toHaveLength(1);
  });

  it('is a snapshot without JavaScript', async () => {
    const { service } = await startWithConsumers();
    const page = await openPage(service.statusUrl, { javaScript: 'off' });
    expect(await page.locator('.refreshed').innerText()).toMatch(/^Snapshot of 2 Mar 09:34:00 UTC · Reload$/);
    expect(await page.locator('tbody tr').count()).toBe(4);
    expect(await page.locator('figure svg').count()).toBe(4);
    await page.locator('.refreshed a').click();
    expect(await page.locator('.summary').innerText()).toContain('zapier');
  });

  it('shows hostile names as text', async () => {
    const service = await startService();
    const name = '<img src=x onerror=alert(1)>';
    const poll = await addClient(service, 'boss', 'token-1', name);
    await poll();
    await writePolls(service);
    const page = await openWithTimers(service);
    await refresh(page);
    expect(await page.locator('tbody th').innerText()).toBe(name);
    expect(await page.locator('img').count()).toBe(0);
  });
});
