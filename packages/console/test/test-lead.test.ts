import { type LeadConnections, testLeadFrom } from '@leadtap/contract';
import type { Page, Request, Route } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { expectAccessible, expectEveryLook } from '../../testing/browser/accessibility.ts';
import { openPage } from '../../testing/browser/page.ts';
import { startService, type TestService } from '../../testing/harness/service.ts';
import { letTimersFire } from './support/automation.ts';
import { answerLead, countRequests, isLeadRequest, iso } from './support/connections.ts';
import { openTab, type TabOptions } from './support/open-tab.ts';

type Fate = LeadConnections['out'][number];

const isSent = (request: Request): boolean => request.method() === 'POST' && /\/leads$/.test(request.url());

const senderToken = (service: TestService, user = 'boss') =>
  service.token(user, { scopes: ['leads:read', 'leads:write'] });

/** The console with a token that may also send leads. */
const openSender = async (
  service: TestService,
  tab: 'Overview' | 'Leads' | 'Connect',
  { user, ...options }: TabOptions = {},
) => openTab(service, tab, { token: await senderToken(service, user), ...options });

const button = (page: Page) => page.getByRole('button', { name: /^Send (a|another) test lead$/ });
const progress = (page: Page) => page.getByRole('region', { name: 'The test lead' });

/** Between two requests for what became of it, at first. */
const FAST_INTERVAL_MS = 2000;

const IS_IN_SIGHT = `(() => {
  const { top, bottom } = document.querySelector('.progress').getBoundingClientRect();
  return top >= 0 && bottom <= innerHeight;
})()`;

describe('a test lead', () => {
  it('is sent from the empty list when the visitor asks, and followed until the automations have it', async () => {
    const service = await startService({ env: { LEADTAP_BASE_PATH: '/api' } });
    const now = Date.now();
    const page = await openSender(service, 'Leads', { fixedTime: now });
    let slack: Fate = { id: 'slack', name: 'Slack', state: 'waiting', at: iso(now), why: null };
    await answerLead(page, () => [slack]);
    const sent: Request[] = [];
    page.on('request', (request) => {
      if (isSent(request)) sent.push(request);
    });
    await button(page).waitFor();
    await expectEveryLook(page);
    expect(sent).toEqual([]);
    await button(page).dblclick();
    await page.getByText('Test lead stored at').waitFor();
    await page.getByText('Seen in this console:').waitFor();
    await progress(page)
      .getByText(/^Slack waiting/)
      .waitFor();
    expect(sent).toHaveLength(1);
    expect(await page.evaluate(`document.activeElement.getAttribute('aria-label')`)).toBe('The test lead');
    await expectEveryLook(page);
    slack = { ...slack, state: 'sent' };
    await page.clock.setFixedTime(now + FAST_INTERVAL_MS);
    await progress(page)
      .getByText(/^Slack sent \d\d:\d\d:\d\d/)
      .waitFor();
    await expectAccessible(page);
    await page.getByRole('link', { name: 'open it' }).click();
    await page.getByRole('heading', { level: 1, name: 'Test Lead' }).waitFor();
    const [lead, ...others] = await service.leads('boss');
    expect(others).toEqual([]);
    expect(lead).toMatchObject({
      ...testLeadFrom('the console of Leadtap'),
      id: expect.stringMatching(/^test-/),
      appointmentDateTime: expect.stringMatching(/T14:00:00\.000Z$/),
    });
    await page.getByRole('button', { name: 'Close' }).click();
    await progress(page).waitFor({ state: 'detached' });
  });

  it('is sent from Connect, into the branch of a user who sees only that branch', async () => {
    const service = await startService();
    const page = await openSender(service, 'Connect', {
      ...{ user: 'north-lead', screen: 'phone' },
      fixedTime: Date.now(),
    });
    await answerLead(page, () => []);
    await page.getByRole('link', { name: 'n8n' }).click();
    await button(page).click();
    await page.getByText('Seen in this console:').waitFor();
    await progress(page).getByText('No automation gets leads yet.').waitFor();
    expect(await page.evaluate(IS_IN_SIGHT)).toBe(true);
    expect((await service.leads('north-lead')).map(({ branchName }) => branchName)).toEqual(['North']);
    await expectAccessible(page);
    await button(page).click();
    await expect.poll(async () => (await service.leads('north-lead')).length).toBe(2);
  });

  it('is watched for three minutes', async () => {
    const service = await startService();
    const now = Date.now();
    const page = await openSender(service, 'Overview', { fixedTime: now });
    await answerLead(page, () => [{ id: 'n8n', name: 'n8n', state: 'waiting', at: iso(now), why: null }]);
    await button(page).click();
    await progress(page).getByText('n8n waiting').waitFor();
    await page.clock.setFixedTime(now + 181_000);
    await page.getByText('This page has stopped watching, after 3 minutes.').waitFor();
    const count = countRequests(page, isLeadRequest);
    await page.clock.setFixedTime(now + 300_000);
    await letTimersFire(page);
    expect(count()).toBe(0);
    await progress(page).getByText('n8n waiting').waitFor();
  });

  it('is not followed when few requests are left, which are for the automations', async () => {
    const userPolicies = [{ name: 'hour', quota: 150, windowS: 3600 }];
    const service = await startService({ limits: { userPolicies } });
    const page = await openSender(service, 'Overview');
    await button(page).click();
    await progress(page).getByText('few requests are left this hour').waitFor();
  });
});

describe('without the right to send leads', () => {
  it('says which token can, and gives the command for operators', async () => {
    const service = await startService();
    const page = await openTab(service, 'Overview');
    await button(page).click();
    const commands = page.locator('.test-lead pre');
    expect(await commands.allInnerTexts()).toEqual([
      'npx leadtap leads send-test --company ID',
      'npx leadtap token issue --user boss --name console --scope leads:read --scope leads:write',
    ]);
    await expectEveryLook(page);
  });

  it('says that the service accepts no leads over HTTP', async () => {
    const service = await startService({ env: { LEADTAP_INTAKE: 'off' } });
    const page = await openSender(service, 'Overview');
    await button(page).click();
    await page.getByText('This service accepts no leads over HTTP').waitFor();
    expect(await page.locator('.test-lead pre').innerText()).toBe('npx leadtap leads send-test --company ID');
    await expectAccessible(page);
  });
});

describe('a test lead that is refused', () => {
  const LEADS = /\/leads$/;

  it('is sent again without a second one, if the answer was lost', async () => {
    const service = await startService();
    const page = await openSender(service, 'Overview');
    await page.route(
      LEADS,
      async (route) => {
        await route.fetch();
        await route.abort();
      },
      { times: 1 },
    );
    await button(page).click();
    await page.getByText('The service cannot be reached.').waitFor();
    await page.getByRole('button', { name: 'Send it again' }).click();
    await page.getByText('Test lead stored at').waitFor();
    expect(await service.leads('boss')).toHaveLength(1);
  });

  it('429: says so, and can be sent again after the time that the service gives', async () => {
    const intakePolicies = [{ name: 'intake', quota: 1, windowS: 60 }];
    const service = await startService({ limits: { intakePolicies } });
    await service.limiters.intake.consume('boss');
    const now = Date.now();
    const page = await openPage(`${service.url}/`, { fixedTime: now });
    // The page follows the clock of the service: another answer would set its own back.
    await page.route('**/automation/new-leads*', () => undefined);
    await page.evaluate(`location.hash = '#token=${await senderToken(service)}'`);
    await button(page).click();
    await page.getByText('Too many requests.').waitFor();
    await page.getByRole('button', { name: /^Send it again in \d+ s$/ }).waitFor();
    await expectAccessible(page);
    let sent = 0;
    page.on('request', (request) => {
      if (isSent(request)) sent += 1;
    });
    await page.getByRole('button', { name: /^Send it again in/ }).click({ force: true });
    expect(sent).toBe(0);
    await page.clock.setFixedTime(now + 61_000);
    await page.getByRole('button', { name: 'Send it again', exact: true }).click();
    await expect.poll(() => sent).toBe(1);
  });

  // The request is changed on its way, so that the service refuses it as it would.
  it.each<[string, (service: TestService, route: Route) => Promise<void>, string]>([
    [
      '403',
      async (service, route) => {
        const authorization = `Bearer ${await service.token('boss', { scopes: ['leads:read'] })}`;
        await route.continue({ headers: { ...route.request().headers(), authorization } });
      },
      'The scope of the access token is not sufficient.',
    ],
    [
      '422',
      (_service, route) => route.continue({ postData: JSON.stringify({ email: 'no address' }) }),
      'At least one lead is not valid.',
    ],
    [
      '503',
      (_service, route) =>
        route.fulfill({
          status: 503,
          contentType: 'application/problem+json',
          headers: { 'retry-after': '2' },
          body: JSON.stringify({
            code: 'unavailable',
            title: 'The service cannot answer right now',
            detail: 'The leads may not be stored.',
            status: 503,
          }),
        }),
      'The service cannot answer right now.',
    ],
  ])('%s: says why, in the words of the contract', async (_status, change, title) => {
    const service = await startService();
    const page = await openSender(service, 'Overview');
    await page.route(LEADS, (route) => change(service, route));
    await button(page).click();
    await page.getByRole('alert').getByText(title).waitFor();
    if (title.includes('not valid')) {
      await page.getByText('is not an e-mail address').waitFor();
      await expectAccessible(page);
    }
    expect(await service.leads('boss')).toEqual([]);
  });
});
