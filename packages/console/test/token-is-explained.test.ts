import { PROBLEMS } from '@leadtap/contract';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { expectAccessible, expectEveryLook } from '../../testing/browser/accessibility.ts';
import { openPage } from '../../testing/browser/page.ts';
import { leaveRequests, startService } from '../../testing/harness/service.ts';
import { shareService } from '../../testing/harness/shared-service.ts';

const DAY_MS = 86_400_000;

const paste = async (page: Page, text: string): Promise<void> => {
  await page.getByLabel('Paste the token you were given').fill(text);
  await page.keyboard.press('Enter');
};

const facts = (page: Page) => page.locator('.token-facts');
const heading = (page: Page) => page.getByRole('heading', { level: 1 }).innerText();
const problem = (page: Page) => page.locator('.problem').innerText();

describe('a token that works', () => {
  const service = shareService();
  const check = async (user: string, options: Parameters<ReturnType<typeof service>['token']>[1] = {}) => {
    const page = await openPage(service().url);
    await paste(page, await service().token(user, options));
    return page;
  };

  it('has its facts in one line: whose it is, what it may do, until when', async () => {
    const page = await check('boss', {
      expiresInMs: 89.5 * DAY_MS,
      scopes: ['leads:read', 'leads:write'],
    });
    await page.getByText(/^boss · may send leads · until \d+ \w{3,4}( 20\d\d)?$/).waitFor();
    // What is far away says nothing.
    expect(
      await page
        .getByRole('banner')
        .getByText(/^expire/)
        .count(),
    ).toBe(0);
    expect(await page.locator('.limits').innerText()).toBe('');
  });

  it('is announced to expire within 7 days, here and in the header, in words and in amber', async () => {
    const header = (page: Page) => page.getByRole('banner').getByText(/^expire/);
    const colour = (page: Page, selector: string) =>
      page.evaluate<string>(`getComputedStyle(document.querySelector('${selector}')).backgroundColor`);
    const amber = 'rgb(253, 240, 213)';

    const later = await check('boss', { expiresInMs: 7.5 * DAY_MS });
    await facts(later).waitFor();
    expect(await header(later).count()).toBe(0);

    const soon = await check('boss', { expiresInMs: 6.5 * DAY_MS });
    await soon
      .getByText('The token of this page expires in 6 days. Ask the operator for a new one')
      .waitFor();
    expect(await header(soon).innerText()).toBe('expires in 6 days');
    expect(await colour(soon, '.expiry')).toBe(amber);
    expect(await colour(soon, '.note')).toBe(amber);
    await expectEveryLook(soon);
    await soon.setViewportSize({ width: 360, height: 740 });
    expect(await header(soon).isVisible()).toBe(true);

    const expired = await check('boss', { expiresInMs: -5.5 * DAY_MS });
    await facts(expired)
      .getByText(/expired on \d+ \w+/)
      .waitFor();
    expect(await heading(expired)).toBe('This token does not work');
    // Not as if it were connected.
    expect(await header(expired).count()).toBe(0);
    await expired.getByRole('banner').getByRole('button', { name: 'Settings', exact: true }).waitFor();
    await expectEveryLook(expired);
  });

  it('sees what the leads prove about its access level, and no more', async () => {
    const own = await startService();
    const expectSight = async (user: string, sight: string): Promise<void> => {
      const page = await openPage(own.url);
      await paste(page, await own.token(user));
      await facts(page)
        .getByText(new RegExp(`^${user}${sight} · until`))
        .waitFor();
    };
    await expectSight('boss', '');
    await own.add({ branchId: 'north', departmentId: 'sales' });
    await expectSight('seller', ' · department Sales, or more');
    await own.add({ branchId: 'north' });
    await expectSight('north-lead', ' · branch North, or more');
    await own.add({});
    await expectSight('boss', ' · whole company');
  });

  it.each([
    ['with Bearer in front', (token: string) => `Authorization: Bearer ${token}`],
    [
      'in quotes and over several lines',
      (token: string) => `"${token.slice(0, 40)}\n  ${token.slice(40)}"\n`,
    ],
  ])('is found in what people paste: %s', async (_name, form) => {
    const page = await openPage(service().url);
    await paste(page, form(await service().token('boss')));
    await page.getByText(/^boss · /).waitFor();
  });

  it('may be for sending leads only: what it is right for, here and on the tab Leads', async () => {
    const page = await check('boss', { scopes: ['leads:write'] });
    await page.getByRole('heading', { name: 'Your token is for sending leads' }).waitFor();
    // Nothing is wrong with it.
    await page.getByText('It is right for a form').waitFor();
    expect(await page.locator('.problem').count()).toBe(0);
    await expectEveryLook(page);
    await page.getByRole('navigation').getByRole('link', { name: 'Leads' }).click();
    await page.getByText('This token sends leads, and cannot read them.').waitFor();
  });
});

describe('a token that does not work', () => {
  const service = shareService();

  it('is distinguished from a text that is no token, without a request', async () => {
    const page = await openPage(service().url);
    let requests = 0;
    page.on('request', (request) => {
      // Asked once, without what was pasted.
      if (!request.url().endsWith('/readyz')) requests += 1;
    });
    for (const text of ['hello', 'Zürich', 'https://leads.example.com/']) {
      await paste(page, text);
      await page.getByRole('alert').getByText('This is not a token.').waitFor();
    }
    expect(requests).toBe(0);
    await expectAccessible(page);
    await paste(page, `"Bearer ${await service().token('boss')}"`);
    await page.getByText(/^boss · /).waitFor();
  });

  it.each([
    ['token-invalid', async (): Promise<string> => 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJib3NzIn0.AAAA', 'boss'],
    ['token-expired', () => service().token('boss', { expiresInMs: -1000 }), 'boss · expired on'],
    [
      'token-revoked',
      async (): Promise<string> => {
        const token = await service().token('boss', { tokenId: 'lost' });
        await service().store.revokeToken('lost');
        return token;
      },
      'boss · until',
    ],
    ['user-not-found', () => service().token('removed'), 'removed · until'],
    ['professional-plan-required', () => service().token('starter'), 'starter · until'],
    ['insufficient-scope', () => service().token('boss', { scopes: [] }), 'boss · until'],
  ] as const)('%s has its own words and next step', async (code, makeToken, fact) => {
    const page = await openPage(service().url);
    await paste(page, await makeToken());
    await page.locator('.problem').waitFor();
    expect(await facts(page).innerText()).toContain(fact);
    // The next step is loaded when it is needed.
    await expect.poll(() => problem(page)).toMatch(/\n\n(Ask|Copy|This).{40,}\n/);
    const words = await problem(page);
    expect(words).toContain(PROBLEMS[code].title);
    expect(await heading(page)).toMatch(
      PROBLEMS[code].status === 403 ? /^This token gets no leads$/ : /^This token does not work$/,
    );
    // For people who build no requests, not the text of the API.
    expect(words).not.toMatch(/`|\bsince\b|WWW-Authenticate|header|retry-after/i);
    expect(words).toContain(code);
    await page.getByRole('button', { name: 'Check again' }).waitFor();
    await page.getByLabel('Paste the token you were given').waitFor();
    // The others look the same.
    if (code === 'professional-plan-required') await expectEveryLook(page);
  });
});

describe('a token, when the service does not answer as usual', () => {
  it('counts down after too many requests, and continues by itself', async () => {
    let now = Date.now();
    const service = await startService({ limits: { clock: () => now } });
    await leaveRequests(service, 'boss', 0);
    const page = await openPage(`${service.url}/`);
    await page.clock.install();
    await paste(page, await service.token('boss', { expiresInMs: 30 * DAY_MS }));
    await page.getByText(/Continues by itself in \d+ s\./).waitFor();
    expect(await page.locator('.limits').innerText()).toContain('0 left this minute');
    expect(await page.getByRole('button', { name: 'Try now' }).count()).toBe(0);
    await expectEveryLook(page);
    now += 3_600_000;
    await page.clock.fastForward('59:00');
    await page.getByText('live', { exact: true }).waitFor();
    expect(await page.locator('.problem').count()).toBe(0);
  });

  it.each([
    ['unavailable', 503, 'The service cannot answer right now'],
    ['http-502', 502, 'Something before the service answered with 502'],
  ])('%s is retried', async (code, status, title) => {
    const service = await startService();
    const page = await openPage(service.url);
    await page.route('**/automation/new-leads*', (route) =>
      route.fulfill({
        status,
        // So long that it does not continue by itself.
        headers: { 'retry-after': '3600' },
        body:
          status === 503
            ? JSON.stringify({ code, status, title, detail: 'later', requestId: 'r-1' })
            : 'Bad gateway',
      }),
    );
    await paste(page, await service.token('boss'));
    await page.getByText('Continues by itself in 60 min.').waitFor();
    expect(await problem(page)).toContain(title);
    await page.unroute('**/automation/new-leads*');
    await page.getByRole('button', { name: 'Try now' }).click();
    await page.getByText('live', { exact: true }).waitFor();
    expect(await page.locator('.problem').count()).toBe(0);
  });

  it('says when the address answers with something else', async () => {
    const service = await startService();
    const page = await openPage(service.url);
    await page.route('**/automation/new-leads*', (route) => route.fulfill({ body: '<h1>Welcome</h1>' }));
    await paste(page, await service.token('boss'));
    await page.locator('.problem').waitFor();
    expect(await problem(page)).toContain('This address answers, but not with leads');
    expect(await heading(page)).toBe('The token could not be checked');
  });
});
