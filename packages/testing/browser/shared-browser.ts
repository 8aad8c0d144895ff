import type { Browser } from 'playwright-core';
import { launchChromium } from './chromium.ts';
import { launchFirefox } from './firefox.ts';

const LAUNCH = { chromium: launchChromium, firefox: launchFirefox };

export type BrowserName = keyof typeof LAUNCH;

const shared = new Map<BrowserName, Promise<Browser>>();

/** One browser for each worker process. A page of `openPage` has cookies, storage and cache of its own. */
export async function sharedBrowser(name: BrowserName): Promise<Browser> {
  const known = shared.get(name);
  if (known && (await known).isConnected()) return known;
  const current = shared.get(name);
  // Another call has launched one meanwhile.
  if (current && current !== known) return current;
  const launched = LAUNCH[name]();
  shared.set(name, launched);
  return launched;
}
