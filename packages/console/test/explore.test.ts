import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { HEADERS, LEAD_FIELDS } from '@leadtap/contract';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { expectAccessible, expectEveryLook } from '../../testing/browser/accessibility.ts';
import { untilHeld } from '../../testing/harness/long-polls.ts';
import { leaveRequests, startService } from '../../testing/harness/service.ts';
import { shareService } from '../../testing/harness/shared-service.ts';
import { forgetToken } from './support/menu.ts';
import { openTab } from './support/open-tab.ts';

const run = promisify(execFile);

const send = (page: Page) => page.getByRole('button', { name: 'Send', exact: true }).click();
const answer = (page: Page) => page.getByRole('region', { name: 'Answer' });
const status = (page: Page) => answer(page).locator('.answer-line');
const leadNamed = (page: Page, name: string) => answer(page).locator('summary').getByText(name);
const fieldOf = (page: Page, name: string) => page.getByLabel(name, { exact: true });
const sinceField = (page: Page) => page.locator('input[name="since"]');

/** The status code of the answer, when it is there. */
const statusCode = (page: Page) => answer(page).locator('.status-code').innerText();

const requestLines = async (page: Page): Promise<string[]> =>
  (await page.getByRole('region', { name: 'Request' }).locator('pre').first().innerText()).split('\n');

describe('Explore', () => {
  const service = shareService();

  it('shows the leads of the answer, folded, and all of a lead when it is unfolded', async () => {
    const [createdAt = 0] = await service().add({ fields: { firstName: 'Femke', lastName: 'Moreau' } });
    const page = await openTab(service(), 'Explore');
    await fieldOf(page, 'limit').fill('1');
    await send(page);
    expect(await status(page).innerText()).toMatch(/^200 OK · 1 lead · [\d.]+ m?s · \d+(\.\d)? k?B$/);
    const json = answer(page).locator('details pre');
    expect(await json.isVisible()).toBe(false);
    await leadNamed(page, 'Femke Moreau').click();
    const lead = JSON.parse(await json.innerText());
    expect(lead).toMatchObject({ fullName: 'Femke Moreau', createdAt: new Date(createdAt).toISOString() });
    expect(Object.keys(lead)).toHaveLength(LEAD_FIELDS.length);
  });

  it('explains every header of the answer, with the texts of the contract', async () => {
    const page = await openTab(service(), 'Explore');
    await sinceField(page).fill('2026-03-02');
    await fieldOf(page, 'wait').fill('1');
    await send(page);
    await answer(page).getByText('RateLimit-Policy:').waitFor();
    const rows = await answer(page).locator('dl.headers > div').allInnerTexts();
    const explained = new Map(rows.map((row) => [row.split(':')[0], row.replace(/\s+/g, ' ')]));
    const { 'retry-after': _, 'www-authenticate': __, allow: ___, ...onSuccess } = HEADERS;
    for (const { spelling, description } of Object.values(onSuccess))
      expect(explained.get(spelling)).toContain(description.replaceAll('`', ''));
    expect([...explained.values()].filter((row) => /a proxy/.test(row))).toEqual([]);
  });

  it('builds the request from quick choices and from a time in the time zone of the visitor', async () => {
    const page = await openTab(service(), 'Explore', { context: { timezoneId: 'Europe/Paris' } });
    await page.clock.setFixedTime('2026-07-02T10:20:30.000Z');
    const local = page.getByLabel('The same in your time zone (Europe/Paris)');
    await page.getByRole('button', { name: '1 hour ago' }).click();
    expect(await sinceField(page).inputValue()).toBe('2026-07-02T09:20:30.000Z');
    expect(await local.inputValue()).toBe('2026-07-02T11:20:30');
    await page.getByRole('button', { name: 'yesterday' }).click();
    expect(await sinceField(page).inputValue()).toBe('2026-06-30T22:00:00.000Z');
    await local.fill('2026-12-24T18:00:00');
    await local.dispatchEvent('change');
    expect(await sinceField(page).inputValue()).toBe('2026-12-24T17:00:00.000Z');
    await page.getByRole('button', { name: 'all', exact: true }).click();
    await fieldOf(page, 'limit').fill('5');
    await fieldOf(page, 'wait').fill('20');
    expect(await requestLines(page)).toEqual([
      'GET /automation/new-leads?since=1970-01-01T00%3A00%3A00.000Z&limit=5',
      'Authorization: Bearer <your token>',
      'Leadtap-Client: console',
      'Prefer: wait=20',
    ]);
    await page.getByRole('button', { name: 'newest first' }).click();
    expect((await requestLines(page))[0]).toBe('GET /automation/new-leads?limit=5');
    await page.getByText('has no effect without since').waitFor();
  });

  it('gives a curl command that does the same, without the token unless it is asked for', async () => {
    const page = await openTab(service(), 'Explore', { clipboard: true });
    await sinceField(page).fill("2026-03-02T11:30:00+02:00' $(id)");
    await fieldOf(page, 'limit').fill('2');
    await fieldOf(page, 'wait').fill('1');
    await page.getByRole('button', { name: 'Copy curl', exact: true }).click();
    await page.getByText('copied', { exact: true }).waitFor();
    const plain = await page.evaluate<string>('navigator.clipboard.readText()');
    expect(plain).toContain('Bearer $TOKEN');
    expect(plain).not.toContain('eyJ');
    await page.getByRole('button', { name: 'Copy curl with the token' }).click();
    await page.waitForFunction(`navigator.clipboard.readText().then((text) => text.includes('eyJ'))`);
    const command = await page.evaluate<string>('navigator.clipboard.readText()');
    const { stdout } = await run('bash', ['-c', `${command} --silent`]);
    await send(page);
    const problem = JSON.parse(await answer(page).locator('pre').innerText());
    expect(stdout).toContain(problem.errors[0].detail);
    await sinceField(page).fill('2026-03-02T11:30:00+02:00');
    await page.getByRole('button', { name: 'Copy curl with the token' }).click();
    await page.waitForFunction(`navigator.clipboard.readText().then((text) => !text.includes('id'))`);
    const valid = await page.evaluate<string>('navigator.clipboard.readText()');
    expect((await run('bash', ['-c', `${valid} --silent`])).stdout).toMatch(/^HTTP\/1\.1 200 OK/);
  });

  it('follows Link to the leads that come next', async () => {
    const page = await openTab(service(), 'Explore');
    await fieldOf(page, 'limit').fill('3');
    await send(page);
    await answer(page).getByRole('button', { name: 'Follow Link' }).click();
    await answer(page).getByText('No lead is newer.').waitFor();
    expect(await sinceField(page).inputValue()).toMatch(/^\d{4}-.+Z$/);
    expect(await fieldOf(page, 'limit').inputValue()).toBe('3');
    await service().add({ fields: { firstName: 'Next', lastName: 'One' } });
    await answer(page).getByRole('button', { name: 'Follow Link' }).click();
    await leadNamed(page, 'Next One').waitFor();
  });

  it('sends the ETag of the answer, and shows that the page is unchanged', async () => {
    const page = await openTab(service(), 'Explore');
    await send(page);
    await page.getByRole('button', { name: 'Use the ETag' }).click();
    expect((await requestLines(page)).at(-1)).toMatch(/^If-None-Match: "/);
    await send(page);
    await status(page).getByText('the page is unchanged').waitFor();
    expect(await statusCode(page)).toBe('304');
    await page.getByRole('button', { name: 'Do not send the ETag' }).click();
    await page.getByRole('button', { name: 'Use the ETag' }).click();
    await fieldOf(page, 'limit').fill('7');
    expect((await requestLines(page)).join()).not.toContain('If-None-Match');
    await send(page);
    await answer(page).getByText('200', { exact: true }).waitFor();
  });

  it('waits for a lead, and can be stopped', async () => {
    const own = await startService();
    const page = await openTab(own, 'Explore');
    await page.getByText('live', { exact: true }).waitFor();
    await untilHeld(own, 1);
    await sinceField(page).fill(new Date().toISOString());
    await fieldOf(page, 'wait').fill('50');
    await send(page);
    await untilHeld(own, 2);
    expect(await page.getByRole('button', { name: 'Send', exact: true }).isDisabled()).toBe(true);
    await answer(page).getByRole('button', { name: 'Stop' }).click();
    await answer(page).getByText('You stopped the request.').waitFor();
    await untilHeld(own, 1);
    await send(page);
    await untilHeld(own, 2);
    await own.add({ fields: { firstName: 'Awaited', lastName: 'Lead' } });
    await leadNamed(page, 'Awaited Lead').waitFor();
    expect(await answer(page).locator('dl.headers').innerText()).toContain('Preference-Applied: wait=50');
  });

  it('brings the answer into sight on a phone, where it is below the request', async () => {
    const page = await openTab(service(), 'Explore', { screen: 'phone' });
    await send(page);
    await answer(page).locator('summary').first().waitFor();
    const { y = Number.NaN } = (await answer(page).boundingBox()) ?? {};
    expect(y).toBeCloseTo(0, 0);
    await page.getByRole('navigation').getByRole('link', { name: 'Overview' }).click();
    await page.getByRole('navigation').getByRole('link', { name: 'Explore' }).click();
    await answer(page).locator('summary').first().waitFor();
    expect(await page.evaluate('scrollY')).toBe(0);
  });

  it('scrolls 100 leads under the header, which stays', async () => {
    await service().add(
      ...Array.from({ length: 100 }, (_, index) => ({ fields: { firstName: `Lead ${index}` } })),
    );
    const page = await openTab(service(), 'Explore');
    await fieldOf(page, 'limit').fill('100');
    for (const width of [1280, 800]) {
      await page.setViewportSize({ width, height: 800 });
      await send(page);
      await answer(page).locator('details').nth(99).waitFor();
      await answer(page).locator('dl.headers > div').last().scrollIntoViewIfNeeded();
      expect(await page.getByRole('banner').boundingBox()).toMatchObject({ y: 0 });
      expect(await page.evaluate('document.documentElement.scrollHeight')).toBe(800);
    }
  });

  it('removes the answer when the token is forgotten', async () => {
    const page = await openTab(service(), 'Explore');
    await send(page);
    await answer(page).getByRole('button', { name: 'Follow Link' }).waitFor();
    await forgetToken(page);
    await answer(page).getByText('Send the request to see the answer here.').waitFor();
    expect(await answer(page).locator('details').count()).toBe(0);
  });

  it('works with the keyboard alone', async () => {
    const page = await openTab(service(), 'Explore');
    await sinceField(page).focus();
    await page.keyboard.type('2026-01-01');
    await page.keyboard.press('Enter');
    await answer(page).locator('summary').first().waitFor();
    await answer(page).locator('summary').first().focus();
    await page.keyboard.press('Enter');
    expect(await answer(page).locator('details pre').first().isVisible()).toBe(true);
  });

  it('fits phones and wide screens and is accessible, in both themes', async () => {
    const page = await openTab(service(), 'Explore');
    await fieldOf(page, 'limit').fill('2');
    await send(page);
    await answer(page).locator('summary').first().click();
    await expectEveryLook(page);
  });
});

describe('Explore explains what went wrong, and what to do', () => {
  const service = shareService();

  it.each([
    ['without a token', { token: '' }, 401, 'token-missing'],
    ['with a token that is not one', { token: 'nonsense' }, 401, 'token-invalid'],
    ['without the Professional plan', { user: 'starter' }, 403, 'professional-plan-required'],
    ['without the user', { user: 'removed' }, 404, 'user-not-found'],
  ])('%s', async (_name, options, expected, code) => {
    const page = await openTab(service(), 'Explore', options);
    await send(page);
    await answer(page).locator('.problem code').getByText(code).waitFor();
    expect(await statusCode(page)).toBe(String(expected));
    expect(await answer(page).locator('.problem').innerText()).toMatch(/\.\n\n.{20,}/s);
    await expectAccessible(page);
  });

  it('an invalid parameter', async () => {
    const page = await openTab(service(), 'Explore');
    await fieldOf(page, 'limit').fill('none');
    await send(page);
    await answer(page).locator('.problem code').getByText('invalid-query').waitFor();
    expect(await answer(page).locator('pre').innerText()).toContain('"parameter": "limit"');
  });

  it('the rate limit, with the time until the request passes', async () => {
    const own = await startService();
    const page = await openTab(own, 'Explore');
    await page.getByText('live', { exact: true }).waitFor();
    await leaveRequests(own, 'boss', 0);
    await send(page);
    await answer(page)
      .getByText(/The request passes in \d+ (s|min)\./)
      .waitFor();
    expect(await statusCode(page)).toBe('429');
    expect(await answer(page).locator('dl.headers').innerText()).toContain('Retry-After: ');
  });

  it('a service that cannot answer, an answer of a proxy, and no connection at all', async () => {
    const page = await openTab(service(), 'Explore');
    await page.getByText('live', { exact: true }).waitFor();
    await page.route('**/automation/new-leads*', (route) =>
      route.fulfill({
        status: 503,
        headers: { 'content-type': 'application/problem+json', 'retry-after': '2', 'x-edge': 'cache-7' },
        body: JSON.stringify({
          code: 'unavailable',
          status: 503,
          title: 'The service cannot answer right now',
          detail: 'later',
          requestId: 'r-1',
        }),
      }),
    );
    await send(page);
    await answer(page).getByText('r-1', { exact: true }).waitFor();
    expect(await answer(page).locator('dl.headers').innerText()).toMatch(
      /x-edge: cache-7\s+Not a header of Leadtap/,
    );
    await page.unroute('**/automation/new-leads*');
    await page.route('**/automation/new-leads*', (route) =>
      route.fulfill({ status: 502, contentType: 'text/html', body: '<h1>Bad gateway</h1>' }),
    );
    await send(page);
    await answer(page).getByText('<h1>Bad gateway</h1>').waitFor();
    expect(await answer(page).locator('.problem').innerText()).toContain('proxy');
    await page.context().setOffline(true);
    await page.unroute('**/automation/new-leads*');
    await send(page);
    await answer(page).getByText('The service cannot be reached').waitFor();
  });
});
