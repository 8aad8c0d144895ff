/** Takes the pictures of README.md and docs/ from the running demo: `npm run pictures`, or `npm run pictures -- terminal` for one. */
import { mkdir, writeFile } from 'node:fs/promises';
import process from 'node:process';
import { setInterval as every } from 'node:timers/promises';
import { CLIENT_HEADER, CONSOLE_CLIENT } from '@leadtap/contract';
import { launchChromium } from '../../packages/testing/browser/chromium.ts';
import { LOOKS } from '../../packages/testing/browser/looks.ts';
import { type Demo, readDemoScreen, startDemo } from './demo.ts';
import { takePictures } from './shots.ts';
import { drawTerminal } from './terminal.ts';

const IMAGES = new URL('../../../../../docs/images/', import.meta.url);
const print = (text: string) => process.stdout.write(`${text}\n`);

/** So many new leads are shown. */
const LEADS = 3;
const TOKEN = /eyJ[\w-]+\.[\w-]+\.[\w-]+/g;

/** What the demo prints. Tokens are shortened. */
async function drawDemo(): Promise<void> {
  const screen = await readDemoScreen();
  const text = screen.replace(TOKEN, (token) => `${token.slice(0, 14)}…`);
  const lines = ['$ npm run demo', ...text.trimEnd().split('\n')];
  await writeFile(new URL('demo-terminal.svg', IMAGES), drawTerminal('leadtap demo', lines));
  print('docs/images/demo-terminal.svg');
}

/** As the console does, so that it is no consumer: the pages show the automations of the demo only. */
const requestLeads = (url: string, token: string): Promise<Response> =>
  fetch(url, { headers: { authorization: `Bearer ${token}`, [CLIENT_HEADER]: CONSOLE_CLIENT } });

/** Resolves when so many new leads have arrived. */
async function untilNewLeads(count: number, { baseUrl, callers }: Demo): Promise<void> {
  const token = callers[0]?.token ?? '';
  // By the clock of the demo.
  const { headers } = await requestLeads(`${baseUrl}/automation/new-leads?limit=1`, token);
  const since = new Date(headers.get('date') ?? '').toISOString();
  // Seldom, so that the console has no reason to say how many requests are left.
  for await (const _ of every(3000)) {
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
  try {
    await takeAll(demo);
  } finally {
    await demo.stop();
  }
}

await mkdir(IMAGES, { recursive: true });
await drawDemo();
if (process.argv[2] !== 'terminal') await drawPages();
