import { StoreUnavailableError } from 'leadtap';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { expectEveryLook } from '../../testing/browser/accessibility.ts';
import { openPage } from '../../testing/browser/page.ts';
import { beforeQuestion } from '../../testing/harness/before-question.ts';
import { untilHeld } from '../../testing/harness/long-polls.ts';
import { leaveRequests, startService, type TestService } from '../../testing/harness/service.ts';
import { openTab, showTab } from './support/open-tab.ts';

const ENDPOINT = '**/automation/new-leads*';

const names = (page: Page) => page.locator('.row-name').allInnerTexts();
const live = (page: Page) => page.getByText('live', { exact: true }).waitFor();

async function openWithLead(service: TestService, options = {}): Promise<Page> {
  await service.add({ fields: { firstName: 'Kept' } });
  const page = await openTab(service, 'Leads', options);
  await page.locator('.lead-row').first().waitFor();
  await untilHeld(service);
  return page;
}

describe('before there are leads', () => {
  it('shows nothing for 200 ms, then that it loads', async () => {
    const service = await startService();
    const page = await openPage(service.url);
    await page.route(ENDPOINT, () => undefined);
    await page.evaluate(`location.hash = '#token=${await service.token('boss')}'`);
    await showTab(page, 'Leads');
    const skeleton = page.getByText('Loading the leads…');
    await skeleton.waitFor({ state: 'attached' });
    const delay = `getComputedStyle(document.querySelector('.skeleton')).animationDelay`;
    expect(await page.evaluate<string>(delay)).toBe('0.2s');
    await skeleton.waitFor();
    await expectEveryLook(page);
  });

  it('says that they appear by themselves, and gives the command that sends a test lead', async () => {
    const service = await startService();
    const page = await openTab(service, 'Leads', { clipboard: true });
    await page.getByText('They appear here by themselves.').waitFor();
    await page.getByRole('button', { name: 'Send a test lead' }).click();
    await page.getByRole('button', { name: 'Copy command' }).first().click();
    await page.getByText('copied', { exact: true }).waitFor();
    expect(await page.evaluate<string>('navigator.clipboard.readText()')).toBe(
      'npx leadtap leads send-test --company ID',
    );
    await expectEveryLook(page);
    await untilHeld(service);
    await service.add({ fields: { firstName: 'Eve' } });
    await expect.poll(() => names(page)).toEqual(['Eve']);
  });
});

describe('while they are shown', () => {
  it('keeps them when the network fails, says since when, and continues when it is back', async () => {
    const service = await startService();
    const page = await openWithLead(service);
    await page.context().setOffline(true);
    await page.getByText(/Offline since \d\d:\d\d:\d\d \(/).waitFor();
    expect(await names(page)).toEqual(['Kept']);
    await page.getByText('The leads below were loaded before.').waitFor();
    await expectEveryLook(page);
    await service.add({ fields: { firstName: 'Missed' } });
    await page.context().setOffline(false);
    await live(page);
    await expect.poll(() => names(page)).toEqual(['Missed', 'Kept']);
    expect(await page.getByText('Offline since').count()).toBe(0);
  });

  it('keeps them when the service restarts, and gets what arrived meanwhile', async () => {
    const service = await startService();
    const { port } = new URL(service.url);
    const page = await openWithLead(service);
    await service.stop();
    await page
      .getByText(/Offline since|The service cannot answer right now/)
      .first()
      .waitFor();
    expect(await names(page)).toEqual(['Kept']);
    const again = await startService({ beside: service, env: { LEADTAP_PORT: port } });
    await again.add({ fields: { firstName: 'Missed' } });
    // A button for it may be gone: the page tries again by itself.
    await page.evaluate(`dispatchEvent(new Event('online'))`);
    await expect.poll(() => names(page)).toEqual(['Missed', 'Kept']);
  });

  it('notices a service that has stopped at once, on every tab, and that it is back', async () => {
    const service = await startService();
    const { port } = new URL(service.url);
    const page = await openWithLead(service);
    await page.clock.install();
    await service.stop();
    // The held request ended early, so that no time passes until the page says so.
    await page.getByText(/Offline since/).waitFor();
    expect(await page.getByRole('region', { name: 'Connection' }).innerText()).toContain('cannot be reached');
    const again = await startService({ beside: service, env: { LEADTAP_PORT: port } });
    await page.getByRole('navigation').getByRole('link', { name: 'Explore' }).click();
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByText('200', { exact: true }).waitFor();
    await live(page);
    await untilHeld(again);
    await page.route(ENDPOINT, (route) => route.abort('connectionrefused'));
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByRole('region', { name: 'Answer' }).getByText('The service cannot be reached').waitFor();
    await page.getByRole('region', { name: 'Connection' }).getByText('cannot be reached').waitFor();
  });

  it('learns from a proxy that cuts silent requests after 8 s, and stays live', async () => {
    const service = await startService();
    await service.add({ fields: { firstName: 'Kept' } });
    const page = await openPage(service.url);
    // The clock of the page stands, so that the proxy cuts after 8 seconds on a slow machine too.
    await page.clock.install();
    await page.clock.pauseAt(Date.now() + 60_000);
    const waits: (string | undefined)[] = [];
    let cut: (() => Promise<void>) | undefined;
    await page.route(ENDPOINT, async (route) => {
      const { prefer } = route.request().headers();
      waits.push(prefer);
      if (prefer !== 'wait=50') return route.continue();
      cut = () => route.fulfill({ status: 504, contentType: 'text/html', body: 'Gateway Time-out' });
    });
    await page.evaluate(`location.hash = '#token=${await service.token('boss')}'`);
    await expect.poll(() => cut).toBeDefined();
    await page.clock.runFor(8_000);
    await cut?.();
    await untilHeld(service);
    // More follow after 4 seconds.
    expect(waits.slice(0, 4)).toEqual([undefined, 'wait=50', undefined, 'wait=4']);
    await page.clock.resume();
    await live(page);
    expect(await page.locator('.notice').count()).toBe(0);
  });

  it('counts down after too many requests, and continues by itself', async () => {
    let now = Date.now();
    // So long that the count does not end before the test looks.
    const userPolicies = [{ name: 'minute', quota: 100, windowS: 3600 }];
    const service = await startService({ limits: { clock: () => now, userPolicies } });
    await service.add({ fields: { firstName: 'Kept' } });
    const page = await openPage(service.url);
    await page.clock.install();
    await page.evaluate(`location.hash = '#token=${await service.token('boss')}'`);
    await showTab(page, 'Leads');
    await page.locator('.lead-row').waitFor();
    await untilHeld(service);
    await leaveRequests(service, 'boss', 0);
    await service.add({ fields: { firstName: 'Second' } });
    // The client leaves time between two requests, so that the limits last.
    const isCounting = async () => {
      await page.clock.fastForward('00:10');
      return page.getByText(/Continues by itself in \d+ min\./).isVisible();
    };
    await expect.poll(isCounting).toBe(true);
    const minutes = async () => Number(/in (\d+) min/.exec(await page.locator('.retry').innerText())?.[1]);
    const before = await minutes();
    await page.clock.fastForward('03:00');
    await expect.poll(minutes).toBeLessThanOrEqual(before - 3);
    await service.add({ fields: { firstName: 'Third' } });
    now += 3_600_000;
    await page.clock.fastForward('01:00:00');
    await expect.poll(() => names(page)).toEqual(['Third', 'Second', 'Kept']);
  });

  it.each([
    ['token-revoked', 'The access token was revoked.'],
    ['professional-plan-required', 'The Professional plan is required.'],
    ['user-not-found', 'The user does not exist.'],
  ])('stops with %s, keeps what was loaded, and takes another token', async (code, title) => {
    const service = await startService();
    await service.add({ fields: { firstName: 'Kept' } });
    const token = await service.token('boss', { tokenId: 'mine' });
    const page = await openTab(service, 'Leads', { token });
    await page.locator('.lead-row').first().waitFor();
    await untilHeld(service);
    if (code === 'token-revoked') await service.store.revokeToken('mine');
    else if (code === 'user-not-found') await service.store.removeUser('boss');
    else await service.store.updateUser('boss', { plan: 'STARTER' });
    await page.getByText(title).waitFor();
    // Neither limits nor a plot, as if it were connected.
    expect(await page.getByRole('region', { name: 'Connection' }).innerText()).toBe('not connected');
    expect(await page.locator('.plot').count()).toBe(0);
    if (code !== 'professional-plan-required') {
      // The person at the screen may no longer be the one who may see them.
      expect(await names(page)).toEqual([]);
      expect(await page.getByRole('main').innerText()).not.toContain('Kept');
      await page.getByRole('button', { name: 'Show the lead that was loaded before' }).click();
    }
    expect(await names(page)).toEqual(['Kept']);
    await page.getByLabel('Paste the token you were given').fill(await service.token('rival'));
    await page.keyboard.press('Enter');
    await page.getByText('No leads yet').waitFor();
  });

  it('says in every part of the page that the service cannot answer, and that it does again', async () => {
    const service = await startService();
    await service.add({ fields: { firstName: 'Kept' } });
    const page = await openTab(service, 'Leads');
    const [connection, whoHasIt] = [
      page.getByRole('region', { name: 'Connection' }),
      page.getByRole('region', { name: 'Who has it' }),
    ];
    await whoHasIt.getByText('No automation gets leads').waitFor();
    await live(page);
    await untilHeld(service);
    // The page itself asks for nothing: the service ends the held request.
    await page.clock.install();
    const recover = beforeQuestion(service.store, 'revalidate', async () => {
      throw new StoreUnavailableError('the database is down');
    });
    for (const part of [connection, page.locator('.notice'), whoHasIt])
      await part.getByText('The service cannot answer right now').waitFor();
    recover();
    await page.getByRole('button', { name: 'Try now' }).click();
    await live(page);
    await page.getByText('cannot answer right now').first().waitFor({ state: 'detached' });
    // Another request shows it first: the held one is not waited for.
    await untilHeld(service);
    const code = 'unavailable';
    const body = JSON.stringify({
      code,
      status: 503,
      title: 'The service cannot answer right now',
      detail: 'later',
      requestId: 'r-1',
    });
    await page.route(/automation/, (route) => route.fulfill({ status: 503, body }));
    await page.getByRole('navigation').getByRole('link', { name: 'Explore' }).click();
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await connection.getByText('The service cannot answer right now').waitFor();
    await page.unroute(/automation/);
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await live(page);
  });

  it('polls a service that does not hold requests', async () => {
    const service = await startService({ env: { LEADTAP_MAX_LONG_POLLS: '0' } });
    await service.add({ fields: { firstName: 'Kept' } });
    const page = await openPage(service.url);
    await page.clock.install();
    await page.evaluate(`location.hash = '#token=${await service.token('boss')}'`);
    await showTab(page, 'Leads');
    await page.getByText('checks every 15 s').waitFor();
    await service.add({ fields: { firstName: 'Second' } });
    await page.clock.fastForward('00:16');
    await expect.poll(() => names(page)).toEqual(['Second', 'Kept']);
  });
});
