import { describe, expect, it } from 'vitest';
import { expectEveryLook } from '../../testing/browser/accessibility.ts';
import { openPage } from '../../testing/browser/page.ts';
import { startService } from '../../testing/harness/service.ts';
import { shareService } from '../../testing/harness/shared-service.ts';

const background = 'getComputedStyle(document.body).backgroundColor';
const WHITE = 'rgb(255, 255, 255)';

describe('/docs', () => {
  const service = shareService();

  it('fits phones and wide screens and is accessible, in both themes', async () => {
    await expectEveryLook(await openPage(`${service().url}/docs`));
  });

  it('has the bar of the console, and leads to its tabs and back', async () => {
    const page = await openPage(`${service().url}/docs`);
    const tabs = (await page.locator('.bar nav a').allInnerTexts()).join();
    await page.locator('.bar nav').getByRole('link', { name: 'Connect' }).click();
    await page.getByRole('heading', { name: 'Connect a platform' }).waitFor();
    const ofConsole = await page.locator('.bar nav a').allInnerTexts();
    expect(ofConsole.map((name) => name.replace(/\W.*$/s, '')).join()).toBe(tabs);
    const opened = page.context().waitForEvent('page');
    await page.locator('.bar nav').getByRole('link', { name: 'Docs (opens in a new tab)' }).click();
    await (await opened).getByRole('heading', { name: 'New leads on tap' }).waitFor();
  });

  it('remembers the theme, together with the console', async () => {
    const page = await openPage(`${service().url}/docs`, { theme: 'light' });
    expect(await page.evaluate(background)).toBe(WHITE);
    const button = page.getByRole('button', { name: /^Colours/ });
    await button.click();
    expect(await page.evaluate(background)).toBe(WHITE);
    await button.focus();
    await page.keyboard.press('Enter');
    expect(await button.getAttribute('aria-label')).toBe('Colours: dark. Switch.');
    const dark = await page.evaluate(background);
    expect(dark).not.toBe(WHITE);
    await page.reload();
    expect(await page.evaluate(background)).toBe(dark);
    await page.goto(`${service().url}/`);
    await page.getByRole('button', { name: 'Settings' }).click();
    await page.getByRole('radio', { name: 'system' }).check();
    await page.goto(`${service().url}/docs`);
    expect(await page.evaluate(background)).toBe(WHITE);
    expect(await button.getAttribute('aria-label')).toBe('Colours: system. Switch.');
  });

  it('works without JavaScript, and then has no switch for the theme', async () => {
    const page = await openPage(`${service().url}/docs`, { javaScript: 'off' });
    await page.getByRole('heading', { name: 'Poll without losing a lead' }).waitFor();
    expect(await page.getByRole('button').count()).toBe(0);
  });

  it('does not lead to a console that is switched off', async () => {
    const own = await startService({ env: { LEADTAP_CONSOLE: 'off' } });
    const page = await openPage(`${own.url}/docs`);
    expect(await page.locator('.bar nav a').allInnerTexts()).toEqual(['Docs']);
  });
});
