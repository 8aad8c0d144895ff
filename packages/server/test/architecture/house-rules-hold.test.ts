import { describe, expect, it } from 'vitest';
import { codeOf, type SourceFile, sourceFiles, textFiles } from './source-files.ts';

interface Rule {
  readonly rule: string;
  readonly where: RegExp;
  /** What such a file must not contain. */
  readonly never: RegExp;
  /** `text` is the whole file, `code` is without comments and string literals. */
  readonly read: 'text' | 'code';
}

const SOURCE = /^packages\/[^/]+\/src\//;
const EVERYWHERE = /./;

const RULES: readonly Rule[] = [
  {
    rule: 'only cli/ uses process and console',
    where: /^packages\/(?!server\/src\/cli\/)[^/]+\/src\//,
    never: /\bprocess\.(?!getBuiltinModule\b)\w+|\bconsole\./,
    read: 'code',
  },
  {
    rule: 'only bin/leadtap.js ends the process',
    where: SOURCE,
    never: /\bprocess\.(exit|abort|kill)\b/,
    read: 'code',
  },
  {
    rule: 'no type is any',
    where: EVERYWHERE,
    never: /(?:[:<|&,(=]|\bas)\s*any\s*(?:[;,)>\]|&={]|$)|\bany\[\]/m,
    read: 'code',
  },
  { rule: 'no double type assertion', where: EVERYWHERE, never: /\bas unknown as\b/, read: 'code' },
  {
    rule: 'no non-null assertion',
    where: SOURCE,
    never: /[\w)\]]!(?:[.;,)\][]|$)/m,
    read: 'code',
  },
  {
    rule: 'no checker is silenced',
    where: /^(?!.*house-rules-hold)/,
    never: /@ts-(ignore|expect-error|nocheck)|biome-ignore|eslint-disable|(v8|c8|istanbul) ignore/,
    read: 'text',
  },
  {
    rule: 'no test is skipped, and none runs alone',
    where: /\.test\.ts$/,
    never: /\b(it|test|describe)(\.\w+)*\.(skip|only|todo|fails)\b/,
    read: 'code',
  },
];

const files = sourceFiles();

/** Metaphors hide the word that one would search for. In pieces, so that the rule does not find itself. */
const METAPHORS = /who(?:ever)|no(?:body)|(?<!tri)me(?:nd)\b|is to(?:ld)|look(?:out)|\bla(?:ne)\b/i;
/** Where they do not occur, but for the name of an operating system's user. */
const PLAIN_WORDS = ['packages', 'tools', 'integrations'];
const SYSTEM_USER = /'no(?:body)'/g;

const offences = ({ where, never, read }: Rule): string[] =>
  files
    .filter(({ path }) => where.test(path))
    .flatMap((file) => {
      const found = never.exec(read === 'text' ? file.text : codeOf(file));
      return found ? [`${file.path}: ${found[0].trim()}`] : [];
    });

describe('house rules', () => {
  it.each(RULES)('$rule', (rule) => expect(offences(rule)).toEqual([]));

  it('no text uses metaphors', () => {
    const found = PLAIN_WORDS.flatMap(textFiles).flatMap(({ path, text }) => {
      const metaphor = METAPHORS.exec(text.replace(SYSTEM_USER, ''));
      return metaphor ? [`${path}: ${metaphor[0]}`] : [];
    });
    expect(found).toEqual([]);
  });

  it('no file has a vague name', () => {
    const vague = /(^|[/-])(utils?|helpers?|common|misc|managers?)(\.|-|\/)/;
    expect(files.map(({ path }) => path).filter((path) => vague.test(path))).toEqual([]);
  });
});

describe('every test is run', () => {
  const isRun = ({ path }: SourceFile) => path.endsWith('.test.ts');

  it('every file with tests is named as one', () => {
    const hidden = files.filter(
      (file) => !isRun(file) && /^\s*(it|test|describe)(\.\w+)*\(/m.test(codeOf(file)),
    );
    expect(hidden.map(({ path }) => path)).toEqual([]);
  });

  it('every file that is named as a test has tests', () => {
    const empty = files.filter((file) => isRun(file) && !/\b(it|test)\b[\s\S]*\(/.test(codeOf(file)));
    expect(empty.map(({ path }) => path)).toEqual([]);
  });
});
