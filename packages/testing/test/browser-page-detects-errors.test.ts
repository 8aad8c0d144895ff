import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { expectAccessible, expectEveryLook } from '../browser/accessibility.ts';
import { findOverflow, openPage } from '../browser/page.ts';

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src *; img-src data:; require-trusted-types-for 'script'";

/** Synchronous, so that the answer is there before the page has loaded. */
const request = (url: string): string =>
  `const request = new XMLHttpRequest(); request.open('GET', '${url}', false); request.send()`;

interface Site {
  readonly body?: string;
  readonly script?: string;
  readonly style?: string;
}

/** A site with one page, one script and one style, under a strict policy. All other paths answer 404. */
async function serveSite({ body = '', script = '', style = '' }: Site): Promise<string> {
  const page = `<!doctype html><html lang="en"><title>Site</title><link rel="icon" href="data:,"><link rel="stylesheet" href="style.css"><main><h1>Site</h1>${body}</main><script src="script.js"></script>`;
  const files: Record<string, [type: string, text: string]> = {
    '/': ['text/html', page],
    '/script.js': ['text/javascript', script],
    '/style.css': ['text/css', style],
  };
  const server = createServer((request, response) => {
    const [type, text] = files[request.url ?? ''] ?? ['text/plain', undefined];
    response.writeHead(text === undefined ? 404 : 200, {
      'content-type': `${type}; charset=utf-8`,
      'content-security-policy': POLICY,
    });
    response.end(text);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

/** Opens the site and ends the page. Rejects as the test's end would. */
async function visit(site: Site): Promise<void> {
  const cleanUps: (() => void | Promise<void>)[] = [];
  await openPage(await serveSite(site), { whenDone: (end) => cleanUps.push(end) });
  for (const cleanUp of cleanUps) await cleanUp();
}

describe('a page', () => {
  it('passes when it causes no error', async () => {
    await visit({ script: 'document.querySelector("h1").textContent = "Hello"' });
  });

  it.each<[name: string, site: Site, error: RegExp]>([
    ['an inline style', { body: '<p style="color: red">red</p>' }, /Content-Security-Policy: style-src-attr/],
    ['an error on the console', { script: 'console.error("out of leads")' }, /console error: out of leads/],
    [
      'an uncaught error',
      { script: 'throw new Error("out of leads")' },
      /uncaught error: Error: out of leads/,
    ],
    ['a missing file', { script: request('missing.js') }, /status 404: .+missing\.js/],
    [
      'a request to another origin',
      { script: 'fetch("https://example.com/pixel").catch(() => undefined)' },
      /request to another origin: https:\/\/example\.com\/pixel/,
    ],
  ])('fails for %s', async (_name, site, error) => {
    await expect(visit(site)).rejects.toThrow(error);
  });
});

describe('content that is wider than the screen', () => {
  it('is named', async () => {
    const page = await openPage(
      await serveSite({ body: '<p class="wide">w</p>', style: '.wide { width: 500px }' }),
      {
        screen: 'phone',
      },
    );
    expect(await findOverflow(page)).toEqual(['p.wide']);
  });
});

describe('accessibility', () => {
  it('fails for contrast that is too low in one theme only', async () => {
    const style = ':root { color: #000 } @media (prefers-color-scheme: dark) { p { color: #ccc } }';
    const page = await openPage(await serveSite({ body: '<p>pale</p>', style }));
    await expect(expectAccessible(page, ['light'])).resolves.toBeUndefined();
    await expect(expectAccessible(page)).rejects.toThrow(
      /^axe found on .+\ndark: color-contrast \(serious\)/,
    );
  });

  it('fails in every look for what one look shows', async () => {
    const style = '@media (max-width: 400px) { .wide { width: 500px } }';
    const page = await openPage(await serveSite({ body: '<p class="wide">w</p>', style }));
    await expect(expectEveryLook(page)).rejects.toThrow('wider than 360 pixels: p.wide');
  });
});
