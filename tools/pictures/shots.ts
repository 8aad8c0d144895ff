import { writeFile } from 'node:fs/promises';
import type { Browser, Page } from 'playwright-core';
import { type Look, type Screen, VIEWPORTS } from '../../packages/testing/browser/looks.ts';
import type { Demo } from './demo.ts';

interface Shot {
  readonly name: string;
  /** Default: both. */
  readonly screen?: Screen;
  /** Brings the page to what is shown. */
  readonly show: (page: Page, demo: Demo) => Promise<unknown>;
}

const openTab = (page: Page, tab: string) =>
  page.getByRole('navigation').getByRole('link', { name: tab, exact: true }).click();

async function openLeads(page: Page): Promise<void> {
  await openTab(page, 'Leads');
  await page.getByText('live', { exact: true }).waitFor();
}

const SHOTS: readonly Shot[] = [
  {
    name: 'console-overview',
    screen: 'desktop',
    show: (page) => page.locator('.connection').first().waitFor(),
  },
  {
    name: 'console-overview-log',
    screen: 'desktop',
    show: async (page) => {
      await page.getByRole('link', { name: 'Web form', exact: true }).click();
      await page.getByRole('button', { name: '422' }).click();
      await page.locator('.log dl').getByText('What to do', { exact: true }).waitFor();
    },
  },
  {
    name: 'console-leads',
    screen: 'desktop',
    show: async (page) => {
      await openLeads(page);
      await page.locator('.fates li').first().waitFor();
    },
  },
  { name: 'console-leads', screen: 'phone', show: openLeads },
  {
    name: 'console-explore',
    screen: 'desktop',
    show: async (page) => {
      await openTab(page, 'Explore');
      await page.getByRole('button', { name: 'all', exact: true }).click();
      await page.getByLabel('limit', { exact: true }).fill('5');
      await page.getByRole('button', { name: 'Send', exact: true }).click();
      await page.getByRole('button', { name: 'Follow Link' }).waitFor();
      await page.mouse.move(0, 0);
    },
  },
  {
    name: 'console-connect',
    screen: 'desktop',
    show: async (page) => {
      await openTab(page, 'Connect');
      await page.getByRole('main').getByRole('link', { name: 'Any URL' }).click();
      await page.getByLabel('Address that gets the leads').fill('https://hooks.zapier.com/hooks/catch/1/a/');
    },
  },
  {
    name: 'status',
    screen: 'desktop',
    show: async (page, { statusUrl }) => {
      await page.goto(statusUrl);
      await page.locator('.system').waitFor();
    },
  },
];

/** Takes all pictures of one look. */
export async function takePictures(browser: Browser, demo: Demo, look: Look, folder: URL): Promise<string[]> {
  const context = await browser.newContext({
    viewport: VIEWPORTS[look.screen],
    hasTouch: look.screen === 'phone',
    colorScheme: look.theme,
    reducedMotion: 'reduce',
    locale: 'en-GB',
    timezoneId: 'UTC',
  });
  try {
    const page = await context.newPage();
    await page.goto(demo.consoleUrl);
    const names: string[] = [];
    for (const { name, show } of SHOTS.filter(({ screen = look.screen }) => screen === look.screen)) {
      await show(page, demo);
      names.push(`${name}-${look.screen}-${look.theme}.webp`);
      await writeFile(new URL(names.at(-1) ?? '', folder), await capture(page));
    }
    return names;
  } finally {
    await context.close();
  }
}

/** WebP is a third of the size of PNG. Playwright itself has no option for it. */
async function capture(page: Page): Promise<Buffer> {
  const session = await page.context().newCDPSession(page);
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: 90 });
  await session.detach();
  return Buffer.from(data, 'base64');
}
