import { createHash } from 'node:crypto';
import { inject } from 'light-my-request';
import { expect, test } from 'vitest';
import { docsEndpoints } from '../../src/http/docs.ts';
import { createRouter } from '../../src/http/endpoint.ts';
import { getDocsPage } from './docs-page.ts';

const page = await getDocsPage();
const all = (pattern: RegExp) => [...page.matchAll(pattern)].map((match) => match[1] ?? '');
const VOID = new Set(['meta', 'link', 'path']);

test('it has one script, no handler and no inline style', () => {
  expect(all(/<(script)>/g)).toHaveLength(1);
  expect(page).not.toMatch(/<script\s|\son[a-z]+="|javascript:|\sstyle="/i);
});

test('it loads no other file', () => {
  expect(all(/\ssrc=/g)).toEqual([]);
  expect(all(/url\(|@import/g)).toEqual([]);
  const targets = all(/\shref="([^"]*)"/g).filter((target) => !target.startsWith('#'));
  expect(targets.map((target) => target.slice(0, 12))).toEqual(['data:image/s', 'docs', 'openapi.json']);
});

test('it leads to the tabs of the console where there is one', async () => {
  const listener = createRouter(docsEndpoints({ version: '1.2.3', hasConsole: true }), {});
  const { body } = await inject(listener, '/docs');
  expect(body.match(/href="\.\/#\w+"/g)).toEqual([
    'href="./#overview"',
    'href="./#leads"',
    'href="./#explore"',
    'href="./#connect"',
  ]);
  expect(page + body).not.toContain('<!--');
});

test('the content security policy allows only its own style and script', async () => {
  const { headers, body } = await inject(createRouter(docsEndpoints({ version: '1.2.3' }), {}), '/docs');
  const hashOf = (element: RegExp) =>
    createHash('sha256')
      .update(element.exec(body)?.[1] ?? '')
      .digest('base64');
  const script = hashOf(/<script>([\s\S]*?)<\/script>/);
  const style = hashOf(/<style>([\s\S]*?)<\/style>/);
  expect(headers['content-security-policy']).toBe(
    `default-src 'none'; script-src 'sha256-${script}'; style-src 'sha256-${style}'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  );
});

test('every link within the page has its target, and ids are unique', () => {
  const ids = all(/\sid="([^"]*)"/g);
  expect(new Set(ids).size).toBe(ids.length);
  expect(all(/\s(?:href="#|aria-labelledby=")([^"]*)"/g).filter((target) => !ids.includes(target))).toEqual(
    [],
  );
});

test('elements are nested correctly', () => {
  const open: string[] = [];
  for (const [, close, name = ''] of page.matchAll(/<(\/?)([a-z][a-z0-9]*)/g)) {
    if (close) expect(open.pop()).toBe(name);
    else if (!VOID.has(name)) open.push(name);
  }
  expect(open).toEqual([]);
});

test('it has a language, one main heading and no skipped heading level', () => {
  expect(page).toContain('<html lang="en">');
  const levels = all(/<h([1-6])/g).map(Number);
  expect(levels.filter((level) => level === 1)).toHaveLength(1);
  expect(levels.filter((level, index) => level > (levels[index - 1] ?? 0) + 1)).toEqual([]);
});

test('every table has a caption, and every header cell a scope', () => {
  expect(all(/<(table)/g)).toHaveLength(all(/<(caption)>/g).length);
  expect(all(/(<th(?:\s[^>]*)?>)/g).filter((cell) => !/ scope="(col|row)"/.test(cell))).toEqual([]);
});
