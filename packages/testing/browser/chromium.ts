import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';
import { findOnPath, findProgram, type Program } from '../servers/find-program.ts';

const ON_A_MAC = [
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

export const CHROMIUM: Program = {
  name: 'Chromium or Google Chrome',
  debian: 'chromium-headless-shell',
  homebrew: '--cask chromium',
  // The headless shell has no windows and tabs of its own, and takes half the time. Ubuntu's chromium-browser may be a stub that only asks for a snap, so it comes last.
  find: () =>
    findOnPath(
      'chromium-headless-shell',
      'chromium',
      'google-chrome',
      'google-chrome-stable',
      'chromium-browser',
    ) ?? ON_A_MAC.find(existsSync),
};

/** Nothing but pages of this machine is loaded, so the browser needs no network and no services of its vendor. */
const FLAGS = [
  '--disable-gpu',
  // Without it a page takes a fifth more processor time.
  '--disable-gpu-compositing',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost',
];

/** Starts a browser with an empty profile. Playwright removes the profile, and ends the browser with this process. */
export const launchChromium = (): Promise<Browser> =>
  chromium.launch({
    // A test that hangs has a limit of its own.
    timeout: 0,
    executablePath: findProgram(CHROMIUM),
    args: FLAGS,
    // Chromium's sandbox refuses to run as root and in most containers; it would protect from pages of others only.
    chromiumSandbox: false,
  });
