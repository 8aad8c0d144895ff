import { type Browser, chromium } from 'playwright-core';
import { findProgram } from '../servers/find-program.ts';
import { CHROMIUM } from '../servers/programs.ts';

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
