import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { expectAccessible, expectEveryLook } from '../../testing/browser/accessibility.ts';
import { openPage } from '../../testing/browser/page.ts';
import { startService, type TestService } from '../../testing/harness/service.ts';
import {
  addAutomation,
  countConsumersRequests,
  isConsumersRequest,
  letTimersFire,
  setHidden,
} from './support/automation.ts';
import { consumer, diagnose } from './support/diagnosis.ts';
import { openTab, showTab } from './support/open-tab.ts';

const HOUR_MS = 3_600_000;
/** The page reads the list again after this time. */
const INTERVAL_MS = 30_000;

const iso = (ms: number): string => new Date(ms).toISOString();
const whoHasIt = (page: Page) => page.getByRole('region', { name: 'Who has it' });
const chips = (page: Page) => whoHasIt(page).getByRole('listitem');
const textOf = async (page: Page): Promise<string[]> => {
  await chips(page).first().waitFor();
  return (await chips(page).allInnerTexts()).map((text) => text.replace(/\s+/g, ' ').trim());
};
/** The sentence of one of them. */
const open = async (page: Page, name: string): Promise<string> => {
  await whoHasIt(page)
    .getByRole('button', { name: new RegExp(`^${name}`) })
    .click();
  return (await whoHasIt(page).locator('.chip-sentence').innerText()).replace(/\s+/g, ' ');
};

/** The console with the newest lead opened. */
const openLead = async (service: TestService) => {
  const page = await openTab(service, 'Leads');
  await page.getByRole('heading', { level: 1, name: 'Ada' }).waitFor();
  return page;
};

const addAda = async (service: TestService): Promise<number> => {
  const [createdAt = 0] = await service.add({ id: 'ada', fields: { firstName: 'Ada' } });
  return createdAt;
};

describe('a lead says who has it', () => {
  it('confirmed, delivered, waiting, skipped, unknown and too early: chips, with a sentence that is true', async () => {
    const service = await startService({ env: { LEADTAP_BASE_PATH: '/api' } });
    const [before = 0] = await service.add({ fields: { firstName: 'Before' } });
    const n8n = await addAutomation(service, 'n8n, sales');
    const make = await addAutomation(service, 'Make');
    const zapier = await addAutomation(service, 'Zapier');
    const idle = await addAutomation(service, 'Idle');
    const late = await addAutomation(service, 'Late');
    const skips = await addAutomation(service, 'Skips');
    const newest = await addAutomation(service, 'Newest only');
    for (const { poll } of [n8n, make, idle, skips]) await poll(`since=${iso(before)}`);
    for (const { poll } of [zapier, newest]) await poll();
    const createdAt = await addAda(service);
    for (const { poll } of [n8n, make]) await poll(`since=${iso(before)}`);
    await n8n.poll(`since=${iso(createdAt)}`);
    await zapier.poll();
    const [newer = 0] = await service.add({ fields: { firstName: 'Newer' } });
    await late.poll(`since=${iso(newer)}`);
    await newest.poll('limit=1');
    // It gets a later lead as usual, which does not hide that it never got this one.
    await skips.poll(`since=${iso(newer)}`);
    const [last = 0] = await service.add({ fields: { firstName: 'Last' } });
    await skips.poll(`since=${iso(newer)}`);
    await skips.poll(`since=${iso(last)}`);
    const page = await openTab(service, 'Leads');
    await page.getByRole('link', { name: /^Ada/ }).click();
    await chips(page).nth(6).waitFor();
    expect(await textOf(page)).toEqual([
      'Newest only not known',
      'Skips skipped',
      'Idle 3 behind',
      'Late not sent',
      'Make ✓',
      'Zapier ✓',
      'n8n, sales ✓',
    ]);
    expect(await open(page, 'Idle')).toMatch(
      /^Idle does not have it yet: 3 leads wait; polled \d+ (s|min) ago\./,
    );
    expect(await open(page, 'Late')).toBe('Late was never sent it: it started after this lead.');
    expect(await open(page, 'Make')).toBe('Make received it. One of its next polls confirms it.');
    expect(await open(page, 'Newest only')).toMatch(/^Newest only may not have it: it polls without since/);
    expect(await open(page, 'Skips')).toMatch(
      /^Skips may not have it: it asked for what comes after it, or had got later leads/,
    );
    expect(await open(page, 'Zapier')).toMatch(/^Zapier received it\. It polls without since/);
    expect(await open(page, 'n8n')).toBe('n8n, sales has it, and has confirmed it.');
    await expectEveryLook(page);
    // A second time closes it.
    await page.keyboard.press('Enter');
    await whoHasIt(page).locator('.chip-sentence').waitFor({ state: 'hidden' });
  });

  it('says why it waits and what to do, as the service says it', async () => {
    const service = await startService();
    const { poll } = await addAutomation(service, 'n8n');
    await poll();
    expect(await poll('limit=0')).toBe(400);
    await addAda(service);
    const page = await openLead(service);
    expect(await textOf(page)).toEqual(['n8n 1 behind']);
    expect(await open(page, 'n8n')).toMatch(/^n8n does not have it yet: .*refused.*400.*\. \w.+/);
    await expectEveryLook(page);
  });

  it('has those without it first, and folds the others if there are many', async () => {
    const service = await startService();
    const createdAt = await addAda(service);
    const page = await openPage(service.url);
    const state = (index: number) =>
      index % 10 === 0 ? {} : { confirmedThrough: iso(createdAt), deliveredThrough: iso(createdAt) };
    const consumers = Array.from({ length: 300 }, (_, index) =>
      consumer(`n8n ${index}`, 'good', 'All leads were picked up.', {
        ...{ firstPollAt: iso(createdAt - HOUR_MS), ...state(index) },
      }),
    );
    await diagnose(page, () => ({ summary: { level: 'good', message: 'Good.' }, consumers }));
    await page.evaluate(`location.hash = '#token=${await service.token('boss')}'`);
    await showTab(page, 'Leads');
    const shown = await textOf(page);
    expect(shown).toHaveLength(31);
    expect(shown[0]).toBe('n8n 0 not yet');
    expect(shown.at(-1)).toBe('+ 270 have it ✓');
    await expectEveryLook(page);
    const fold = whoHasIt(page).getByRole('button', { name: '+ 270 have it' });
    await fold.click();
    expect((await textOf(page))[30]).toBe('n8n 1 ✓');
    expect(await fold.getAttribute('aria-expanded')).toBe('true');
    expect(await chips(page).count()).toBe(301);
    await fold.click();
    expect(await chips(page).count()).toBe(31);
  });

  it('shows no ✓ for a consumer that received it, stopped, and has not confirmed it', async () => {
    const service = await startService();
    const createdAt = await addAda(service);
    const polls = { userId: 'boss', tokenId: 'stopped', tokenExpiresAt: null, lastStatus: 200, polls: 1 };
    const positions = { heldUntil: null, confirmedThrough: createdAt - 1, deliveredThrough: createdAt };
    const sent = [{ after: createdAt - 1, through: createdAt }];
    for (let minutes = 60; minutes > 40; minutes -= 2)
      await service.store.consumers.record([
        { ...polls, ...positions, lastPollAt: Date.now() - minutes * 60_000, sent },
      ]);
    const page = await openLead(service);
    expect(await textOf(page)).toEqual(['stopped not confirmed']);
    expect(await open(page, 'stopped')).toMatch(
      /^stopped received it, and does not confirm it: has not polled for 4\d min/,
    );
  });

  it('does not say that a consumer has history that was imported after its polls', async () => {
    const service = await startService();
    const { poll } = await addAutomation(service, 'n8n');
    await poll();
    const [newest = 0] = await service.add({ fields: { firstName: 'New' } });
    await poll(`since=${iso(newest)}`);
    const history = { companyId: 'acme', createdAt: Date.UTC(2025, 0), fields: { firstName: 'Ada' } };
    await service.store.writeLeads([history], { historical: true });
    const page = await openTab(service, 'Leads');
    await page.getByRole('link', { name: /^Ada/ }).click();
    await page.getByRole('heading', { level: 1, name: 'Ada' }).waitFor();
    expect(await open(page, 'n8n')).toContain('was never sent it: this lead was imported as history');
  });

  it('leads to Connect if no automation polls', async () => {
    const service = await startService();
    await addAda(service);
    const page = await openLead(service);
    await page.getByText('No automation gets leads with a token of this user.').waitFor();
    await expectEveryLook(page);
    await page.getByRole('link', { name: 'Connect a platform' }).click();
    await page.getByRole('heading', { name: 'Connect a platform' }).waitFor();
  });

  it('says that the service does not record it', async () => {
    const service = await startService({ env: { LEADTAP_CONSUMERS: 'off' } });
    await addAda(service);
    const page = await openLead(service);
    await page.getByText('This service does not record who polls.').waitFor();
    const count = countConsumersRequests(page);
    await page.clock.setFixedTime(Date.now() + HOUR_MS);
    await letTimersFire(page);
    expect(count()).toBe(0);
  });
});

describe('who has it costs few requests', () => {
  it('no other one for another lead, again every 30 seconds, and none in the background', async () => {
    const service = await startService();
    const { poll } = await addAutomation(service, 'n8n');
    await poll();
    const old = [0, 1, 2, 3, 4].map((index) => ({
      companyId: 'acme',
      createdAt: Date.now() - HOUR_MS + index,
      fields: { firstName: `Ada ${index}` },
    }));
    await service.store.writeLeads(old, { historical: true });
    const now = Date.now();
    const page = await openTab(service, 'Leads', { fixedTime: now });
    await chips(page).first().waitFor();
    await page.getByRole('navigation').getByRole('link', { name: 'Explore' }).click();
    const count = countConsumersRequests(page);
    await page.getByRole('navigation').getByRole('link', { name: 'Leads' }).click();
    await chips(page).first().waitFor();
    for (let index = 3; index >= 0; index -= 1) {
      await page.keyboard.press('j');
      await page.getByRole('heading', { level: 1, name: `Ada ${index}` }).waitFor();
      await chips(page).first().waitFor();
    }
    expect(count()).toBe(0);
    const again = page.waitForResponse(isConsumersRequest);
    await page.clock.setFixedTime(now + INTERVAL_MS);
    await again;
    await setHidden(page, true);
    await page.clock.setFixedTime(now + 4 * INTERVAL_MS);
    await letTimersFire(page);
    expect(count()).toBe(1);
    const back = page.waitForResponse(isConsumersRequest);
    await setHidden(page, false);
    await back;
    expect(count()).toBe(2);
    await page.getByRole('navigation').getByRole('link', { name: 'Explore' }).click();
    await page.getByRole('button', { name: 'Send', exact: true }).waitFor();
    await page.clock.setFixedTime(now + 8 * INTERVAL_MS);
    await letTimersFire(page);
    expect(count()).toBe(2);
  });

  it('another one for a lead that is newer than the list', async () => {
    const service = await startService();
    const { poll } = await addAutomation(service, 'n8n');
    await poll();
    await addAda(service);
    const page = await openLead(service);
    expect(await textOf(page)).toEqual(['n8n 1 behind']);
    const asked = page.waitForRequest(isConsumersRequest);
    await service.add({ fields: { firstName: 'Newest' } });
    await poll();
    await page.getByRole('link', { name: /^Newest/ }).click();
    await asked;
    await chips(page).getByText('✓').waitFor();
  });

  it('none if few are left, which are for the automations', async () => {
    const userPolicies = [{ name: 'hour', quota: 150, windowS: 3600 }];
    const service = await startService({ limits: { userPolicies } });
    await addAda(service);
    const page = await openTab(service, 'Explore');
    await page.getByText(/^last lead/).waitFor();
    const count = countConsumersRequests(page);
    await page.getByRole('navigation').getByRole('link', { name: 'Leads' }).click();
    await page.getByText('Not checked now: few requests are left this hour').waitFor();
    expect(count()).toBe(0);
    await expectAccessible(page);
  });

  it('says so while the service cannot be reached, and continues', async () => {
    const service = await startService();
    await addAda(service);
    const page = await openTab(service, 'Explore');
    await page.getByText(/^last lead/).waitFor();
    await page.route('**/automation/consumers', (route) => route.abort());
    await page.getByRole('navigation').getByRole('link', { name: 'Leads' }).click();
    await whoHasIt(page).getByText('The service cannot be reached. It is checked again.').waitFor();
    await page.unroute('**/automation/consumers');
    await page.clock.setFixedTime(Date.now() + INTERVAL_MS);
    await page.getByText('No automation gets leads with a token of this user.').waitFor();
  });
});
