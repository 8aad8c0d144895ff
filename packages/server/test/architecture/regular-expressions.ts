/** Collects the regular expressions of the sources, and finds what makes a slow one slow. */
import { createRequire } from 'node:module';
import { textFiles } from './source-files.ts';

type TypeScript = typeof import('typescript-5.4');

/** TypeScript 7 has no parser for programs. Required, because its named exports are not known to Node. */
const ts: TypeScript = createRequire(import.meta.url)('typescript-5.4');

export interface Expression {
  readonly path: string;
  readonly text: string;
  readonly pattern: RegExp;
}

const FOLDERS = ['packages', 'integrations', 'deploy', 'examples'];
/** Not a part of the product. */
const OTHER = /(^|\/)(test|dist)\/|^packages\/testing\//;
const PROGRAM = /\.(?:tsx?|[cm]?js)$/;
/** Node-RED and n8n keep programs in the strings of their files; n8n also writes `={{ program }}text`. */
const EMBEDDED = /"(?:func|jsCode)": "((?:[^"\\]|\\.)*)"|\{\{((?:[^"\\}]|\\.)*)\}\}/g;

/** The regular expressions, and the places that make one from a text, which cannot be checked. */
export function collectExpressions(): { expressions: Expression[]; computed: string[] } {
  const expressions: Expression[] = [];
  const computed: string[] = [];
  for (const { path, text } of FOLDERS.flatMap(textFiles)) {
    if (OTHER.test(path)) continue;
    for (const program of programsOf(path, text))
      visit(ts.createSourceFile(program.name, program.text, ts.ScriptTarget.Latest, true), (node) => {
        if (ts.isRegularExpressionLiteral(node)) expressions.push(toExpression(path, node.text));
        else if (isRegExpCall(node)) computed.push(`${path}: ${node.getText()}`);
      });
  }
  return { expressions, computed };
}

function programsOf(path: string, text: string): { name: string; text: string }[] {
  if (PROGRAM.test(path)) return [{ name: path, text }];
  if (!path.endsWith('.json')) return [];
  return [...text.matchAll(EMBEDDED)].map(([, program, formula]) => ({
    name: `${path}.js`,
    text: String(JSON.parse(`"${program ?? formula}"`)),
  }));
}

function visit(node: import('typescript-5.4').Node, callback: (node: import('typescript-5.4').Node) => void) {
  callback(node);
  ts.forEachChild(node, (child) => visit(child, callback));
}

const isRegExpCall = (node: import('typescript-5.4').Node): boolean =>
  (ts.isNewExpression(node) || ts.isCallExpression(node)) && node.expression.getText() === 'RegExp';

export function toExpression(path: string, text: string): Expression {
  const end = text.lastIndexOf('/');
  return { path, text, pattern: new RegExp(text.slice(1, end), text.slice(end + 1)) };
}

/** One for each kind of character that expressions distinguish. */
const KINDS = [...'aA0 \t\r\n,;:="\'\\/<>[({-_.@#?&+*é\0'];

/** A text of about the given length. */
export type Attack = (length: number) => string;

/** Texts that repeat a character, or two that the expression names, with an end that it may not accept. */
export function* attacksOn({ source }: RegExp): Generator<Attack> {
  const own = KINDS.filter((kind) => source.includes(kind)).slice(0, 12);
  const pairs = own.flatMap((one) => own.map((other) => one + other));
  for (const text of new Set([...KINDS, ...pairs]))
    for (const end of ['', '\0', 'x y\n"']) yield (length) => text.repeat(length / text.length) + end;
}
