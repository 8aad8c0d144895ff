import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT, textFiles } from '../packages/server/test/architecture/source-files.ts';

const withoutCode = (text: string): string => text.replaceAll(/^ *```[\s\S]*?^ *```/gm, '');

const documents = textFiles('.').filter(({ path }) => path.endsWith('.md'));
const pages = new Map(documents.map(({ path, text }) => [join(ROOT, path), withoutCode(text)]));

/** The anchors that GitHub gives to the headings of a page. */
const anchorsOf = (file: string): string[] =>
  [...(pages.get(file) ?? '').matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );

/** `[…](path)`, `![…](path)`, `<img src="path">` and `<source srcset="path">`. */
const LINK = /\]\(([^)\s]+)\)|\b(?:src|srcset)="([^"]+)"/g;

test('the links and pictures of every page lead to files and headings that exist', () => {
  const broken = [...pages].flatMap(([file, text]) =>
    [...text.matchAll(LINK)].flatMap(([, inText, inHtml]) => {
      const link = inText ?? inHtml ?? '';
      if (/^(https?|mailto|data):/.test(link)) return [];
      const [path = '', anchor] = link.split('#');
      const target = path === '' ? file : resolve(dirname(file), path);
      const isFound =
        existsSync(target) &&
        (anchor === undefined || !pages.has(target) || anchorsOf(target).includes(anchor));
      return isFound ? [] : [`${file}: ${link}`];
    }),
  );
  expect(pages.size).toBeGreaterThan(20);
  expect(broken).toEqual([]);
});

test('every table has a heading: an empty line in a table would cut it', () => {
  const cut = [...pages].flatMap(([file, text]) =>
    [...text.matchAll(/(?<!^ *\|.*\n)^ *\|.*\n(?! *\|[ :|-]+$)/gm)].map(([row]) => `${file}: ${row}`),
  );
  expect(cut).toEqual([]);
});

test('no example of settings sets a variable twice', () => {
  const twice = documents.flatMap(({ path, text }) =>
    [...text.matchAll(/^ *```ini\n([\s\S]*?)^ *```/gm)].flatMap(([, block = '']) => {
      const names = [...block.matchAll(/^ *(\w+)=/gm)].map(([, name]) => name);
      return names.filter((name, at) => names.indexOf(name) < at).map((name) => `${path}: ${name}`);
    }),
  );
  expect(twice).toEqual([]);
});
