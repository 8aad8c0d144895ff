import { createHash } from 'node:crypto';
import Fastify from 'fastify';
import { expect, test } from 'vitest';
import { docsRoutes } from '../../src/http/docs.ts';
import { getDocsPage } from './docs-page.ts';

const page = await getDocsPage();
const all = (pattern: RegExp) => [...page.matchAll(pattern)].map((match) => match[1] ?? '');
const VOID = new Set(['meta', 'link', 'path']);

test('it has no script, no handler and no inline style', () => {
  expect(page).not.toMatch(/<script|\son[a-z]+=|javascript:|\sstyle=/i);
});

test('it loads no other file', () => {
  expect(all(/\ssrc=/g)).toEqual([]);
  expect(all(/url\(|@import/g)).toEqual([]);
  const targets = all(/\shref="([^"]*)"/g).filter((target) => !target.startsWith('#'));
  expect(targets.map((target) => target.slice(0, 12))).toEqual(['data:image/s', 'openapi.json']);
});

test('the content security policy allows only its own style', async () => {
  const app = Fastify().register(docsRoutes, {
    version: '1.2.3',
    publicUrl: () => 'https://leads.acme.test',
  });
  const { headers, body } = await app.inject('/docs');
  const style = /<style>([\s\S]*?)<\/style>/.exec(body)?.[1] ?? '';
  const hash = createHash('sha256').update(style).digest('base64');
  expect(headers['content-security-policy']).toBe(
    `default-src 'none'; style-src 'sha256-${hash}'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
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
