import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const ROOT = new URL('../', import.meta.url);
const FOLDER = 'docs/images/';

const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: fileURLToPath(ROOT),
  encoding: 'utf8',
});
const files = listed.split('\n').filter((path) => existsSync(new URL(path, ROOT)));
const documents = files.filter((path) => path.endsWith('.md'));

/** `![…](path)`, `<img src="path">` and `<source srcset="path">`, but not of other servers. */
const PICTURE = /!\[[^\]]*\]\(([^)\s]+)\)|\b(?:src|srcset)="([^"]+)"/g;

const pictures = documents.flatMap((document) =>
  [...readFileSync(new URL(document, ROOT), 'utf8').matchAll(PICTURE)].flatMap(([, inText, inHtml]) => {
    const path = inText ?? inHtml ?? '';
    return /^(https?|data):/.test(path)
      ? []
      : [{ document, path, file: new URL(path, new URL(document, ROOT)) }];
  }),
);

test('every picture that a document shows exists', () => {
  expect(pictures.length).toBeGreaterThan(10);
  expect(
    pictures.filter(({ file }) => !existsSync(file)).map(({ document, path }) => `${document}: ${path}`),
  ).toEqual([]);
});

test('every picture is shown by a document', () => {
  const shown = new Set(pictures.map(({ file }) => file.href));
  const unused = files.filter((path) => path.startsWith(FOLDER) && !shown.has(new URL(path, ROOT).href));
  expect(unused).toEqual([]);
});

test('every picture has a text for those who cannot see it', () => {
  const silent = documents.filter((document) => {
    const text = readFileSync(new URL(document, ROOT), 'utf8');
    return /!\[\s*\]\(/.test(text) || /<img\b(?![^>]*\balt="[^"]+")/.test(text);
  });
  expect(silent).toEqual([]);
});
