import { execFileSync } from 'node:child_process';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { type Browser, firefox } from 'playwright-core';
import { findOnPath, findProgram, isExecutable, type Program } from '../servers/find-program.ts';

/** In older ones Playwright needs `eval`, which the content security policy of our pages refuses. */
const OLDEST = 153;
const ON_A_MAC = '/Applications/Firefox.app/Contents/MacOS/firefox';

export const FIREFOX: Program = {
  name: `Firefox ${OLDEST} or later`,
  debian: 'firefox-esr',
  homebrew: '--cask firefox',
  find() {
    const found = findOnPath('firefox-esr', 'firefox') ?? (isExecutable(ON_A_MAC) ? ON_A_MAC : undefined);
    return found !== undefined && versionOf(found) >= OLDEST ? found : undefined;
  },
};

/** From `Mozilla Firefox 153.7.0esr`. */
const versionOf = (path: string): number =>
  Number(/ (\d+)\./.exec(execFileSync(path, ['--version'], { encoding: 'utf8' }))?.[1]);

const PROXY = fileURLToPath(new URL('firefox-proxy.mjs', import.meta.url));

/** The Firefox of the system, over WebDriver BiDi. Playwright removes the profile, and ends the browser with this process. */
export const launchFirefox = (): Promise<Browser> =>
  firefox.launch({
    // A test that hangs has a limit of its own.
    timeout: 0,
    channel: 'moz-firefox',
    executablePath: PROXY,
    env: { ...process.env, FIREFOX: findProgram(FIREFOX) },
  });
