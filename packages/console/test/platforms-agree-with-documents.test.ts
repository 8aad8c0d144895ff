import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { addressOf, platforms } from '../src/connect/platforms.ts';
import { pythonProgram, SHELL_LOOP, typeScriptProgram } from '../src/connect/programs.ts';

const ROOT = new URL('../../../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, ROOT), 'utf8');

/** Without line breaks and emphasis, which differ. */
const plain = (text: string): string => text.replace(/[*\s]+/g, ' ');

const BASE_URL = 'https://leads.example.com';
const PLATFORMS = platforms(addressOf(BASE_URL));
const CODE = /`([^`]+)`/g;
const LABEL = /\*([^*]+)\*/g;

const marked = (texts: readonly string[], pattern: RegExp): string[] =>
  texts.flatMap((text) => [...text.matchAll(pattern)].map(([, found = '']) => found));

/** The code blocks of a document, without the indentation that a list gives them. */
function codeBlocks(path: string): string[] {
  return [...read(path).matchAll(/^( *)```\w*\n([\s\S]*?)^ *```/gm)].map(([, indent = '', text = '']) =>
    text.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  );
}

describe.each(PLATFORMS)('$name', ({ document, steps, result, notes }) => {
  const texts = [...steps.map(({ text }) => text), result, ...notes];
  const page = plain(read(document));

  it('uses the labels of its document', () => {
    expect(marked(texts, LABEL).filter((label) => !page.includes(plain(label)))).toEqual([]);
  });

  it('names only files that exist', () => {
    const files = marked(texts, CODE).filter((code) => /^(docs|integrations)\//.test(code));
    expect([document, ...files].filter((path) => !existsSync(fileURLToPath(new URL(path, ROOT))))).toEqual(
      [],
    );
  });

  it('has the values and commands of its document', () => {
    const values = steps
      .flatMap(({ code }) => (code === undefined ? [] : code.split('\n')))
      .map((line) => line.trim());
    const own = [
      BASE_URL,
      'leads.example.com',
      '',
      ...values.filter((line) => /ACCESS_TOKEN|LEADTAP_/.test(line)),
    ];
    expect(values.filter((line) => !own.includes(line) && !page.includes(plain(line)))).toEqual([]);
  });
});

describe('programs are those of the documents, which are tested', () => {
  it.each([
    ['the shell script', 'docs/instant-delivery.md', SHELL_LOOP],
    ['TypeScript', 'docs/integrations/your-own-program.md', typeScriptProgram(BASE_URL)],
    ['Python', 'docs/integrations/your-own-program.md', pythonProgram(BASE_URL)],
  ])('%s', (_name, document, program) => {
    expect(codeBlocks(document)).toContain(program);
  });
});
