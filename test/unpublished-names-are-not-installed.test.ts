/**
 * The names of Leadtap on npm and in registries of images are not published yet, so anyone may take them. No text tells people to
 * install one of them, unless the line or its heading says: from the first release on.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT, textFiles } from '../packages/server/test/architecture/source-files.ts';

const MARK = /from the first release on/i;
const NAMES = ['leadtap', '@leadtap/client', '@leadtap/contract', 'n8n-nodes-leadtap'];

/** Not a path, such as that of a packed file. */
const NAME = /(?<![\w/.-])(?:@leadtap\/[\w-]+|(?:n8n-nodes-)?leadtap)(?:@[\w.^~-]+)?(?![\w/.-])/.source;
const FETCHES = [
  new RegExp(`\\b(?:npm|pnpm|yarn|bun) (?:install|i|add|exec|dlx)\\b[^\`|]*?${NAME}`),
  new RegExp(`\\bn?px (?:-y|--yes) ${NAME}`),
  /\bnpx leadtap@/,
  /\bdocker pull\b|\bghcr\.io\//,
];

/** The lines that fetch a name of Leadtap without the mark. */
function unmarkedLines(text: string): string[] {
  let heading = '';
  return text.split('\n').filter((line) => {
    if (/^#+ /.test(line)) heading = line;
    return FETCHES.some((pattern) => pattern.test(line)) && !MARK.test(line) && !MARK.test(heading);
  });
}

const FILES = textFiles('.').filter(
  ({ path }) => /\.md$|^(packages\/[^/]+\/src|examples|deploy)\//.test(path) && path !== 'CHANGELOG.md',
);

test('no document and no text of the console or the service tells people to install an unpublished name', () => {
  const found = FILES.flatMap(({ path, text }) => unmarkedLines(text).map((line) => `${path}: ${line}`));
  expect(found).toEqual([]);
});

test('what fetches a name is found, unless it is marked; what fetches none is not', () => {
  for (const line of ['npm i -D @leadtap/client@1', 'npx --yes leadtap demo', 'docker pull leadtap']) {
    expect(unmarkedLines(line)).toEqual([line]);
    expect(unmarkedLines(`## From the first release on\n\n${line}`)).toEqual([]);
  }
  const fetchesNothing = 'npm install /path/to/leadtap/leadtap-client-0.2.0.tgz\nnpx leadtap serve';
  expect(unmarkedLines(fetchesNothing)).toEqual([]);
});

test('a release publishes these packages', () => {
  const workflow = readFileSync(join(ROOT, '.github/workflows/release.yml'), 'utf8');
  const [, published = ''] = /for name in (.+); do/.exec(workflow) ?? [];
  expect(published.split(' ').sort()).toEqual([...NAMES].sort());
});
