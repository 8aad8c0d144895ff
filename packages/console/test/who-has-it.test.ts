import type { LeadConnections } from '@leadtap/contract';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { expectAccessible, expectEveryLook } from '../../testing/browser/accessibility.ts';
import { openPage, type PageOptions } from '../../testing/browser/page.ts';
import { startService, type TestService } from '../../testing/harness/service.ts';
import { letTimersFire, setHidden } from './support/automation.ts';
import {
  answerConnections,
  answerLead,
  connections,
  countRequests,
  isLeadRequest,
  iso,
  recordChanges,
  WEBHOOK,
  wayOut,
} from './support/connections.ts';
import { openTab, showTab } from './support/open-tab.ts';

type Fate = LeadConnections['out'][number];

/** The page asks again after this time. */
const INTERVAL_MS = 30_000;
const NOON = Date.UTC(2026, 2, 2, 12);

const fate = (
  name: string,
  state: Fate['state'],
  at: number | null = null,
  why: string | null = null,
): Fate => ({
  ...{ id: name.toLowerCase(), name, state, at: at === null ? null : iso(at), why },
});

const whoHasIt = (page: Page) => page.getByRole('region', { name: 'Who has it' });
const lines = (page: Page) => whoHasIt(page).getByRole('listitem');
const textsOf = async (page: Page): Promise<string[]> => {
  await lines(page).first().waitFor();
  return (await lines(page).allInnerTexts()).map((text) => text.replace(/\s+/g, ' ').trim());
};

/** The console with its newest lead opened. */
async function openLead(service: TestService, read: (id: string) => Fate[], options: PageOptions = {}) {
  const page = await openPage(service.url, options);
  await answerLead(page, read);
  await page.evaluate(`location.hash = '#token=${await service.token('boss')}'`);
  await showTab(page, 'Leads');
  return page;
}

describe('a lead says who has it', () => {
  it('those without it first, with the time or the reason, and leads to their logs', async () => {
    const service = await startService({ env: { LEADTAP_BASE_PATH: '/api' } });
    await service.add({ id: 'ada', fields: { firstName: 'Ada' } });
    const asked: string[] = [];
    const read = (id: string) => {
      asked.push(id);
      return [
        fate('CRM', 'missed', NOON, 'it asked past it'),
        fate('Workato', 'waiting', NOON - 180_000),
        fate('Slack', 'sent', NOON + 67_000),
        fate('Sheets', 'sent', NOON - 86_400_000),
        fate('North CRM', 'none', null, 'it came before it'),
      ];
    };
    const page = await openLead(service, read, { fixedTime: NOON });
    await lines(page).first().waitFor();
    expect(await textsOf(page)).toEqual([
      'CRM not received: it asked past it',
      expect.stringMatching(/^Workato waiting \d+ (min|days?)$/),
      expect.stringMatching(/^Slack sent .*12:01:07$/),
      expect.stringMatching(/^Sheets sent .*1 Mar.*, 12:00:00$/),
      'North CRM not meant for it: it came before it',
    ]);
    expect(asked).toEqual(['ada']);
    await expectEveryLook(page);
    await lines(page).getByRole('link', { name: 'Slack' }).click();
    expect(page.url()).toMatch(/#overview\/slack\?lead=ada$/);
  });

  it('is sent to a webhook again', async () => {
    const service = await startService();
    await service.add({ id: 'ada', fields: { firstName: 'Ada' } });
    const page = await openPage(service.url);
    await answerLead(page, () => [
      fate('CRM', 'missed'),
      fate('Poller', 'missed'),
      fate('Slack', 'sent', NOON),
    ]);
    const out = [
      wayOut('CRM', 'error', '1 not received', WEBHOOK),
      wayOut('Poller', 'error', '1 not received'),
      wayOut('Slack', 'good', '1 sent', WEBHOOK),
    ];
    await answerConnections(page, () => connections('error', '1 lead.', { out }));
    const changes = await recordChanges(page, 202);
    await page.evaluate(`location.hash = '#token=${await service.token('boss')}'`);
    await showTab(page, 'Leads');
    await whoHasIt(page).getByRole('button', { name: 'Send again' }).waitFor();
    expect(await whoHasIt(page).getByRole('button').allInnerTexts()).toEqual(['Send', 'Send again']);
    await lines(page).first().getByRole('button', { name: 'Send' }).click();
    await lines(page).first().getByText('1 lead will be sent to crm.example.com.').waitFor();
    expect(changes).toEqual(['POST crm/send {"leads":["ada"]}']);
    await expectAccessible(page);
  });

  it('folds those that need no attention if there are many', async () => {
    const service = await startService();
    await service.add({ fields: { firstName: 'Ada' } });
    const out = Array.from({ length: 300 }, (_, index) =>
      fate(`n8n ${index}`, index < 30 ? 'missed' : 'sent'),
    );
    const page = await openLead(service, () => out);
    await lines(page).first().waitFor();
    await expectEveryLook(page);
    expect(await lines(page).filter({ visible: true }).count()).toBe(30);
    await whoHasIt(page).getByText('270 others').click();
    expect(await lines(page).filter({ visible: true }).count()).toBe(300);
  });

  it('leads to Connect if nothing is connected', async () => {
    const service = await startService();
    await service.add({ fields: { firstName: 'Ada' } });
    const page = await openLead(service, () => []);
    await page.getByText('No automation gets leads yet.').waitFor();
    await expectEveryLook(page);
    await page.getByRole('link', { name: 'Connect a platform' }).click();
    await page.getByRole('heading', { name: 'Connect a platform' }).waitFor();
  });
});

describe('who has it costs few requests', () => {
  it('one for a lead that is read, none for those that are passed, and none in the background', async () => {
    const service = await startService();
    await service.add(
      ...Array.from({ length: 9 }, (_, index) => ({ id: `${index}`, fields: { firstName: `Ada ${index}` } })),
    );
    const now = Date.now() + 600_000;
    const page = await openLead(service, () => [fate('n8n', 'sent', NOON)], { fixedTime: now });
    await lines(page).first().waitFor();
    const count = countRequests(page, isLeadRequest);
    for (let index = 0; index < 8; index += 1) await page.keyboard.press('j');
    await page.getByRole('heading', { level: 1, name: 'Ada 0' }).waitFor();
    await lines(page).first().waitFor();
    expect(count()).toBeLessThan(4);
    const before = count();
    const again = page.waitForResponse(isLeadRequest);
    await page.clock.setFixedTime(now + INTERVAL_MS);
    await again;
    await setHidden(page, true);
    await page.clock.setFixedTime(now + 4 * INTERVAL_MS);
    await letTimersFire(page);
    expect(count()).toBe(before + 1);
    const back = page.waitForResponse(isLeadRequest);
    await setHidden(page, false);
    await back;
  });

  it('none if few are left, which are for the automations', async () => {
    const userPolicies = [{ name: 'hour', quota: 150, windowS: 3600 }];
    const service = await startService({ limits: { userPolicies } });
    await service.add({ fields: { firstName: 'Ada' } });
    const page = await openTab(service, 'Explore');
    await page.getByText(/^last lead/).waitFor();
    const count = countRequests(page, isLeadRequest);
    await showTab(page, 'Leads');
    await page.getByText('Not checked now: few requests are left this hour').waitFor();
    expect(count()).toBe(0);
    await expectAccessible(page);
  });

  it('says so while the service cannot be reached, and continues', async () => {
    const service = await startService();
    await service.add({ fields: { firstName: 'Ada' } });
    const page = await openTab(service, 'Explore');
    await page.getByText(/^last lead/).waitFor();
    await page.route('**/automation/connections*', (route) => route.abort());
    await showTab(page, 'Leads');
    await whoHasIt(page).getByText('The service cannot be reached. It is checked again.').waitFor();
    await answerLead(page, () => []);
    await page.clock.setFixedTime(Date.now() + INTERVAL_MS);
    await page.getByText('No automation gets leads yet.').waitFor();
  });
});
