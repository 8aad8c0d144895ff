import type { BrowserContextOptions, Page } from 'playwright-core';
import { onTestFinished } from 'vitest';
import type { WhenDone } from '../harness/temp-folder.ts';
import { WAIT_LIMIT_MS } from '../vitest/limits.ts';
import { type Screen, type Theme, VIEWPORTS } from './looks.ts';
import { collectPageErrors } from './page-errors.ts';
import { type BrowserName, sharedBrowser } from './shared-browser.ts';

export type { Look, Screen, Theme } from './looks.ts';
export { LOOKS, THEMES, VIEWPORTS } from './looks.ts';

export interface PageOptions {
  /** Default: Chromium. Firefox has the theme and the motion of the system. */
  readonly browser?: BrowserName;
  /** Default: desktop. */
  readonly screen?: Screen;
  /** What the system prefers. Default: light. */
  readonly theme?: Theme;
  /** Default: on. Without it `page.evaluate` does not work either. */
  readonly javaScript?: 'on' | 'off';
  /** Default: no animations, so that nothing moves while a test looks at it. */
  readonly motion?: 'reduce' | 'no-preference';
  /** `Date` stands at this time, in milliseconds since 1970; timers run. Default: the time of the system. */
  readonly fixedTime?: number;
  /** Lets the page read and write the clipboard. */
  readonly clipboard?: boolean;
  /** Errors that the test causes on purpose. */
  readonly expectedErrors?: RegExp;
  /** More options of the browser context. */
  readonly context?: BrowserContextOptions;
  /** Default: the page closes when the test ends. */
  readonly whenDone?: WhenDone;
}

/** A service that is slow, on a machine that is slow, must not be taken for one that hangs. */
const NO_TIME_LIMIT = 'AbortSignal.timeout = () => new AbortController().signal';

/**
 * Opens an address in a fresh browser context. The test fails at its end if the page caused a report of the content
 * security policy, an error on the console, an uncaught error or a request to another origin.
 */
export async function openPage(url: string, options: PageOptions = {}): Promise<Page> {
  const { screen = 'desktop', theme = 'light', motion = 'reduce', whenDone = onTestFinished } = options;
  const { origin } = new URL(url);
  const browser = await sharedBrowser(options.browser ?? 'chromium');
  const context = await browser.newContext({
    viewport: VIEWPORTS[screen],
    hasTouch: screen === 'phone',
    colorScheme: theme,
    reducedMotion: motion,
    javaScriptEnabled: options.javaScript !== 'off',
    locale: 'en-GB',
    timezoneId: 'UTC',
    ...(options.clipboard && { permissions: ['clipboard-read', 'clipboard-write'] }),
    ...options.context,
  });
  const errors = await collectPageErrors(context, {
    origin,
    ...(options.expectedErrors && { expected: options.expectedErrors }),
  });
  whenDone(async () => {
    await context.close();
    if (errors.length > 0) throw new Error(`the page caused errors:\n${errors.join('\n')}`);
  });
  // Ends a wait that would have no end; no slow machine reaches it.
  context.setDefaultTimeout(WAIT_LIMIT_MS);
  await context.addInitScript(NO_TIME_LIMIT);
  if (options.fixedTime !== undefined) await context.clock.setFixedTime(options.fixedTime);
  const page = await context.newPage();
  await page.goto(url);
  return page;
}

/** What is wider than the screen, as CSS selectors; empty if a reader needs to scroll in one direction only. */
export const findOverflow = (page: Page): Promise<string[]> => page.evaluate<string[]>(OVERFLOWING_ELEMENTS);

/** An element that scrolls by itself, such as a code sample, may contain wider content. */
const OVERFLOWING_ELEMENTS = `(() => {
  const limit = document.documentElement.clientWidth;
  const clips = (element) => getComputedStyle(element).overflowX !== 'visible';
  const isClipped = (element) => {
    for (let parent = element.parentElement; parent && parent !== document.body; parent = parent.parentElement)
      if (clips(parent) && parent.getBoundingClientRect().right <= limit + 1) return true;
    return false;
  };
  return [...document.body.querySelectorAll('*')]
    .filter((element) => element.getBoundingClientRect().right > limit + 1 && !isClipped(element))
    .map((element) => [element.localName, element.id && '#' + element.id, ...[...element.classList].map((name) => '.' + name)].join(''));
})()`;
