import type { Consumer, Consumers } from '@leadtap/contract';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { expectAccessible, expectEveryLook } from '../../testing/browser/accessibility.ts';
import { startService, type TestService } from '../../testing/harness/service.ts';
import { share } from '../../testing/harness/shared.ts';
import {
  addAutomation,
  countConsumersRequests,
  isConsumersRequest,
  letTimersFire,
  setHidden,
} from './support/automation.ts';
import { openTab } from './support/open-tab.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** The page reads the list again after this time. */
const INTERVAL_MS = 30_000;

const iso = (ms: number): string => new Date(ms).toISOString();
const whoHasIt = (page: Page) => page.getByRole('region', { name: 'Who has it' });
const rows = (page: Page) => whoHasIt(page).getByRole('listitem');
/** As a person reads it: without the texts that are for screen readers only. */
const textOf = async (page: Page): Promise<string[]> =>
  (await rows(page).allInnerTexts()).map((text) =>
    text
      .replace(/\d+ \w+ 20\d\d, [\d:]+ UTC/g, '')
      .replace(/\s+/g, ' ')
      .replace(/ (?=[.,:])/g, ''),
  );

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
  it('confirmed, delivered, waiting, skipped, unknown and too early, each in words that are true', async () => {
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
    await rows(page).nth(6).waitFor();
    expect(await textOf(page)).toEqual([
      expect.stringMatching(
        /^○ “Idle” does not have it yet: it last polled (now|\d+ (s|min) ago), before this lead came\. It gets it with its next poll\.$/,
      ),
      expect.stringMatching(/^– “Late” was never sent it: it started after this lead\.$/),
      expect.stringMatching(
        /^✓ “Make” received it at [\d:]+ \(.+\) or earlier; not confirmed yet\. One of its next polls confirms it\.$/,
      ),
      expect.stringMatching(
        /^\? “Newest only” may not have it: it polls without since, and more leads came than its poll got\./,
      ),
      expect.stringMatching(
        /^✗ “Skips” does not have it: it asked for what comes after it; it was never sent to it\. Add this lead/,
      ),
      expect.stringMatching(
        /^✓ “Zapier” received it at [\d:]+ \(.+\) or earlier\. It polls without since, so it never confirms/,
      ),
      expect.stringMatching(/^✓ “n8n, sales” has it, since [\d:]+ \(.+\) or earlier\.$/),
    ]);
    await expectEveryLook(page);
  });

  it('keeps the first time at which a consumer was known to have it', async () => {
    const service = await startService();
    const { poll, recordPoll } = await addAutomation(service, 'n8n');
    const polledAt = Date.now() - 5 * MINUTE_MS;
    await recordPoll({ lastPollAt: polledAt - HOUR_MS });
    const [createdAt = 0] = await service.add({ id: 'ada', fields: { firstName: 'Ada' } });
    await recordPoll({ lastPollAt: polledAt, confirmedThrough: createdAt });
    const page = await openLead(service);
    const text = `has it, since ${iso(polledAt).slice(11, 19)}`;
    await page.getByText(text).waitFor();
    await poll(`since=${iso(createdAt)}`);
    const answered = page.waitForResponse(isConsumersRequest);
    await page.clock.setFixedTime(Date.now() + INTERVAL_MS);
    await answered;
    await page.getByText(text).waitFor();
  });

  it('says why not, and what to do: a request that is not valid', async () => {
    const service = await startService();
    const { poll } = await addAutomation(service, 'n8n');
    await poll('limit=0');
    await addAda(service);
    const page = await openLead(service);
    await rows(page).first().waitFor();
    expect(await textOf(page)).toEqual([
      expect.stringMatching(
        /^! “n8n” does not have it: its last poll, .+, got no leads: something in the request is not valid \(400\)\. Compare its settings with the steps in Connect\.$/,
      ),
    ]);
  });

  it('says why not, and what to do: no poll for hours', async () => {
    const service = await startService();
    const { recordPoll } = await addAutomation(service, 'n8n');
    const stoppedAt = Date.now() - 3 * HOUR_MS;
    await recordPoll({ lastPollAt: stoppedAt - 20 * MINUTE_MS });
    await recordPoll({ lastPollAt: stoppedAt });
    await addAda(service);
    const page = await openLead(service);
    await rows(page).first().waitFor();
    expect(await textOf(page)).toEqual([
      expect.stringMatching(
        /^! “n8n” does not have it: it stopped polling 3 h ago\. Check that the automation is switched on\./,
      ),
    ]);
    await expectEveryLook(page);
  });

  const HOOK = {
    count: 1,
    ...({ send: 'event', id: null, host: null } as const),
    state: 'active',
    announcedThrough: '2026-01-01T00:00:00.000Z',
    lastEventAt: null,
    lastStatus: null,
    failures: 0,
    failingSince: null,
  } as const;
  const SUBSCRIBED: Partial<Consumer> = {
    ...{ firstPollAt: null, lastPollAt: null, lastStatus: null, usualIntervalS: null },
    ...{ confirmedThrough: null, deliveredThrough: null, pendingLeads: 0 },
    state: 'subscribed',
  };

  /** What the service lists is replaced where it would take a platform that fails for hours. */
  const replaced = share(async (whenDone) => {
    const service = await startService({ whenDone });
    const { poll } = await addAutomation(service, 'n8n');
    await poll();
    await addAda(service);
    let now = Date.now();
    const page = await openTab(service, 'Leads', { whenDone, fixedTime: now });
    await rows(page).first().waitFor();
    let changes: Partial<Consumer> = {};
    await page.route('**/automation/consumers', async (route) => {
      const response = await route.fetch();
      const { consumers } = (await response.json()) as Consumers;
      const json = { consumers: consumers.map((consumer) => ({ ...consumer, ...changes })) };
      await route.fulfill({ response, json });
    });
    return async (next: Partial<Consumer>): Promise<Page> => {
      changes = next;
      now += INTERVAL_MS;
      await page.clock.setFixedTime(now);
      return page;
    };
  });

  it.each<[string, Partial<Consumer>, RegExp]>([
    ['403', { lastStatus: 403 }, /its user or token may not read leads \(403\)\. Ask the operator/],
    ['429', { lastStatus: 429 }, /too many requests \(429\)\. Let it poll less often\./],
    ['503', { lastStatus: 503 }, /the service could not answer \(503\)\. It polls again by itself\./],
    [
      'disabled',
      { hook: { ...HOOK, state: 'disabled', failures: 30, lastStatus: 410 } },
      /its webhook was switched off after 30 failures \(last status 410\)\. Switch the automation off and on again/,
    ],
    [
      'failing',
      { hook: { ...HOOK, state: 'failing', failures: 2 } },
      /its webhook fails\. The service tries again by itself\./,
    ],
    [
      'not announced yet',
      { ...SUBSCRIBED, hook: HOOK },
      /^○ “n8n” does not have it yet: its webhook gets the event now\. It polls when/,
    ],
    [
      'announced, and no poll',
      {
        ...SUBSCRIBED,
        hook: {
          ...HOOK,
          announcedThrough: '2100-01-01T00:00:00.000Z',
          lastEventAt: '2026-01-01T00:00:00.000Z',
        },
      },
      /^! “n8n” does not have it: its webhook got the event \d+ days ago, but it has not polled since\. Check/,
    ],
    [
      'it reads older leads',
      { pendingLeads: 3, lastPollAt: '2100-01-01T00:00:00.000Z' },
      /it polls, but first reads older leads\. 3 leads are pending for it\./,
    ],
    [
      'it has got it and stopped',
      {
        state: 'stale',
        deliveredThrough: '2100-01-01T00:00:00.000Z',
        confirmedThrough: '2026-01-01T00:00:00.000Z',
        firstPollAt: '2026-01-01T00:00:00.000Z',
      },
      /^✓ .+; not confirmed yet\. It stopped polling \d+ .+ ago: look in the platform for errors\.$/,
    ],
    [
      'it no longer counts',
      { state: 'inactive' },
      /it stopped polling .+ look there for an error 401: its token may have expired\.$/,
    ],
    [
      'it has stopped, and its token is that of the console, which works',
      { state: 'stale', isThisToken: true },
      /it stopped polling .+ If it is, look there for errors\.$/,
    ],
  ])('says why not: %s', async (_name, changes, expected) => {
    const page = await replaced()(changes);
    await expect.poll(() => textOf(page)).toEqual([expect.stringMatching(expected)]);
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
    await page.getByText('was never sent it: this lead was imported as history').waitFor();
  });

  it('leads to Connect if no automation polls', async () => {
    const service = await startService();
    await addAda(service);
    const page = await openLead(service);
    await page.getByText('No automation polls with a token of this user.').waitFor();
    await page.getByText('Automations of other users').waitFor();
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
    await rows(page).first().waitFor();
    await page.getByRole('navigation').getByRole('link', { name: 'Check' }).click();
    await page.getByText('It sees the whole company').waitFor();
    const count = countConsumersRequests(page);
    await page.getByRole('navigation').getByRole('link', { name: 'Leads' }).click();
    await rows(page).first().waitFor();
    for (let index = 3; index >= 0; index -= 1) {
      await page.keyboard.press('j');
      await page.getByRole('heading', { level: 1, name: `Ada ${index}` }).waitFor();
      await rows(page).first().waitFor();
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
    await page.getByText('does not have it yet').waitFor();
    const asked = page.waitForRequest(isConsumersRequest);
    await service.add({ fields: { firstName: 'Newest' } });
    await poll();
    await page.getByRole('link', { name: /^Newest/ }).click();
    await asked;
    await page.getByText('received it at').waitFor();
  });

  it('none if few are left, which are for the automations', async () => {
    const userPolicies = [{ name: 'hour', quota: 150, windowS: 3600 }];
    const service = await startService({ limits: { userPolicies } });
    await addAda(service);
    const page = await openTab(service, 'Check');
    await page.getByText('It sees the whole company').waitFor();
    const count = countConsumersRequests(page);
    await page.getByRole('navigation').getByRole('link', { name: 'Leads' }).click();
    await page.getByText('Not checked now: few requests are left this hour').waitFor();
    expect(count()).toBe(0);
    await expectAccessible(page);
  });

  it('says so while the service cannot be reached, and continues', async () => {
    const service = await startService();
    await addAda(service);
    const page = await openTab(service, 'Check');
    await page.getByText('It sees the whole company').waitFor();
    await page.route('**/automation/consumers', (route) => route.abort());
    await page.getByRole('navigation').getByRole('link', { name: 'Leads' }).click();
    await whoHasIt(page).getByText('The service cannot be reached. It is checked again.').waitFor();
    await page.unroute('**/automation/consumers');
    await page.clock.setFixedTime(Date.now() + INTERVAL_MS);
    await page.getByText('No automation polls with a token of this user.').waitFor();
  });
});
