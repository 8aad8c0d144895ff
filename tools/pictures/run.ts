/** Takes the pictures of README.md and docs/ from the running demo: `npm run pictures`, or `npm run pictures -- terminal` for one. */
import { mkdir, writeFile } from 'node:fs/promises';
import process from 'node:process';
import { setInterval as every } from 'node:timers/promises';
import { launchChromium } from '../../packages/testing/browser/chromium.ts';
import { LOOKS } from '../../packages/testing/browser/looks.ts';
import { type Demo, readDemoScreen, startDemo } from './demo.ts';
import { takePictures } from './shots.ts';
import { drawTerminal } from './terminal.ts';

const IMAGES = new URL('../../../../../docs/images/', import.meta.url);
const print = (text: string) => process.stdout.write(`${text}\n`);

/** So many new leads are shown. */
const LEADS = 5;
/** Ada, Ben, Cleo and Dan poll; Zoe does not exist. */
const POLLING = 4;
const TOKEN = /eyJ[\w-]+\.[\w-]+\.[\w-]+/g;

/** What the demo prints. Tokens are shortened. */
async function drawDemo(): Promise<void> {
  const screen = await readDemoScreen();
  const text = screen.replace(TOKEN, (token) => `${token.slice(0, 14)}…`);
  const lines = ['$ npm run demo', ...text.trimEnd().split('\n')];
  await writeFile(new URL('demo-terminal.svg', IMAGES), drawTerminal('leadtap demo', lines));
  print('docs/images/demo-terminal.svg');
}

const requestLeads = (url: string, token: string): Promise<Response> =>
  fetch(url, { headers: { authorization: `Bearer ${token}` } });

/** Programs that poll while the pictures are taken, so that the status page has consumers. */
async function poll({ baseUrl, callers }: Demo, signal: AbortSignal): Promise<void> {
  const next = new Map(
    callers.slice(0, POLLING).map(({ token }) => [token, `${baseUrl}/automation/new-leads`]),
  );
  try {
    for await (const _ of every(2000, undefined, { signal }))
      for (const [token, url] of next) {
        const response = await requestLeads(url, token);
        await response.arrayBuffer();
        const [, link] = /<([^>]+)>/.exec(response.headers.get('link') ?? '') ?? [];
        if (link) next.set(token, link);
      }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

/** Resolves when so many new leads have arrived. */
async function untilNewLeads(count: number, { baseUrl, callers }: Demo): Promise<void> {
  const token = callers[0]?.token ?? '';
  // By the clock of the demo.
  const { headers } = await requestLeads(`${baseUrl}/automation/new-leads?limit=1`, token);
  const since = new Date(headers.get('date') ?? '').toISOString();
  for await (const _ of every(500)) {
    const response = await requestLeads(`${baseUrl}/automation/new-leads?since=${since}`, token);
    const leads: unknown = await response.json();
    if (Array.isArray(leads) && leads.length >= count) return;
  }
}

async function takeAll(demo: Demo): Promise<void> {
  const browser = await launchChromium();
  try {
    await untilNewLeads(LEADS, demo);
    for (const look of LOOKS)
      for (const name of await takePictures(browser, demo, look, IMAGES)) print(`docs/images/${name}`);
  } finally {
    await browser.close();
  }
}

async function drawPages(): Promise<void> {
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
}

await mkdir(IMAGES, { recursive: true });
await drawDemo();
if (process.argv[2] !== 'terminal') await drawPages();
