import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { TESTS } from '../../../../vitest.config.ts';
import { codeOf, ROOT, type SourceFile, sourceFiles } from './source-files.ts';

interface Rule {
  readonly rule: string;
  readonly where: RegExp;
  /** What must not be there. */
  readonly never: RegExp;
  /** `text` is all of a file, `code` leaves out comments and texts. */
  readonly read: 'text' | 'code';
}

const SOURCE = /^packages\/[^/]+\/src\//;
const EVERYWHERE = /./;

const RULES: readonly Rule[] = [
  {
    rule: 'only the command line touches the process',
    where: /^packages\/(?!server\/src\/cli\/)[^/]+\/src\//,
    never: /\bprocess\.(?!getBuiltinModule\b)\w+|\bconsole\./,
    read: 'code',
  },
  {
    rule: 'only the program itself ends the process',
    where: SOURCE,
    never: /\bprocess\.(exit|abort|kill)\b/,
    read: 'code',
  },
  {
    rule: 'nothing is of the type any',
    where: EVERYWHERE,
    never: /(?:[:<|&,(=]|\bas)\s*any\s*(?:[;,)>\]|&={]|$)|\bany\[\]/m,
    read: 'code',
  },
  { rule: 'no type is forced', where: EVERYWHERE, never: /\bas unknown as\b/, read: 'code' },
  {
    rule: 'nothing is asserted not to be null',
    where: SOURCE,
    never: /[\w)\]]!(?:[.;,)\][]|$)/m,
    read: 'code',
  },
  {
    rule: 'no checker is told to look away',
    where: /^(?!.*house-rules-hold)/,
    never: /@ts-(ignore|expect-error|nocheck)|biome-ignore|eslint-disable|(v8|c8|istanbul) ignore/,
    read: 'text',
  },
  {
    rule: 'no test is left out or alone',
    where: /\.test\.ts$/,
    never: /\b(it|test|describe)(\.\w+)*\.(skip|only|todo|fails)\b/,
    read: 'code',
  },
];

const files = sourceFiles();

const offences = ({ where, never, read }: Rule): string[] =>
  files
    .filter(({ path }) => where.test(path))
    .flatMap((file) => {
      const found = never.exec(read === 'text' ? file.text : codeOf(file));
      return found ? [`${file.path}: ${found[0].trim()}`] : [];
    });

describe('the rules of the house', () => {
  it.each(RULES)('$rule', (rule) => expect(offences(rule)).toEqual([]));

  it('no file has more than 400 lines', () => {
    const long = files.filter(({ text }) => text.split('\n').length > 400 + 1);
    expect(long.map(({ path }) => path)).toEqual([]);
  });

  it('no file is named for what everything is', () => {
    const vague = /(^|[/-])(utils?|helpers?|common|misc|managers?)(\.|-|\/)/;
    expect(files.map(({ path }) => path).filter((path) => vague.test(path))).toEqual([]);
  });

  it('the program is small enough to see what it does with the process', () => {
    const program = readFileSync(join(ROOT, 'packages/server/bin/leadtap.js'), 'utf8');
    expect(program.split('\n').length).toBeLessThanOrEqual(60);
  });
});

// A glob such as those of vitest.config.ts, as a regular expression.
const toRegExp = (glob: string): RegExp =>
  new RegExp(
    `^${glob
      .replace(/[.+?^${}()|[\]\\]/g, '\\$&')
      .replace(/\*\*\/|\*/g, (stars) => (stars === '*' ? '[^/]*' : '(?:.*/)?'))}$`,
  );

describe('every test is run', () => {
  const include = TESTS.map(toRegExp);
  const isRun = ({ path }: SourceFile) => include.some((pattern) => pattern.test(path));

  it('a file that is named as a test is one that vitest finds', () => {
    const tests = files.filter(({ path }) => /[.-](test|spec)\.ts$/.test(path));
    expect(tests.length).toBeGreaterThan(30);
    expect(tests.filter((file) => !isRun(file)).map(({ path }) => path)).toEqual([]);
  });

  it('a file that has tests is named as one', () => {
    const hidden = files.filter(
      (file) => !isRun(file) && /^\s*(it|test|describe)(\.\w+)*\(/m.test(codeOf(file)),
    );
    expect(hidden.map(({ path }) => path)).toEqual([]);
  });

  it('a file that is named as a test has some', () => {
    const empty = files.filter((file) => isRun(file) && !/\b(it|test)\b[\s\S]*\(/.test(codeOf(file)));
    expect(empty.map(({ path }) => path)).toEqual([]);
  });
});
