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

/** The sentences, each with its sign. */
const findings = async (page: Page): Promise<string[]> => {
  await page.locator('.finding').first().waitFor();
  const texts = await page.locator('.finding').allInnerTexts();
  return texts.map((text) => text.replace(/\s+/g, ' ').trim());
};

const heading = (page: Page) => page.getByRole('heading', { level: 1 }).innerText();
const problem = (page: Page) => page.locator('.problem').innerText();

describe('Check, with a token that works', () => {
  const service = shareService();
  const check = async (user: string, options: Parameters<ReturnType<typeof service>['token']>[1] = {}) => {
    const page = await openPage(service().url);
    await paste(page, await service().token(user, options));
    return page;
  };

  it('says until when it is valid, whose it is, what the plan includes and what is left of the limits', async () => {
    const page = await check('boss', { expiresInMs: 89.5 * DAY_MS });
    const [valid, owner, , plan, limits] = await findings(page);
    expect(valid).toMatch(/^✓ Yes: The token is valid until \d+ \w+ \d{4} \(in 89 days\)\.$/);
    expect(owner).toBe('✓ Yes: It belongs to boss.');
    expect(plan).toBe('✓ Yes: The plan of this user includes automation.');
    expect(limits).toMatch(
      /^✓ Yes: Left: \d+ of 100 requests this minute, \d+ of 1,000 requests this hour\./,
    );
    expect(await page.locator('.problem').count()).toBe(0);
    expect(await heading(page)).toBe('Your token works');
    await expectEveryLook(page);
  });

  it('warns when the token expires within 7 days, here and in the header, in words and in amber', async () => {
    const header = (page: Page) => page.getByRole('banner').getByText(/^expire/);
    const colour = (page: Page, selector: string) =>
      page.evaluate<string>(`getComputedStyle(document.querySelector('${selector}')).backgroundColor`);
    const [amber, none] = ['rgb(253, 240, 213)', 'rgba(0, 0, 0, 0)'];

    const later = await check('boss', { expiresInMs: 7.5 * DAY_MS });
    expect((await findings(later))[0]).toMatch(/^✓ Yes: The token is valid until/);
    expect(await header(later).innerText()).toBe('expires in 7 days');
    expect(await colour(later, '.expiry')).toBe(none);

    const soon = await check('boss', { expiresInMs: 6.5 * DAY_MS });
    // After what is fine.
    expect((await findings(soon)).at(-1)).toMatch(
      /^! Yes, but: The token is valid until \d+ \w+ \d{4} \(in 6 days\)\. Ask the operator for a new one/,
    );
    expect(await heading(soon)).toBe('Your token works, but expires soon');
    expect(await header(soon).innerText()).toBe('expires in 6 days');
    expect(await colour(soon, '.expiry')).toBe(amber);
    expect(await colour(soon, '.finding.soon')).toBe(amber);
    await expectEveryLook(soon);
    // The other ones have no room there; this one must be seen.
    await soon.setViewportSize({ width: 360, height: 740 });
    expect(await header(soon).isVisible()).toBe(true);

    const expired = await check('boss', { expiresInMs: -5.5 * DAY_MS });
    expect((await findings(expired))[0]).toMatch(/^✗ No: The token has expired on .* \(5 days ago\)\.$/);
    expect(await heading(expired)).toBe('This token does not work');
    // Not as if it were connected.
    expect(await header(expired).count()).toBe(0);
    await expired.getByRole('banner').getByRole('button', { name: 'Settings', exact: true }).waitFor();
    await expired.getByRole('region', { name: 'Connection' }).getByText('not connected').waitFor();
    expect(await expired.getByRole('button', { name: 'Check another token' }).count()).toBe(0);
    await expectEveryLook(expired);
  });

  it('says what the leads prove about the access level, and no more', async () => {
    const own = await startService();
    const sight = async (user: string): Promise<string> => {
      const page = await openPage(own.url);
      await paste(page, await own.token(user));
      return (await findings(page)).join();
    };
    expect(await sight('boss')).toContain('It sees no lead yet');
    await own.add({ branchId: 'north', departmentId: 'sales' });
    expect(await sight('seller')).toContain(
      'All loaded leads are of the department Sales in the branch North of Acme: it sees this department, or more.',
    );
    await own.add({ branchId: 'north' });
    expect(await sight('north-lead')).toContain(
      'All loaded leads are of the branch North of Acme: it sees this branch, or more.',
    );
    await own.add({});
    expect(await sight('boss')).toContain('It sees the whole company Acme.');
  });

  it.each([
    ['with Bearer in front', (token: string) => `Authorization: Bearer ${token}`],
    [
      'in quotes and over several lines',
      (token: string) => `"${token.slice(0, 40)}\n  ${token.slice(40)}"\n`,
    ],
  ])('takes what people paste: %s', async (_name, form) => {
    const page = await openPage(service().url);
    await paste(page, form(await service().token('boss')));
    expect((await findings(page)).join()).toContain('It belongs to boss.');
  });

  it('says that it may also send leads', async () => {
    const page = await check('boss', { scopes: ['leads:read', 'leads:write'] });
    expect((await findings(page)).join()).toContain('It may also send leads.');
  });

  it('says what a token that only sends leads is right for, here and on the tab Leads', async () => {
    const page = await check('boss', { scopes: ['leads:write'] });
    const said = (await findings(page)).join();
    expect(await heading(page)).toBe('Your token is for sending leads');
    expect(said).toContain('✓ Yes: It may send leads.');
    expect(said).not.toContain('✗');
    // Nothing is wrong with it.
    await page.getByText('It is right for a form').waitFor();
    expect(await page.locator('.problem').count()).toBe(0);
    await expectEveryLook(page);
    await page.getByRole('navigation').getByRole('link', { name: 'Leads' }).click();
    await page.getByText('This token sends leads, and cannot read them.').waitFor();
  });

  it('leads to the leads, and to another token', async () => {
    const page = await check('boss');
    await page.getByRole('link', { name: 'See the leads' }).click();
    await page.getByRole('heading', { name: 'Leads', exact: true }).waitFor({ state: 'attached' });
    await page.goBack();
    await page.getByRole('button', { name: 'Check another token' }).click();
    await page.getByLabel('Paste the token you were given').waitFor();
    expect(await page.locator('.finding').count()).toBe(0);
  });
});

describe('Check, with a token that does not work', () => {
  const service = shareService();

  it('says that a text is not a token, without a request', async () => {
    const page = await openPage(service().url);
    let requests = 0;
    page.on('request', () => {
      requests += 1;
    });
    for (const text of ['hello', 'Zürich', 'https://leads.example.com/']) {
      await paste(page, text);
      await page.getByRole('alert').getByText('This is not a token.').waitFor();
    }
    expect(requests).toBe(0);
    await expectAccessible(page);
    await paste(page, `"Bearer ${await service().token('boss')}"`);
    await page.getByText('The token is valid').waitFor();
  });

  it.each([
    [
      'token-invalid',
      async (): Promise<string> => 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJib3NzIn0.AAAA',
      ['✗ No: The service does not accept the token.'],
    ],
    [
      'token-expired',
      (): Promise<string> => service().token('boss', { expiresInMs: -1000 }),
      ['✗ No: The token has expired on'],
    ],
    [
      'token-revoked',
      async (): Promise<string> => {
        const token = await service().token('boss', { tokenId: 'lost' });
        await service().store.revokeToken('lost');
        return token;
      },
      ['✗ No: The service does not accept the token.'],
    ],
    [
      'user-not-found',
      (): Promise<string> => service().token('removed'),
      ['The token is valid', '✗ No: It belongs to removed, a user that the service does not know.'],
    ],
    [
      'professional-plan-required',
      (): Promise<string> => service().token('starter'),
      [
        'The token is valid',
        '✓ Yes: It belongs to starter.',
        '✗ No: The plan of this user does not include automation.',
      ],
    ],
    [
      'insufficient-scope',
      (): Promise<string> => service().token('boss', { scopes: [] }),
      ['The token is valid', '✓ Yes: It belongs to boss.', '✓ Yes: The plan'],
    ],
  ] as const)('%s has its own words and next step', async (code, makeToken, expected) => {
    const page = await openPage(service().url);
    await paste(page, await makeToken());
    await page.locator('.problem').waitFor();
    const said = await findings(page);
    for (const [index, text] of expected.entries()) expect(said[index]).toContain(text);
    const words = await problem(page);
    expect(words).toContain(PROBLEMS[code].title);
    expect(await heading(page)).toMatch(
      PROBLEMS[code].status === 403 ? /^This token gets no leads$/ : /^This token does not work$/,
    );
    // For people who build no requests, not the text of the API.
    expect(words).not.toMatch(/`|\bsince\b|WWW-Authenticate|header|retry-after/i);
    expect(words).toMatch(/\n\n(Ask|Copy|This).{40,}\n/);
    expect(words).toContain(code);
    await page.getByLabel('Paste the token you were given').waitFor();
    // The others look the same.
    if (code === 'professional-plan-required') await expectEveryLook(page);
  });
});

describe('Check, when the service does not answer as usual', () => {
  it('counts down after too many requests, and continues by itself', async () => {
    let now = Date.now();
    const service = await startService({ limits: { clock: () => now } });
    await leaveRequests(service, 'boss', 0);
    const page = await openPage(`${service.url}/`);
    await page.clock.install();
    await paste(page, await service.token('boss', { expiresInMs: 30 * DAY_MS }));
    await page.getByText(/Continues by itself in \d+ s\./).waitFor();
    expect((await findings(page)).join()).toMatch(
      /✓ Yes: The token is valid.*✗ No: Left: 0 of 100 requests/s,
    );
    expect(await page.getByRole('button', { name: 'Try now' }).count()).toBe(0);
    await expectEveryLook(page);
    now += 3_600_000;
    await page.clock.fastForward('59:00');
    await page.getByText('✓').nth(4).waitFor();
    expect((await findings(page)).join()).not.toContain('✗');
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
            ? JSON.stringify({ code, status, detail: 'later', requestId: 'r-1' })
            : 'Bad gateway',
      }),
    );
    await paste(page, await service.token('boss'));
    await page.getByText('Continues by itself in 60 min.').waitFor();
    expect(await problem(page)).toContain(title);
    await page.unroute('**/automation/new-leads*');
    await page.getByRole('button', { name: 'Try now' }).click();
    expect((await findings(page)).join()).not.toContain('✗');
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
