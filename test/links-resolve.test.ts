import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** The text of a page without its code blocks. */
const textOf = (file: string): string => readFileSync(file, 'utf8').replaceAll(/^ *```[\s\S]*?^ *```/gm, '');

/** The anchors that GitHub gives to the headings of a page. */
const anchorsOf = (file: string): string[] =>
  [...textOf(file).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );

const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.md'], {
  cwd: ROOT,
  encoding: 'utf8',
});
const pages = files.split('\n').filter((page) => page !== '' && existsSync(join(ROOT, page)));

test.each(pages)('the links of %s lead to files and headings that exist', (page) => {
  const file = join(ROOT, page);
  const links = [...textOf(file).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link);
  const broken = links.filter((link) => {
    if (/^(https?|mailto):/.test(link)) return false;
    const [path = '', anchor] = link.split('#');
    const target = path === '' ? file : resolve(dirname(file), path);
    if (!existsSync(target)) return true;
    return anchor !== undefined && target.endsWith('.md') && !anchorsOf(target).includes(anchor);
  });
  expect(broken).toEqual([]);
});
