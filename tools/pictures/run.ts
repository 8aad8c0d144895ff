/** Takes the pictures of README.md and docs/ from the running demo: `npm run pictures`. */
import { mkdir, writeFile } from 'node:fs/promises';
import process from 'node:process';
import { setInterval as every } from 'node:timers/promises';
import { launchChromium } from '../../packages/testing/browser/chromium.ts';
import { LOOKS } from '../../packages/testing/browser/looks.ts';
import { type Demo, startDemo } from './demo.ts';
import { takePictures } from './shots.ts';
import { drawTerminal } from './terminal.ts';

const IMAGES = new URL('../../../../../docs/images/', import.meta.url);
const print = (text: string) => process.stdout.write(`${text}\n`);

/** So many leads of the trickle are shown. */
const LEADS = 5;
/** From the heading to the first command. */
const SHOWN_LINES = /^[\s\S]*?limit=3'\n/m;
/** Ada, Ben, Cleo and Dan poll; Zoe does not exist. */
const POLLING = 4;
const TOKEN = /eyJ[\w-]+\.[\w-]+\.[\w-]+/g;

/** The upper part of what the demo prints, and the leads that arrive below. Tokens are shortened. */
function terminalLines(output: string): string[] {
  const text = output.replace(TOKEN, (token) => `${token.slice(0, 14)}…`);
  const [head = ''] = SHOWN_LINES.exec(text) ?? [];
  const leads = text
    .slice(text.lastIndexOf('New leads'))
    .split('\n')
    .slice(1, LEADS + 1);
  return ['$ npm run demo', ...head.trimEnd().split('\n'), '  …', '', ...leads];
}

/** Programs that poll while the pictures are taken, so that the status page has consumers. */
async function poll({ consoleUrl, tokens }: Demo, signal: AbortSignal): Promise<void> {
  const next = new Map(
    tokens.slice(0, POLLING).map((token) => [token, new URL('/automation/new-leads', consoleUrl).href]),
  );
  try {
    for await (const _ of every(2000, undefined, { signal }))
      for (const [token, url] of next) {
        const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
        await response.arrayBuffer();
        const [, link] = /<([^>]+)>/.exec(response.headers.get('link') ?? '') ?? [];
        if (link) next.set(token, link);
      }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

async function takeAll(demo: Demo): Promise<void> {
  const browser = await launchChromium();
  try {
    await mkdir(IMAGES, { recursive: true });
    await demo.leads(LEADS);
    const terminal = drawTerminal('leadtap demo', terminalLines(demo.output()));
    await writeFile(new URL('demo-terminal.svg', IMAGES), terminal);
    print('docs/images/demo-terminal.svg');
    for (const look of LOOKS)
      for (const name of await takePictures(browser, demo, look, IMAGES)) print(`docs/images/${name}`);
  } finally {
    await browser.close();
  }
}

const demo = await startDemo();
const ending = new AbortController();
try {
  const polling = poll(demo, ending.signal);
  await Promise.race([takeAll(demo), polling]);
  ending.abort();
  await polling;
} finally {
  ending.abort();
  await demo.stop();
}
