import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { describe, expect, it } from 'vitest';
import { DOWNLOADS } from '../downloads.ts';
import { renderMakeApp } from '../make-app.ts';
import { fillIn } from '../src/connect/fill-in.ts';
import { addressOf, MAKE_APP_FILE, platforms } from '../src/connect/platforms.ts';
import { pythonProgram, SHELL_LOOP, typeScriptProgram } from '../src/connect/programs.ts';
import { ARCHIVES, VERSION } from './support/archives.ts';

const ROOT = new URL('../../../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, ROOT), 'utf8');

/** Without line breaks and emphasis, which differ. */
const plain = (text: string): string => text.replace(/[*\s]+/g, ' ');

const BASE_URL = 'https://leads.example.com';
/** With webhooks, and without them. */
const PLATFORMS = [true, false].flatMap((hasHooks) =>
  platforms({ ...addressOf(BASE_URL), hasHooks, version: VERSION }).map((platform) => ({
    ...platform,
    with: hasHooks ? 'with webhooks' : 'without webhooks',
    steps: [
      ...(platform.webhook ? [...platform.webhook.before, ...platform.webhook.after] : []),
      ...platform.setup,
      ...platform.ways.flatMap((way) => way.steps),
    ],
  })),
);
const OFFERED: readonly string[] = [...DOWNLOADS.map((path) => basename(path)), MAKE_APP_FILE, ...ARCHIVES];
const MADE_BY_THE_VISITOR = ['leads.sh', 'leads.mjs', 'leads.py', 'settings.js'];
const CODE = /`([^`]+)`/g;

const marked = (texts: readonly string[], pattern: RegExp): string[] =>
  texts.flatMap((text) => [...text.matchAll(pattern)].map(([, found = '']) => found));

/** The code blocks of a document, without the indentation that a list gives them. */
function codeBlocks(path: string): string[] {
  return [...read(path).matchAll(/^( *)```\w*\n([\s\S]*?)^ *```/gm)].map(([, indent = '', text = '']) =>
    text.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  );
}

/** Where its custom app is described that people upload once. */
const MAKE_APP = 'integrations/make/README.md';

/** A document, with the examples that it links to. */
const withExamples = (document: string): string =>
  [document, ...marked([read(document)], /\]\([./]+(examples\/[\w./-]+)\)/g)].map(read).join('\n');

describe.each(PLATFORMS)('$name $with', ({ id, document, steps, ways, notes }) => {
  const texts = [...steps.map(({ text }) => text), ...ways.map(({ result }) => result), ...notes];

  it('names no folder of the repository, and only files that it offers or that the visitor makes', () => {
    const codes = marked(texts, CODE);
    expect(texts.filter((text) => /repository|integrations\/|docs\//.test(text))).toEqual([]);
    const files = codes.filter((code) => /^[\w.-]+\.(json|rb|mjs|js|py|sh|tgz|html)$/.test(code));
    const others = files.filter((file) => !OFFERED.includes(file));
    expect(others.filter((file) => !MADE_BY_THE_VISITOR.includes(file))).toEqual([]);
  });

  it('has the values and commands of its document', () => {
    const page = plain(withExamples(document) + (id === 'make' ? read(MAKE_APP) : ''));
    const lines = steps.flatMap(({ code = '' }) => code.split('\n')).map((line) => line.trim());
    const own = ['', BASE_URL, 'leads.example.com'];
    const values = lines.filter((line) => !own.includes(line) && !/ACCESS_TOKEN|LEADTAP_/.test(line));
    expect(values.filter((line) => !page.includes(plain(line)))).toEqual([]);
  });
});

describe('programs are those of the documents, which are tested', () => {
  it.each([
    ['the shell script', [read('examples/watch.sh')], SHELL_LOOP],
    ['TypeScript', codeBlocks('docs/integrations/your-own-program.md'), typeScriptProgram(BASE_URL)],
    ['Python', [read('examples/leads.py')], pythonProgram(BASE_URL)],
  ])('%s', (_name, programs, program) => {
    expect(programs).toContain(program);
  });
});

describe('downloads', () => {
  it('the parts of the app for Make are all in one file, in the order of its table', () => {
    const page = renderMakeApp();
    const readme = read(MAKE_APP);
    const files = [...readme.matchAll(/\| `([\w./-]+\.json)` \|$/gm)].map(([, file = '']) => file);
    expect(files).toHaveLength(17);
    const texts = [...page.matchAll(/<pre>([\s\S]*?)<\/pre>/g)].map(([, text = '']) =>
      text.replaceAll('&lt;', '<').replaceAll('&amp;', '&'),
    );
    expect(texts).toEqual(files.map((file) => read(`integrations/make/${file}`)));
    expect(fillIn(MAKE_APP_FILE, page, 'http://10.0.0.7:8080/api')).not.toContain('leads.example.com');
  });

  it.each(DOWNLOADS)('%s has the address of the service wherever it has an example', (path) => {
    const text = fillIn(basename(path), read(`integrations/${path}`), 'http://10.0.0.7:8080/api');
    expect(text).not.toMatch(/leads\.example\.com|127\.0\.0\.1:3000/);
    if (path.endsWith('.json')) JSON.parse(text);
  });

  it('fill in the three parts of the address of OpenAPI 2.0', () => {
    const file = read('integrations/power-automate/apiDefinition.swagger.json');
    const filled = JSON.parse(fillIn('apiDefinition.swagger.json', file, 'https://a.example.org/api'));
    expect(filled).toMatchObject({ host: 'a.example.org', basePath: '/api', schemes: ['https'] });
  });
});
